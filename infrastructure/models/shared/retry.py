"""When a failed request is sent again."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from quorum.domain.errors import ProviderError

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
