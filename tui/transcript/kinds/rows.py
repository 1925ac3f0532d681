"""Rows of styled text of a given width. All of it is data: drawn as it is, folded, never cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, chop_cells

from quorum.domain.text.printable import collapse_blanks, make_printable
from quorum.tui.transcript.kinds.source import LazyCode


class LineKind(StrEnum):
    """What a piece of text is; the dialog gives each a look."""

    PLAIN = "plain"
    STRONG = "strong"
    QUIET = "quiet"
    ADDED = "added"
    REMOVED = "removed"
    CONTEXT = "context"
    HUNK = "hunk"
    WARNING = "warning"
    GOOD = "good"
    BAD = "bad"


class Span(NamedTuple):
    """Characters from `start` to before `end`."""

    start: int
    end: int


class CodeLine(NamedTuple):
    """A line of source code whose syntax is looked up when it is drawn.

    `start`: the character of the line that the text drawn for it begins with.
    """

    code: LazyCode
    number: int
    start: int = 0


class StyledPart(NamedTuple):
    """A piece of a row that is drawn alike, but for its syntax if it is code.

    `is_objected`: a reviewer objects to it. `is_changed`: the line differs in it from the one it replaces.
    """

    text: str
    kind: LineKind
    is_objected: bool = False
    code: CodeLine | None = None
    is_changed: bool = False


Row: TypeAlias = tuple[StyledPart, ...]


class Line(NamedTuple):
    """Text under a heading of fixed width; rows it is folded into stand under one another.

    `objected`: what a reviewer objects to. `is_code`: it is folded wherever a row is full, else after blanks.
    `code`: where its syntax is to be had. `changed`: where it differs from the line it replaces.
    """

    head: str
    text: str
    kind: LineKind = LineKind.PLAIN
    head_kind: LineKind = LineKind.QUIET
    objected: Sequence[Span] = ()
    is_code: bool = False
    code: CodeLine | None = None
    changed: Sequence[Span] = ()


def fold(lines: Iterable[Line], width: int) -> list[Row]:
    """The lines as rows no wider than `width` cells."""
    return [row for line in lines for row in _fold_line(line, width)]


def _fold_line(line: Line, width: int) -> Iterator[Row]:
    head, code = line.head, line.code
    marks = _mark_characters(line)
    start = 0
    cut = chop_text if line.is_code else cut_between_words
    for piece in cut(line.text, max(4, width - cell_len(head))):
        lead = (StyledPart(head, line.head_kind),) if head else ()
        at = code and code._replace(start=start)
        if marks is None:
            yield (*lead, StyledPart(piece, line.kind, code=at))
        else:
            yield (*lead, *_split_at_marks(StyledPart(piece, line.kind, code=at), marks[start:]))
        start += len(piece)
        head = " " * cell_len(head)


class _Mark(StrEnum):
    """What a character stands out by; that it is objected to hides that it is changed."""

    NONE = ""
    CHANGED = "changed"
    OBJECTED = "objected"


def _mark_characters(line: Line) -> list[_Mark] | None:
    """What each character stands out by; None where none does."""
    if not line.objected and not line.changed:
        return None
    marks = [_Mark.NONE] * len(line.text)
    for mark, spans in ((_Mark.CHANGED, line.changed), (_Mark.OBJECTED, line.objected)):
        for start, end in spans:
            marks[start:end] = [mark] * len(marks[start:end])
    return marks


def _split_at_marks(part: StyledPart, marks: Sequence[_Mark]) -> Iterator[StyledPart]:
    start = 0
    for mark, run in groupby(marks[: len(part.text)]):
        end = start + sum(1 for _ in run)
        at = part.code and part.code._replace(start=part.code.start + start)
        text = part.text[start:end]
        yield StyledPart(text, part.kind, mark is _Mark.OBJECTED, at, mark is _Mark.CHANGED)
        start = end
    if not part.text:
        yield part


def chop_text(text: str, width: int) -> list[str]:
    """The text in pieces of at most `width` cells; never empty."""
    if text.isascii():
        return [text[start : start + width] for start in range(0, len(text), width)] or [""]
    pieces = chop_cells(text, width)
    # Of marks alone, which have no width of their own, it keeps none.
    return pieces if any(pieces) else [text]


_WORD = re.compile(r"\S+\s?|\s")


def cut_between_words(text: str, width: int) -> list[str]:
    """The same, cut after blanks where there are any; a word that is wider than that is cut as well."""
    cells = len if text.isascii() else cell_len
    pieces: list[str] = []
    piece = ""
    for word in _WORD.findall(text):
        if piece and cells(piece) + cells(word) > width:
            pieces.append(piece)
            piece = ""
        if cells(word) > width:
            *full, word = chop_text(word, width)
            pieces += full
        piece += word
    return [*pieces, piece]


def clean_line(text: str) -> str:
    """One line of any text, safe to draw. A run of blanks that would push the rest out of sight is counted."""
    return collapse_blanks(make_printable(text, newlines=False))


def shorten_digest(digest: str, *, spoken: bool = False) -> str:
    """A digest as far as it is compared by eye, or, `spoken`, by ear."""
    first, last = digest[:4], digest[-3:]
    return f"begins with {first}, ends with {last}" if spoken else f"{first}…{last}"


def place_spans(spans: Sequence[Span], text: str, draw: Callable[[str], str]) -> tuple[Span, ...]:
    """Spans of a text as spans of what is drawn for it, which may be longer."""
    if not spans or (drawn := draw(text)) == text:
        return tuple(spans)

    def find_drawn(place: int) -> int:
        return min(len(draw(text[:place])), len(drawn)) if place < len(text) else len(drawn)

    return tuple(Span(find_drawn(start), find_drawn(end)) for start, end in spans)
