"""The command line that somebody is typing, up to the cursor, as the words a shell would make of it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

_CURSOR = "\x00"
_LONGEST = 100_000


@dataclass(frozen=True, slots=True)
class PartialLine:
    """`words` stand before the word at the cursor, without the program; `current` is what is typed of that."""

    words: tuple[str, ...]
    current: str


def read_line(line: str) -> PartialLine | None:
    """The words of a line that begins with the program; None where it is no such line.

    A quote that is still open is closed at the cursor.
    """
    text = line[:_LONGEST].replace(_CURSOR, "") + _CURSOR
    for end in ("", '"', "'"):
        try:
            words = shlex.split(text + end)
        except ValueError:
            continue
        if len(words) < 2:
            return None
        return PartialLine(tuple(words[1:-1]), words[-1].removesuffix(_CURSOR))
    return None
