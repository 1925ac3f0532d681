"""The signals that end a process which does nothing about them."""

from __future__ import annotations

import signal

_HARMLESS = ("SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGINFO")
_STOPPING = ("SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU")
_OUT_OF_REACH = ("SIGKILL", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL")
"""Nobody is asked, or the instruction that failed would fail again after a handler of Python."""


def list_untaken_signals() -> list[int]:
    """Those that would end this process now, because nothing handles or ignores them."""
    kept = {getattr(signal, name, None) for name in (*_HARMLESS, *_STOPPING, *_OUT_OF_REACH)}
    return [
        number
        for number in signal.valid_signals()
        if number not in kept and signal.getsignal(number) is signal.SIG_DFL
    ]
