"""A child process that stands still, in all of its threads, when the test goes on."""

from __future__ import annotations

import os
import signal


def stop_child(pid: int) -> None:
    """Stop a child process, and return when it has stopped: the signal alone leaves it time to do more."""
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
