"""Request rates of one process alone."""

from __future__ import annotations

import time
from collections.abc import Callable

from quorum.application.ports.storage import RequestRate


class LocalPacer:
    """Implements `RequestPacer` in memory. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    async def reserve(self, provider: str, rate: RequestRate) -> float:
        """Take one request of this rate; the seconds until it may be sent."""
        now = self._clock()
        tokens, filled = self._buckets.get(provider, (rate.burst, now))
        left = rate.refill(tokens, now - filled) - 1
        self._buckets[provider] = (left, now)
        return rate.compute_wait(left)
