"""The colour of the terminal's background, as the terminal itself answers (OSC 11).

The answer comes among the keys, at any time, over a slow line in pieces, or never. It is taken out before keys
are read, so that none of it is typed into the prompt.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping

from textual._time import get_time
from textual.message import Message

from quorum.tui.terminal.console import is_simple

QUERY = "\x1b]11;?\x1b\\"
_REPLY = re.compile(r"\x1b\]11;([^\x07\x1b]{0,64})(?:\x07|\x1b\\)")
_BEGINNING = re.compile(r"\x1b(?:\](?:1(?:1(?:;[^\x07\x1b]{0,64}\x1b?)?)?)?)?\Z")
_SURE = "\x1b]11;"
_COLOUR = re.compile(r"rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})(?:/[0-9a-f]{1,4})?", re.IGNORECASE)
_HASHED = re.compile(r"#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})", re.IGNORECASE)
_AWAITED_SECS = 5.0  # afterwards a lone Esc is a key at once again
_ESCAPE_SECS = 0.1
_PIECE_SECS = 0.5
_EXIT_SECS = 0.25
_SOON_SECS = 1.0
_RED, _GREEN, _BLUE = 0.299, 0.587, 0.114  # how bright the eye finds each, by ITU-R BT.601


class BackgroundReported(Message):
    """The terminal has said whether its background is light."""

    def __init__(self, *, is_light: bool) -> None:
        super().__init__()
        self.is_light = is_light


def can_query(environ: Mapping[str, str]) -> bool:
    """Whether this terminal can be asked: some consoles print what they do not know."""
    return not is_simple(environ)


def is_light(colour: str) -> bool | None:
    """Whether a colour, as X11 writes it, is light; None for what is no colour."""
    match = _COLOUR.fullmatch(colour) or _HASHED.fullmatch(colour)
    if match is None:
        return None
    red, green, blue = (int(part, 16) / int("f" * len(part), 16) for part in match.groups()[:3])
    return _RED * red + _GREEN * green + _BLUE * blue > 0.5


class BackgroundReplies:
    """Takes answers out of what the terminal sends.

    It belongs to the thread that reads; `expect` and `settle` are for the app's. A lone Esc at the end of what
    has arrived may begin an answer: while one is awaited, it waits for 0.1 s.
    """

    def __init__(self, clock: Callable[[], float] = get_time) -> None:
        self._clock = clock
        self._asked = float("-inf")
        self._answered = threading.Event()
        self._answered.set()
        self._held = ""
        self._held_until = 0.0

    @property
    def is_waiting(self) -> bool:
        """Whether characters are held back."""
        return bool(self._held)

    def expect(self) -> None:
        """An answer may come from now on."""
        self._asked = self._clock()
        self._answered.clear()

    def settle(self) -> None:
        """Wait for an answer that may come at any moment, for at most a quarter of a second.

        For before the terminal is given back: the answer would be typed into the shell.
        """
        if self._clock() - self._asked < _SOON_SECS:
            self._answered.wait(_EXIT_SECS)

    def extract(self, data: str) -> tuple[str, list[BackgroundReported]]:
        """What of it was typed, and what the terminal answered."""
        data, self._held = self._held + data, ""
        if "\x1b" not in data:
            return data, []
        reports = [
            BackgroundReported(is_light=light)
            for colour in _REPLY.findall(data)
            if (light := is_light(colour)) is not None
        ]
        typed, answers = _REPLY.subn("", data)
        if answers:
            self._answered.set()
        beginning = _BEGINNING.search(typed)
        if beginning is not None and (self._is_awaited or beginning[0].startswith(_SURE)):
            self._held = beginning[0]
            self._held_until = self._clock() + (_ESCAPE_SECS if self._held == "\x1b" else _PIECE_SECS)
            typed = typed[: beginning.start()]
        return typed, reports

    def release(self) -> str:
        """What was held back long enough and has turned out to be no answer: keys. A torn answer is dropped."""
        if not self._held or self._clock() < self._held_until:
            return ""
        held, self._held = self._held, ""
        return "" if held.startswith(_SURE) else held

    @property
    def _is_awaited(self) -> bool:
        return not self._answered.is_set() and self._clock() - self._asked < _AWAITED_SECS
