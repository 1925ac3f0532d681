"""Bounds how many calls run in a minute."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable

from quorum.api import CallDraft, Continue, HookAnswer, Skip

_WINDOW_SECS = 60.0


class RateLimiter:
    """Lets `per_minute` calls through in any sixty seconds and skips the others, telling the model when to try
    again. `clock` gives seconds that never run backwards.

    One limiter may serve several sessions and threads at once: they share its count. Raises ValueError for a
    limit below one.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        if per_minute < 1:
            raise ValueError(f"per_minute must be 1 or more, not {per_minute}")
        self._per_minute = per_minute
        self._clock = clock
        self._let_through: deque[float] = deque()
        self._lock = threading.Lock()

    async def before_tool_call(self, call: CallDraft) -> HookAnswer:
        """Continue, or skip once the minute is full. A skipped call does not count."""
        with self._lock:
            now = self._clock()
            while self._let_through and now - self._let_through[0] >= _WINDOW_SECS:
                self._let_through.popleft()
            if len(self._let_through) < self._per_minute:
                self._let_through.append(now)
                return Continue()
            wait = math.ceil(self._let_through[0] + _WINDOW_SECS - now)
        plural = "" if self._per_minute == 1 else "s"
        return Skip(f"at most {self._per_minute} call{plural} a minute; try again in {wait} s")
