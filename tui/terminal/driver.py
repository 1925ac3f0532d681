"""The terminal as Textual drives it on Unix, mended where it is taken away or a stopped program is woken."""

from __future__ import annotations

import os
import select
import signal
import termios
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Protocol, cast

from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from quorum.tui.prompt_box.unsent import UnsentTexts
from quorum.tui.terminal.background_colour import QUERY, BackgroundReplies, can_query
from quorum.tui.terminal.early_prompt import EarlyPrompt, TypedEarly
from quorum.tui.terminal.input import QUERY_MARKS, TerminalKeys, TypedAhead, make_decoders
from quorum.tui.terminal.key_bursts import QUIET_SECS
from quorum.tui.terminal.writer import TerminalWriter

_MOST_BYTES = 65_536
_OTHER_SCREEN = "\x1b[?1049h"
_USUAL_SCREEN = ("\x1b[?1049l", "\x1b[?25h")
# No marks for pastes, no mouse, no reports of the focus, the usual keys, the usual screen, the cursor.
_TAKEN_WITHIN_SECS = 1.0
"""A terminal that is slow has not read yet what was drawn last; one that is stopped takes nothing."""
_RESTORING = (
    b"\x1b[?2004l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1004l\x1b[?7h\x1b[<u\x1b[?1049l\x1b[?25h"
)
# Textual has no setting for its writer; the driver asks this name for one each time it takes the terminal.
linux_driver.WriterThread = TerminalWriter  # type: ignore[attr-defined,assignment]


class TerminalClient(Protocol):
    """The app in the terminal. `early_prompt` has the terminal first, where there is one."""

    early_prompt: EarlyPrompt | None
    typed_early: UnsentTexts | None
    """What the `early_prompt` keeps for the case of a kill."""

    def enter_terminal(self) -> None:
        """The screen is ours from now on."""
        ...

    def leave_terminal(self) -> None:
        """The screen is given back now: at the end, after a crash, while suspended."""
        ...

    def lose_terminal(self) -> None:
        """The terminal is gone: nobody can see or type anything from now on."""
        ...


