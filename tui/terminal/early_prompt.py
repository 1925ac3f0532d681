"""The prompt as it stands on the screen before the app is loaded, which takes ten times as long as this.

It shows what is typed and keeps every byte; the app gets all of them, in order, as if they had come only then.
Nothing of Textual is imported here.
"""

from __future__ import annotations

import codecs
import os
import re
import select
import signal
import termios
import threading
from collections.abc import Mapping
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from quorum.tui.terminal.console import count_waiting_bytes, is_simple
from quorum.tui.terminal.ending_signals import list_untaken_signals
from quorum.tui.widgets.layout import PLACEHOLDER, SIGN, STARTING, arrange

if TYPE_CHECKING:
    from quorum.tui.prompt_box.unsent import UnsentTexts

_MOST_BYTES = 65_536
_SIZE_FROM_ENVIRONMENT = ("COLUMNS", "LINES")  # the app would go by it
_NO_COLUMNS_FOR_TEXT = 6  # the sign, the cursor, and one to spare
_ERASING = ("\x7f", "\b")
_CTRL_C, _PASTE_BEGINS, _PASTE_ENDS = b"\x03", b"\x1b[200~", b"\x1b[201~"
_SEQUENCE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O.)?|[\x00-\x07\x0b\x0c\x0e-\x1f]")
_RULE = "─"
# The other screen, no cursor, pastes with marks, nothing left of what stood there.
_CLEAR = "\x1b[H\x1b[2J"
_TAKE = "\x1b[?1049h\x1b[?25l\x1b[?2004h" + _CLEAR
_TAKE_UNSEEN = "\x1b[?25l\x1b[?2004h"
_GIVE_BACK = "\x1b[?2004l\x1b[?1049l\x1b[?25h"
_PLAIN, _BOLD, _DIM, _REVERSED = "\x1b[0m", "\x1b[0;1m", "\x1b[0;2m", "\x1b[0;7m"
_TO_LINE_END = "\x1b[K"


class TypedEarly(NamedTuple):
    """What was typed: the first `in_lines` bytes came in lines, where Enter is a line feed. `attributes` are
    those that the terminal had before. `unsent` keeps what was ended with Enter for the case of a kill.
    """

    data: bytes
    in_lines: int
    attributes: list[Any]
    unsent: UnsentTexts | None


