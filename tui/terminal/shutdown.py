"""Ends the process for certain once it has been asked to end, whatever hangs."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FrameType

from quorum.tui.terminal.ending_signals import list_untaken_signals

LIMIT_SECS = 12.0
"""More than the app waits for turns and sessions to close: three seconds for each."""

_REPEATED_SECS = 0.5
"""`timeout` sends its signal to a process and to its group, which is one request and not two."""


class Shutdown:
    """Watches over the end of a process: from `begin` on it has `limit_secs` to end by itself.

    `restore_terminal` is called in any thread before the process is cut off; `hurry` when a signal asks for
    the end, possibly while the main thread waits for the terminal.
    """

    def __init__(
        self,
        *,
        restore_terminal: Callable[[], None],
        hurry: Callable[[], None],
        limit_secs: float = LIMIT_SECS,
        cut_off: Callable[[int], object] = os._exit,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._restore_terminal, self._hurry = restore_terminal, hurry
        self._limit_secs, self._cut_off, self._clock = limit_secs, cut_off, clock
        self._has_begun = False
        self._terminated_at: float | None = None

    @property
    def is_terminated(self) -> bool:
        """Whether a SIGTERM has come: no other app may take the place of this one then."""
        return self._terminated_at is not None

    def begin(self, return_code: int) -> None:
        """The process is to end now, by itself; with this exit code it is cut off where it does not."""
        if not self._has_begun:
            self._has_begun = True
            timer = threading.Timer(self._limit_secs, self.end_now, (return_code,))
            timer.daemon = True
            timer.start()

    def end_now(self, return_code: int) -> None:
        """Cut the process off; the supervisors of its commands end those."""
        self._restore_terminal()
        self._cut_off(return_code)

    def take_signals(self, return_codes: Mapping[signal.Signals, int], leave: Callable[[int], None]) -> None:
        """Have each signal call `leave` with its exit code; a second SIGTERM, half a second later, cuts off.

        A handler of the event loop would wait for the main thread, which may wait for the terminal.
        """
        loop = asyncio.get_running_loop()

        def handle(number: int, _frame: FrameType | None) -> None:
            return_code = return_codes[signal.Signals(number)]
            if number == signal.SIGTERM and self._note_termination():
                self.end_now(return_code)
            self.begin(return_code)
            self._hurry()
            with suppress(RuntimeError):  # the loop has ended: the process is about to
                loop.call_soon_threadsafe(leave, return_code)

        for each in return_codes:
            signal.signal(each, handle)

    def take_untaken_signals(self) -> None:
        """Have every other signal that ends a process do so, but with the terminal restored before."""

        def die(number: int, _frame: FrameType | None) -> None:
            self._restore_terminal()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        for number in list_untaken_signals():
            signal.signal(number, die)

    def conclude(self) -> None:
        """All is done but the interpreter's own end: what is typed too late does not change the exit code."""
        for each in (signal.SIGINT, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)

    def _note_termination(self) -> bool:
        """Note a SIGTERM; whether it came long enough after the first one to count as another."""
        now = self._clock()
        if self._terminated_at is None:
            self._terminated_at = now
        return now - self._terminated_at >= _REPEATED_SECS
