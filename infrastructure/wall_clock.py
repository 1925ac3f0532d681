"""The time of day, as records and lists keep it."""

from __future__ import annotations

import time


def read_wall_clock_ms() -> int:
    """The time of day in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000
