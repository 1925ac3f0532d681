"""Holds requests to a provider back until its rate allows them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from quorum.application.ports.storage import RequestPacer
from quorum.domain.conversation.stream import StreamEvent, StreamRetry
from quorum.domain.errors import LedgerError, ProviderError, ProviderErrorKind
from quorum.domain.request_rate import RequestRate

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
