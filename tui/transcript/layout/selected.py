"""What the mouse selects: from one place to another, a word, a line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rich.cells import get_character_cell_size
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from quorum.tui.transcript.cells.lines import Flow, TextSpan, is_continued
from quorum.tui.transcript.layout.transcript_layout import TranscriptLayout

_WORD = re.compile(r"[\w./\\~:@%+#?&=$-]+")
_FURTHEST = 200
"""So many lines are looked at for where a broken line begins and ends."""


@dataclass(frozen=True, order=True, slots=True)
class Place:
    """A character: on which line of which entry, and the how manieth of that line."""

    entry: int
    offset: int
    column: int

    @classmethod
    def at(cls, page: TranscriptLayout, line: int, column: int) -> Place:
        """The place at a line of the page, or at the last one above it."""
        if not page.lines:
            return cls(0, 0, 0)
        return cls(*page.find_entry(max(0, min(line, page.lines - 1))), column)


@dataclass(frozen=True, slots=True)
class Ends:
    """Two places and all between them; `after` is the one behind the last character selected."""

    first: Place
    after: Place

    @classmethod
    def between(cls, one: Place, other: Place) -> Ends:
        """Both places and what is between them, in whatever order they come."""
        first, last = min(one, other), max(one, other)
        return cls(first, Place(last.entry, last.offset, last.column + 1))

    def on(self, page: TranscriptLayout) -> Selection:
        """Where they stand on a page at present."""
        first, after = (page.find_line(place.entry, place.offset) for place in (self.first, self.after))
        return Selection(Offset(self.first.column, first), Offset(self.after.column, after))


def find_column(strip: Strip, cell: int) -> int:
    """Which character of a line covers a cell; beyond the end, the one that would come next."""
    column = 0
    for character in strip.text:
        cell -= get_character_cell_size(character)
        if cell < 0:
            break
        column += 1
    return column


def select_word(page: TranscriptLayout, line: int, column: int) -> Ends | None:
    """The word, path or address around a character, also one that was broken; None where there is none."""
    flow = _flow_around(page, line)
    if (at := flow.find_offset(line, column)) is None:
        return None
    for match in _WORD.finditer(flow.text):
        if match.start() <= at < match.end():
            end = match.start() + len(match[0].rstrip(".:,?"))
            return _find_ends(page, flow.find_spans(match.start(), max(end, at + 1)))
    return None


def select_line(page: TranscriptLayout, line: int) -> Ends | None:
    """The whole line, however often it was broken to fit; None where it is empty."""
    flow = _flow_around(page, line)
    return _find_ends(page, flow.find_spans(0, len(flow.text)))


def _flow_around(page: TranscriptLayout, line: int) -> Flow:
    first, end = line, line + 1
    while first > 0 and line - first < _FURTHEST and _continues(page, first):
        first -= 1
    while end - line < _FURTHEST and _continues(page, end):
        end += 1
    return Flow(page.render_between(first, end), first)


def _continues(page: TranscriptLayout, line: int) -> bool:
    return any(map(is_continued, page.render_between(line, line + 1)))


def _find_ends(page: TranscriptLayout, spans: list[TextSpan]) -> Ends | None:
    if not spans:
        return None
    first, last = spans[0], spans[-1]
    return Ends(Place.at(page, first.line, first.start), Place.at(page, last.line, last.end))
