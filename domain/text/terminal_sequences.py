"""Terminal sequences in a text: what a terminal acts on and does not show, and what they hide of a text."""

from __future__ import annotations

import re
from bisect import bisect_right

# What `domain.text.printable` takes out before a text is drawn, and characters that are printed over.
_UNSEEN = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n\x90\x98\x9d-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b[0-Z\\^-~]"
    r"|[^\n\x08\x1b]\x08"
)
_UNFINISHED = re.compile(
    r"(?:\x1b[ -/]*|(?:\x1b\[|\x9b)[0-?]*[ -/]*"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n\x90\x98\x9d-\x9f]*\x1b?)\Z"
)
_LONGEST = 256
_BEGINNINGS = "\x08\x1b\x90\x98\x9b\x9d\x9e\x9f"


class SeenText:
    """A text without its terminal sequences, and the way back: `place` is where a character stood before."""

    def __init__(self, text: str) -> None:
        pieces: list[str] = []
        self._starts, self._shifts = [0], [0]
        end = length = 0
        for match in _UNSEEN.finditer(text):
            pieces.append(text[end : match.start()])
            length += match.start() - end
            end = match.end()
            self._starts.append(length)
            self._shifts.append(end - length)
        pieces.append(text[end:])
        self.text = "".join(pieces)

    def place(self, seen: int) -> int:
        """The place in the whole text of the character at this place of what is seen."""
        return seen + self._shifts[bisect_right(self._starts, seen) - 1]


def holds_sequences(text: str) -> bool:
    """Whether a text may hold terminal sequences; mostly it does not, and that is told fast."""
    return not (text.isascii() and "\x1b" not in text and "\x08" not in text) and (
        any(map(text.__contains__, _BEGINNINGS))
    )


def unfinished_sequence_from(text: str) -> int:
    """Where, at the end of a text that still grows, a terminal sequence has begun; else the text's length."""
    match = _UNFINISHED.search(text, max(0, len(text) - _LONGEST))
    return len(text) if match is None else match.start()
