"""Cuts streamed Markdown into blocks that can be drawn for good, whatever pieces the text comes in.

Where a block ends depends only on the lines up to there, never on how they were cut into pieces. Lists are cut
at their items and overlong paragraphs at about 4,000 characters, so that the part still open stays small.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import copy
from enum import Enum, auto

from msgspec import Struct

_LONGEST = 4_000
_FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})([^`]*)$")
_MARKER = re.compile(r"^(\s*)(?:[-*+]|\d{1,9}[.)])(?:\s+|$)")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:\s|$)")
_RULE = re.compile(r"^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$")


class Kind(Enum):
    """What an open block is, as far as its ending is concerned."""

    PARAGRAPH = auto()
    LIST = auto()
    QUOTE = auto()
    TABLE = auto()
    CODE = auto()


class Block(Struct, frozen=True):
    """A piece of Markdown that is drawn by itself. `gap` asks for an empty line above it.

    For code, `text` is the lines between the fences and `language` the word after the first.
    """

    kind: Kind
    text: str
    gap: bool
    language: str = ""


class Splitter:
    """Takes text in pieces and gives out blocks as soon as they cannot change any more."""

    def __init__(self) -> None:
        self._line = ""
        self._lines: list[str] = []
        self._size = 0
        self._kind: Kind | None = None
        self._fence = ""
        self._language = ""
        self._indent = 0
        self._blank = False
        self._gap = False

    def feed(self, piece: str) -> list[Block]:
        """Take more text; answers with the blocks it finished."""
        *lines, self._line = (self._line + piece).split("\n")
        blocks = [block for line in lines for block in self._read_line(line)]
        while len(self._line) > _LONGEST:
            head, self._line = _cut(self._line)
            blocks += self._take_line(head)
            blocks += self._end(gap_after=False)
        return blocks

    def rest(self) -> list[Block]:
        """What is still open, as the blocks it would be if the text ended here."""
        ghost = copy(self)
        ghost._lines = self._lines.copy()
        blocks = list(ghost._read_line(ghost._line)) if ghost._line else []
        return blocks + ghost._end()

    def _read_line(self, line: str) -> Iterator[Block]:
        line = line.rstrip("\r")
        while len(line) > _LONGEST:
            head, line = _cut(line)
            yield from self._take_line(head)
            yield from self._end(gap_after=False)
        yield from self._take_line(line)

    def _take_line(self, line: str) -> list[Block]:
        if self._fence:
            return self._take_fenced(line)
        if not line.strip():
            self._blank = True
            return [] if self._kind is Kind.LIST else self._end()
        if self._continues(line):
            self._append(line)
            self._watch_for_fence(line)
            return []
        blocks = self._end()
        self._begin(line)
        if _HEADING.match(line) or _RULE.match(line):
            blocks += self._end()
        elif self._kind is Kind.PARAGRAPH and self._size > _LONGEST:
            blocks += self._end(gap_after=False)
        return blocks

    def _take_fenced(self, line: str) -> list[Block]:
        word = line.strip()
        closes = word.startswith(self._fence) and not word.strip(self._fence[0])
        if closes:
            self._fence = ""
        if self._kind is Kind.CODE:
            if closes:
                return self._end()
            self._lines.append(line)
        else:
            self._append(line)
        return []

    def _continues(self, line: str) -> bool:
        """Whether the line belongs to the open block."""
        match self._kind:
            case Kind.LIST:
                marker = _MARKER.match(line)
                if marker and len(marker[1]) <= self._indent + 1:
                    return False
                return line.startswith("  ") or not (self._blank or _FENCE.match(line) or _HEADING.match(line))
            case Kind.TABLE:
                return True
            case Kind.QUOTE:
                return line.lstrip().startswith(">")
            case Kind.PARAGRAPH:
                starts = _FENCE.match(line) or _HEADING.match(line) or _MARKER.match(line)
                return self._size <= _LONGEST and not starts and not line.startswith(">")
            case _:
                return False

    def _begin(self, line: str) -> None:
        fence, marker = _FENCE.match(line), _MARKER.match(line)
        if fence and len(fence[1]) < 4:
            self._kind, self._fence = Kind.CODE, fence[2]
            self._language = fence[3].strip().partition(" ")[0]
            return
        if marker and len(marker[1]) < 4 and not _RULE.match(line):
            # Items follow each other, and the paragraph that introduces them, as close as they were written.
            self._gap = self._gap and self._blank
            self._kind, self._indent = Kind.LIST, len(marker[1])
        elif line.startswith(">"):
            self._kind = Kind.QUOTE
        elif line.startswith("|"):
            self._kind = Kind.TABLE
        else:
            self._kind = Kind.PARAGRAPH
        self._blank = False
        self._append(line)
        self._watch_for_fence(line)

    def _append(self, line: str) -> None:
        if self._blank:
            self._lines.append("")
            self._blank = False
        self._lines.append(line)
        self._size += len(line)

    def _watch_for_fence(self, line: str) -> None:
        """Code inside a list item: blank lines and markers in it mean nothing until it closes."""
        if self._kind is Kind.LIST and (fence := _FENCE.match(line)):
            self._fence = fence[2]

    def _end(self, *, gap_after: bool = True) -> list[Block]:
        """Close the open block, if there is one."""
        if self._kind is None:
            return []
        if self._kind is Kind.CODE and not gap_after:
            return []  # a cut line of code is only the next line
        block = Block(self._kind, "\n".join(self._lines), self._gap, self._language)
        self._lines, self._size, self._kind = [], 0, None
        self._fence = self._language = ""
        self._gap = gap_after
        return [block]


def _cut(line: str) -> tuple[str, str]:
    """Split an overlong line at its last space within the limit, or at the limit."""
    at = line.rfind(" ", 1, _LONGEST)
    return (line[:at], line[at + 1 :]) if at > 0 else (line[:_LONGEST], line[_LONGEST:])
