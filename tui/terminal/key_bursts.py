"""Tells text that was pasted without the marks of a paste from text that was typed."""

from __future__ import annotations

import re

QUIET_SECS = 0.03
"""A run of characters is over when the terminal was silent for this long. No fingers are as fast."""

_MOST_KEYS = 64  # that act one by one; each of them costs about a millisecond
_FEWEST_TYPED = 3  # characters before a line break in a run, from which on it may be inside a paste
_PLAIN = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")
_ENTERED = re.compile(r"[^\r]*\r|[^\r]+")
_LINE_BREAK = re.compile(r"[\r\n]")


class KeyBursts:
    """Collects a run of plain characters that is too long or too fast for keys, until the terminal is silent.

    Text that comes with line breaks inside would otherwise send each of its lines, and a long one would take
    a second for each 1000 characters. In a terminal that marks pastes, a line break is an Enter that
    was pressed, however many keys arrive with it: a slow line brings them in clumps.
    """

    def __init__(self) -> None:
        self.are_pastes_marked = False
        self._held: list[str] = []
        self._length = 0
        self._last = float("-inf")

    @property
    def is_waiting(self) -> bool:
        """Whether characters are held back."""
        return bool(self._held)

    def is_over(self, now: float) -> bool:
        """Whether the terminal has been silent for long enough since the last of the characters held back."""
        return self.is_waiting and now - self._last >= QUIET_SECS

    def holds(self, text: str, now: float) -> bool:
        """Take note of plain characters that arrived now. Returns whether they are held back."""
        if now - self._last >= QUIET_SECS:
            self._length = 0
        before, self._last = self._length, now
        self._length += len(text)
        breaks = not self.are_pastes_marked and _breaks_inside(text, before)
        if self._held or self._length > _MOST_KEYS or breaks:
            self._held.append(text)
            return True
        return False

    def release(self) -> list[tuple[str, str]]:
        """What was held back: text that was pasted, and text to take as keys, in this order, by turns.

        Enter at the end is a key, unless the text has others like it: then it is a line break as they are.
        """
        text = "".join(self._held)
        self._held.clear()
        lines = _ENTERED.findall(text) if self.are_pastes_marked else [text]
        return [self._tell_apart(line) for line in lines]

    def _tell_apart(self, text: str) -> tuple[str, str]:
        if text.find("\r") == len(text) - 1:
            body, enter = text[:-1], "\r"
        else:
            body, enter = text, ""
        if len(body) <= _MOST_KEYS and not _LINE_BREAK.search(body):
            return "", body + enter
        return body, enter


def read_plain_text(data: str, at: int) -> str:
    """The characters from this place on that neither control anything nor begin a sequence."""
    found = _PLAIN.match(data, at)
    return found[0] if found else ""


def _breaks_inside(text: str, before: int) -> bool:
    """Whether a line ends where a person cannot have ended it: with text after it, or so soon after text."""
    found = _LINE_BREAK.search(text)
    if found is None:
        return False
    return before + found.start() >= _FEWEST_TYPED or (found.end() < len(text) and before + found.start() > 0)
