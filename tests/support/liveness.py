"""Whether a process is alive, and whether it does nothing."""

from __future__ import annotations

import time
from pathlib import Path


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