class TerminalDriver(LinuxDriver):
    """Tells the app when it gains, leaves or loses the screen.

    A parent may keep the signal for a lost terminal to itself. Then the end of what can be read, or an error
    while writing, tells the same.

    Also after a stop that gave it no chance to leave the screen (SIGSTOP) it takes the screen anew; Textual
    would read the keys with two threads from then on, and would not know any more how the terminal had been.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._is_on = self._is_lost = False
        self._decoders = make_decoders()
        self._background = BackgroundReplies()
        # Both ends of a pipe that ends the wait of the thread that reads keys, while there is one.
        self._wake: tuple[int, int] | None = None
        self._typed_early: TypedEarly | None = None
        self._has_other_screen = self._had_early_prompt = self._is_handed_over = False

    def start_application_mode(self) -> None:
        """Take the screen."""
        self._writer_thread = None
        if self._is_terminal_gone():
            self._lose()
            return
        self._close_wake()
        self._wake = os.pipe()
        client = cast("TerminalClient", self._app)
        early, client.early_prompt = client.early_prompt, None
        typed = self._typed_early = early.hand_over() if early is not None else None
        self._has_other_screen = typed is not None
        self._had_early_prompt |= typed is not None
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._has_other_screen = False
        if typed is not None:
            self.attrs_before, client.typed_early = typed.attributes, typed.unsent
        if (writer := self._get_writer()) is None:  # stopped again at once, in the background
            if self._is_terminal_gone():
                self._lose()
            return
        writer.call_when_gone(self._lose)
        self._is_on = True
        client.enter_terminal()

    def stop_application_mode(self) -> None:
        """Give the screen back."""
        if self._is_on:
            cast("TerminalClient", self._app).leave_terminal()
            if not self._is_lost:
                self._background.settle()
        self._is_on = False
        if self._is_handed_over:
            self.attrs_before = None
        super().stop_application_mode()

    def hand_over(self) -> list[Any] | None:
        """Read no more: what is typed now is for the process that takes the place of this one, to which the
        screen is left as it stands. Returns the attributes that the terminal had before; None where the next
        one would not know what to do with it, and it is given back as usual.
        """
        if not self._is_on or not self._had_early_prompt or self.attrs_before is None:
            return None
        self._is_handed_over = True
        self.disable_input()
        return self.attrs_before

    def write(self, data: str) -> None:
        """Have this written; where there is no terminal, or none any more, it is dropped."""
        if self._has_other_screen and data == _OTHER_SCREEN:
            return  # a second time it is cleared, and some terminals forget the cursor of the usual one
        if self._is_handed_over and data in _USUAL_SCREEN:
            return
        if (writer := self._get_writer()) is not None:
            writer.write(data)

    def query_background(self) -> None:
        """Ask the terminal for the colour of its background; the app gets BackgroundReported if it answers."""
        if can_query(os.environ):
            self._background.expect()
            self.write(QUERY)

    def _enable_bracketed_paste(self) -> None:
        super()._enable_bracketed_paste()
        if can_query(os.environ) and os.environ.get("TERM_PROGRAM") != "Apple_Terminal":  # that prints a "p"
            self.write(QUERY_MARKS)

    def hurry(self) -> None:
        """Have nothing wait for a terminal that takes no more. May be called by a signal's handler."""
        if (writer := self._get_writer()) is not None:
            writer.hurry()

    def restore_terminal(self) -> None:
        """Give the terminal back in any thread, as far as it takes anything within a second."""
        if not self._is_on or self._is_lost or self._file is None:
            return
        with suppress(OSError, termios.error, ValueError):
            if self.attrs_before is not None:
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)
            output = self._file.fileno()
            if select.select((), (output,), (), _TAKEN_WITHIN_SECS)[1]:
                os.write(output, _RESTORING)

    def disable_input(self) -> None:
        """Have the thread that reads end, and wait for it. Textual calls it again once that has ended."""
        if self._wake is not None:
            os.write(self._wake[1], b"x")
        if self._is_handed_over:  # as Textual does, but what nobody has read yet stays where it is
            signal.signal(signal.SIGWINCH, signal.SIG_DFL)
            self.exit_event.set()
            if self._key_thread is not None:
                self._key_thread.join()
            return
        super().disable_input()

    def close(self) -> None:
        """Write what waits, at the end or before the app is suspended."""
        super().close()
        self._close_wake()

    def _close_wake(self) -> None:
        ends, self._wake = self._wake or (), None
        for end in ends:
            os.close(end)

    def run_input_thread(self) -> None:
        """Read what is typed, until the app wants no more or the terminal is gone."""
        keys, decoder = TerminalKeys(self._debug, self._background), next(self._decoders)
        typed, self._typed_early = self._typed_early, None
        if typed is not None:
            decoder = TypedAhead(ahead=typed.in_lines)
            if text := decoder.decode(typed.data):
                self._process(keys.feed(text))
        assert self._wake is not None, "it is there before the thread is started"
        awakened, _ = self._wake
        while not self.exit_event.is_set():
            readable, _, _ = select.select(
                (self.fileno, awakened), (), (), QUIET_SECS if keys.is_waiting else None
            )
            if self.fileno in readable:
                data = self._read()
                if data is None:
                    self._lose()
                    return
                if text := decoder.decode(data):
                    self._process(keys.feed(text))
            self._process(keys.tick())

    def _process(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)

    def _read(self) -> bytes | None:
        """What was typed; None where the terminal is gone."""
        try:
            data = os.read(self.fileno, _MOST_BYTES)
        except BlockingIOError:
            return b""
        except OSError:
            return None
        return None if not data and self._is_terminal_gone() else data

    def _is_terminal_gone(self) -> bool:
        try:
            termios.tcgetattr(self.fileno)
        except (termios.error, ValueError):
            return True
        return False

    def _lose(self) -> None:
        """Tell the app, once, in any thread."""
        if self._is_lost:
            return
        self._is_lost = True
        with suppress(RuntimeError):  # the loop has ended, and the app with it
            self._loop.call_soon_threadsafe(cast("TerminalClient", self._app).lose_terminal)

    def _get_writer(self) -> TerminalWriter | None:
        return cast("TerminalWriter | None", self._writer_thread)

    def _sigcont_application(self, *_: object) -> None:
        if self._auto_restart and self._is_on:
            self.suspend_application_mode()
            self._must_signal_resume = True
        super()._sigcont_application()
