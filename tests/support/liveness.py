"""Whether a process is alive, whether it does nothing, and waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

_PATIENCE_SECS = 120.0  # on a busy machine: none of what is waited for comes about by itself


def is_alive(pid: int) -> bool:
    """Whether a process exists and is more than a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def has_slept(pid: int, secs: float = 1.0) -> bool:
    """Whether none of its threads came round meanwhile."""

    def count_wakes() -> int:
        threads = Path(f"/proc/{pid}/task").glob("*/status")
        return sum(
            int(each.read_text().partition("\nvoluntary_ctxt_switches:")[2].split()[0]) for each in threads
        )

    before = count_wakes()
    time.sleep(secs)
    return count_wakes() == before


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Wait for what other processes do. Raises AssertionError with `what` that is."""
    deadline = time.monotonic() + _PATIENCE_SECS
    while not holds():
        assert time.monotonic() < deadline, f"not within {_PATIENCE_SECS} s: {what}"
        time.sleep(0.01)
