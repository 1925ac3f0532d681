"""Which signals are taken so that the terminal is restored before they end the process."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from quorum.tui.terminal.ending_signals import list_untaken_signals

_CHILD = """
import os, signal, sys
from quorum.tui.terminal.shutdown import Shutdown
signal.signal(signal.SIGUSR2, signal.SIG_IGN)
shutdown = Shutdown(restore_terminal=lambda: os.write(1, b"restored"), hurry=lambda: None)
shutdown.take_untaken_signals()
os.kill(os.getpid(), signal.SIGUSR2)
os.kill(os.getpid(), int(sys.argv[1]))
"""


def test_neither_what_is_harmless_nor_what_cannot_be_handled_is_taken():
    taken = set(list_untaken_signals())

    assert {signal.SIGQUIT, signal.SIGUSR1, signal.SIGXCPU, signal.SIGABRT} <= taken
    assert not taken & {signal.SIGCHLD, signal.SIGWINCH, signal.SIGTSTP, signal.SIGKILL, signal.SIGSEGV}


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    "number", [signal.SIGQUIT, signal.SIGUSR1, signal.SIGALRM, signal.SIGABRT, signal.SIGPROF]
)
def test_the_process_ends_by_that_signal_once_the_terminal_is_restored(number):
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, str(int(number))], capture_output=True, check=False, timeout=60
    )

    assert child.stdout == b"restored"
    assert child.returncode == -number