class EarlyPrompt:
    """Has the terminal from `show_early_prompt` on until it is handed over to the app, or closed.

    Ctrl+C ends the process, as it does while nothing is shown. All other keys are kept for the app. Text, and
    erasing it, is shown; from the first other key on only the app can tell what the prompt looks like. Where an
    app left the terminal to this process, which had the attributes `before` it, its last frame stays.
    """

    def __init__(
        self,
        terminal: int,
        output: int,
        size: tuple[int, int],
        cwd: str = "",
        before: list[Any] | None = None,
    ) -> None:
        self._is_handed_over = before is not None
        self._terminal, self._output, self._cwd = terminal, output, cwd
        self._unsent: UnsentTexts | None = None
        self._fit(size)
        self._attributes = termios.tcgetattr(terminal) if before is None else before
        self._in_lines = 0
        self._typed = bytearray()
        self._shown: list[str] = []
        self._is_showing = before is None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_over = False
        self._wake = os.pipe()
        self._reader = threading.Thread(target=self._read, name="early-prompt", daemon=True)
        self._handlers = {
            number: signal.signal(number, self._handle) for number in (signal.SIGWINCH, *list_untaken_signals())
        }

    def begin(self) -> None:
        """Take the terminal and draw the prompt. Raises OSError or termios.error where it cannot be taken."""
        termios.tcsetattr(self._terminal, termios.TCSANOW, _read_key_by_key(self._attributes))
        if self._is_handed_over:
            self._write(_TAKE_UNSEEN)
        else:
            self._in_lines = count_waiting_bytes(self._terminal)  # only now do no more come in lines
            self._write(_TAKE + self._draw())
        self._reader.start()

    def hand_over(self) -> TypedEarly:
        """Leave the terminal as it is to the app, with everything that was typed. Only once, and not after
        `close`."""
        self._stop()
        return TypedEarly(bytes(self._typed), self._in_lines, self._attributes, self._unsent)

    def close(self) -> None:
        """Give the terminal back, where it was not handed over. What was typed is dropped: the shell would take
        it for commands."""
        if self._is_over:
            return
        self._stop()
        self._restore()

    def _stop(self) -> None:
        self._is_over = True
        for number, handler in self._handlers.items():
            if signal.getsignal(number) == self._handle:
                signal.signal(number, handler)
        if self._reader.ident is not None:
            os.write(self._wake[1], b"x")
            self._reader.join()
        for end in self._wake:
            os.close(end)

    def _restore(self) -> None:
        with suppress(OSError, termios.error):  # the terminal is gone
            termios.tcsetattr(self._terminal, termios.TCSANOW, self._attributes)
            self._write(_GIVE_BACK)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        """Draw all anew in another size, or die of this signal, but with the terminal as it was."""
        if number == signal.SIGWINCH:
            with suppress(OSError):
                self._fit(os.get_terminal_size(self._output))
                self._write(_CLEAR + self._draw())
            return
        self._is_showing = False
        self._restore()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    # -- in the thread that reads ------------------------------------------------------------------------------

    def _read(self) -> None:
        awakened, _ = self._wake
        while True:
            readable, _, _ = select.select((self._terminal, awakened), (), ())
            if awakened in readable:
                return
            try:
                data = os.read(self._terminal, _MOST_BYTES)
            except BlockingIOError:
                continue
            except OSError:  # the terminal is gone, as the app will see
                return
            if not data:
                return
            self._typed += data
            if _CTRL_C in data and not self._is_in_paste(self._typed.rfind(_CTRL_C)):
                os.kill(os.getpid(), signal.SIGINT)
            if self._is_showing:
                self._follow(self._decoder.decode(data))
            if b"\r" in data and not self._is_in_paste(self._typed.rfind(b"\r")):
                self._keep_entered()

    def _is_in_paste(self, at: int) -> bool:
        return self._typed.rfind(_PASTE_BEGINS, 0, at) > self._typed.rfind(_PASTE_ENDS, 0, at)

    def _keep_entered(self) -> None:
        """Have a file hold what was typed so far, as far as it can be read without the app.

        What may hold a secret is left out: what hides those takes as long to load as the app.
        """
        from quorum.domain.secrets.patterns import find_pattern_spans
        from quorum.tui.prompt_box.unsent import UnsentTexts

        typed = _SEQUENCE.sub("", self._typed.decode("utf-8", "replace")).replace("\r", "\n")
        text = ""
        for character in typed:
            text = text[:-1] if character in _ERASING else text + character
        if (text := text.strip()) and not find_pattern_spans(text):
            self._unsent = self._unsent or UnsentTexts(self._cwd)
            self._unsent.keep([text])

    def _follow(self, text: str) -> None:
        for character in text:
            if character in _ERASING:
                del self._shown[-1:]
            elif character.isprintable() and self._has_room_for(character):
                self._shown.append(character)
            else:
                self._is_showing = False
                break
        with suppress(OSError):
            self._write(self._draw_line())

    def _has_room_for(self, character: str) -> bool:
        cells = sum(1 if each.isascii() else 2 for each in (*self._shown, character))
        return cells <= self._width - _NO_COLUMNS_FOR_TEXT

    # -- what it looks like ------------------------------------------------------------------------------------

    def _fit(self, size: tuple[int, int]) -> None:
        self._width, self._height = size
        self._arrangement = arrange("auto", size)
        self._line = self._height - (1 if self._arrangement.joined else 2)

    def _draw(self) -> str:
        rule = f"{_DIM}{_RULE * self._width}"
        above = "" if self._arrangement.name == "minimal" else f"\x1b[{self._line - 1};1H{rule}"
        below = "" if self._arrangement.joined else f"\x1b[{self._line + 1};1H{rule}"
        return f"{above}{below}\x1b[{self._height};1H{_DIM} {STARTING}" + self._draw_line()

    def _draw_line(self) -> str:
        """The line of the prompt; the cursor is drawn, as the app does."""
        text = "".join(self._shown)
        hint = "" if text else PLACEHOLDER[: self._width - _NO_COLUMNS_FOR_TEXT]
        cursor = hint[:1] or " "
        return (
            f"\x1b[{self._line};1H{_BOLD}{SIGN}{_PLAIN} {text}"
            f"{_REVERSED}{cursor}{_DIM}{hint[1:]}{_PLAIN}{_TO_LINE_END}"
        )

    def _write(self, text: str) -> None:
        if select.select((), (self._output,), (), 0)[1]:  # nobody waits for a terminal that takes no more
            os.write(self._output, text.encode())


def show_early_prompt(
    terminal: int, output: int, environ: Mapping[str, str], cwd: str = "", before: list[Any] | None = None
) -> EarlyPrompt | None:
    """Show the prompt for the project at `cwd`, by default the working directory.

    None where that is better left to the app: in the background, in a terminal that is simple or too small.
    """
    if is_simple(environ) or any(map(environ.get, _SIZE_FROM_ENVIRONMENT)):
        return None
    try:
        size = os.get_terminal_size(output)
        if arrange("auto", size).too_small or os.tcgetpgrp(terminal) != os.getpgrp():
            return None
        prompt = EarlyPrompt(terminal, output, size, cwd, before)
    except (OSError, termios.error):
        return None
    try:
        prompt.begin()
    except (OSError, termios.error):
        prompt.close()
        return None
    except BaseException:  # interrupted by the first key
        prompt.close()
        raise
    return prompt


def _read_key_by_key(attributes: list[Any]) -> list[Any]:
    """The same attributes, but keys come at once, unchanged and unseen, and none is a signal."""
    inputs, outputs, control, local, *speeds, characters = attributes
    characters = list(characters)
    characters[termios.VMIN], characters[termios.VTIME] = 1, 0
    inputs &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    local &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    return [inputs, outputs, control, local, *speeds, characters]
