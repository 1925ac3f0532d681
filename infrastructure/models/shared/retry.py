"""When a request is sent: how long after a failure, and within the rate that its provider allows."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from quorum.application.ports.storage import RequestPacer, RequestRate
from quorum.domain.conversation.response import StreamEvent, StreamRetry
from quorum.domain.errors import LedgerError, ProviderError, ProviderErrorKind

LONGEST_WAIT_SECS = 60.0
_FIRST_DELAY_SECS = 0.5
_LONGEST_DELAY_SECS = 8.0


def compute_backoff(attempt: int) -> float:
    """Seconds before the `attempt`-th repetition (from 1): doubling, up to 8, less a quarter at random."""
    delay = min(_FIRST_DELAY_SECS * 2.0 ** (attempt - 1), _LONGEST_DELAY_SECS)
    return delay * random.uniform(0.75, 1.0)


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """The provider's wish in seconds, from `retry-after-ms` or `retry-after` (seconds or a date).

    None where there is none, or one that makes no sense. A date that has passed means at once.
    """
    wish = _count(headers.get("retry-after-ms", ""))
    if wish is not None:
        return wish / 1000
    text = headers.get("retry-after", "")
    wish = _count(text)
    return wish if wish is not None else _compute_seconds_until(text)


def _count(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _compute_seconds_until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
        return max(0.0, moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def explain_too_long_to_wait(error: ProviderError) -> ProviderError | None:
    """The error to end with where the provider wants a longer pause than is waited for, else None."""
    if error.retry_after is None or error.retry_after <= LONGEST_WAIT_SECS:
        return None
    return ProviderError(
        f"{error}; it asks to wait {error.retry_after:.0f} s, longer than the {LONGEST_WAIT_SECS:.0f} s "
        "that are waited for: try again later",
        kind=error.kind,
        retryable=False,
        status=error.status,
        request_id=error.request_id,
        retry_after=error.retry_after,
    )


_TELL_SECS = 1.0
"""A shorter wait is not worth a word."""


class RequestPace:
    """When the requests to one provider may be sent. `sleep` waits so many seconds."""

    def __init__(
        self,
        pacer: RequestPacer,
        provider: str,
        rate: RequestRate,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._pacer = pacer
        self._provider = provider
        self._rate = rate
        self._sleep = sleep

    async def wait_for_turn(self, tell: Callable[[StreamEvent], None]) -> None:
        """Return once the next request may be sent; `tell` is given an event about a longer wait.

        Raises ProviderError where the rate cannot be looked up: without it, all would send at once.
        """
        try:
            delay = await self._pacer.reserve(self._provider, self._rate)
        except LedgerError as error:
            raise ProviderError(
                f"the requests to {self._provider} cannot be counted: {error}",
                kind=ProviderErrorKind.CONNECTION,
                retryable=True,
            ) from error
        if delay <= 0:
            return
        if delay >= _TELL_SECS:
            why = f"the {self._rate.per_minute} requests a minute to {self._provider} are used up"
            kind = ProviderErrorKind.RATE_LIMIT
            tell(StreamRetry(attempt=1, attempts=1, delay_secs=delay, reason=why, kind=kind))
        await self._sleep(delay)
