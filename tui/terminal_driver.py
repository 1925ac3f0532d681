"""The terminal as Textual drives it on Unix, mended where a stopped program is woken again."""

from __future__ import annotations

from typing import Protocol, cast

from textual.drivers.linux_driver import LinuxDriver


class Tenant(Protocol):
    """What lives in the terminal."""

    def enter_terminal(self) -> None:
        """The screen is ours from now on."""
        ...

    def leave_terminal(self) -> None:
        """The screen is given back now: at the end, after a crash, while suspended."""
        ...


class TerminalDriver(LinuxDriver):
    """Tells the app when it gains and loses the screen.

    Also after a stop that gave it no chance to leave the screen (SIGSTOP) it takes the screen anew; Textual
    would read the keys with two threads from then on, and would not know any more how the terminal had been.
    """

    _is_on = False

    def start_application_mode(self) -> None:
        """Take the screen."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._writer_thread is not None:  # none: stopped again at once, in the background
            self._is_on = True
            cast("Tenant", self._app).enter_terminal()

    def stop_application_mode(self) -> None:
        """Give the screen back."""
        if self._is_on:
            cast("Tenant", self._app).leave_terminal()
        self._is_on = False
        super().stop_application_mode()

    def _sigcont_application(self, *_: object) -> None:
        if self._auto_restart and self._is_on:
            self.suspend_application_mode()
            self._must_signal_resume = True
        super()._sigcont_application()
