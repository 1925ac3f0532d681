"""The text that drawn lines show, as it was before it was broken to fit: for copying, finding and links."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from textual.strip import Strip

from quorum.tui.transcript.cells.marks import read_mark

_BETWEEN = "  "
"""What stands for decoration between two pieces of text on a line."""


class TextSpan(NamedTuple):
    """Characters of a drawn line, from `start` up to, not including, `end`."""

    line: int
    start: int
    end: int


class _FlowPiece(NamedTuple):
    offset: int
    line: int
    start: int
    length: int


def is_continued(strip: Strip) -> bool:
    """Whether a line continues with the one above it."""
    return any(read_mark(style).joint is not None for _, style, _ in strip)


class Flow:
    """Text of lines without decoration; lines that were broken apart are one again. Lines count from `first`.

    `clip` answers which characters of a line to take, as `Selection.get_span` does: -1 is its end, None none.
    """

    def __init__(
        self,
        strips: Sequence[Strip],
        first: int = 0,
        clip: Callable[[int], tuple[int, int] | None] = lambda line: (0, -1),
    ) -> None:
        self._pieces: list[_FlowPiece] = []
        self._offsets: list[int] = []
        parts: list[str] = []
        length = 0
        for line, strip in enumerate(strips, first):
            joint, pieces = _read_text(strip, clip(line))
            lead = "" if line == first else "\n" if joint is None else joint
            parts.append(lead)
            length += len(lead)
            for start, text in pieces:
                if start >= 0:
                    self._pieces.append(_FlowPiece(length, line, start, len(text)))
                    self._offsets.append(length)
                parts.append(text)
                length += len(text)
        self.text = "".join(parts)

    def find_spans(self, start: int, end: int) -> list[TextSpan]:
        """Where the text from `start` up to `end` is drawn."""
        spans: list[TextSpan] = []
        place = max(bisect_right(self._offsets, start) - 1, 0)
        for piece in self._pieces[place:]:
            if piece.offset >= end:
                break
            first, last = max(start - piece.offset, 0), min(end - piece.offset, piece.length)
            if first < last:
                spans.append(TextSpan(piece.line, piece.start + first, piece.start + last))
        return spans

    def find_offset(self, line: int, column: int) -> int | None:
        """Where in the text the character at a column of a line is; None for decoration and beyond the end."""
        for piece in self._pieces:
            if piece.line == line and piece.start <= column < piece.start + piece.length:
                return piece.offset + column - piece.start
        return None


def _read_text(strip: Strip, clip: tuple[int, int] | None) -> tuple[str | None, list[tuple[int, str]]]:
    """How the line is joined to the one above, and its pieces of text with their places; -1: it has none."""
    joint: str | None = None
    pieces: list[tuple[int, str]] = []
    if clip is None:
        return joint, pieces
    first, last = clip
    at, after_aside = 0, False
    for text, style, _ in strip:
        mark = read_mark(style)
        if mark.joint is not None:
            joint, pieces, after_aside = mark.joint, [], False
        start, end = max(first - at, 0), len(text) if last < 0 else min(last - at, len(text))
        if start < end:
            if mark.aside:
                after_aside = True
            else:
                if after_aside and pieces:
                    pieces.append((-1, _BETWEEN))
                pieces.append((at + start, text[start:end]))
                after_aside = False
        at += len(text)
    while pieces and not pieces[-1][1].rstrip():
        pieces.pop()
    if pieces:
        start, text = pieces[-1]
        pieces[-1] = (start, text.rstrip())
    return joint, pieces
