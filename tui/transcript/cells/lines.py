"""Lines of terminal cells: text cut and wrapped to a width, and the way back to it as it was before.

The way back is for copying, finding and links; nothing here opens a link. `Heights` finds where a line falls
without walking all entries.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from quorum.domain.text.printable import make_printable

ASIDE = Style(meta={"aside": True})
"""Margins, edges, fold marks, lanes, line numbers: no part of the text. Add it to the style they have."""


class Continued(str):
    """A line that continues with the one above it; `joint` is what stood where they were broken apart."""

    joint: str

    @classmethod
    def of(cls, text: str, joint: str) -> Continued:
        """The text as such a line."""
        line = cls(text)
        line.joint = joint
        return line


class Mark(NamedTuple):
    """What a style says; `joint` is None where no line continues."""

    aside: bool = False
    joint: str | None = None


_NO_MARK = Mark()


@lru_cache(256)
def mark_continuation(joint: str) -> Style:
    """The style of the first cells of a line that continues; what stands before them on it is aside."""
    return Style(meta={"joint": joint})


@lru_cache(4_096)
def read_mark(style: Style | None) -> Mark:
    """What a style says of its cells."""
    meta = style.meta if style is not None else None
    return Mark(meta.get("aside", False), meta.get("joint")) if meta else _NO_MARK


@lru_cache(4_096)
def strip_marks(style: Style) -> Style:
    """The style without marks, its link left as it is."""
    if not style.meta:
        return style
    plain = style.clear_meta_and_links()
    return plain.update_link(style.link) if style.link else plain


_WORD = re.compile(r"\s*\S+\s*")


def fit_text(text: str, width: int) -> str:
    """The text, or as much of it as fits into `width` cells with an ellipsis at its end."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text[:width], width - 1).rstrip() + "…" if width > 0 else ""


def fit_text_end(text: str, width: int) -> str:
    """The text, or as much of its end as fits into `width` cells with an ellipsis before it."""
    if cell_len(text) <= width:
        return text
    shown = text[-width:] if width > 0 else ""
    while shown and cell_len(shown) > width - 1:
        shown = shown[1:]
    return "…" + shown if width > 0 else ""


def pad_text(text: str, width: int) -> str:
    """The text filled up with spaces to `width` cells."""
    filled = text + " " * (width - cell_len(text))
    return Continued.of(filled, text.joint) if isinstance(text, Continued) else filled


def wrap_text(text: str, width: int) -> list[str]:
    """The lines of a text, broken hard wherever they are wider than `width` cells; never empty.

    A line that continues with the one before it is `Continued`.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        first, *rest = _chop(line, width)
        lines.append(first)
        for part in rest:
            lines.append(Continued.of(part, _take_trailing(first)))
            first = part
    return lines


def _chop(line: str, width: int) -> list[str]:
    width = max(width, 2)
    if line.isascii():
        return [line[at : at + width] for at in range(0, len(line), width)] or [""]
    return [line] if cell_len(line) <= width else chop_cells(line, width)


def _take_trailing(text: str) -> str:
    """The spaces at the end, which a line's end hides."""
    return text[len(text.rstrip()) :]


def wrap_words(text: str, width: int) -> list[str]:
    """The lines of a text, broken between words where that is possible; never empty.

    A line that continues with the one before it is `Continued`.
    """
    width = max(width, 2)
    lines: list[str] = []
    for line in text.split("\n"):
        first, *rest = _break_between_words(line, width)
        lines.append(first.rstrip())
        for part in rest:
            lines.append(Continued.of(part.rstrip(), _take_trailing(first)))
            first = part
    return lines


def _break_between_words(line: str, width: int) -> list[str]:
    parts: list[str] = []
    whole = ""
    for word in _WORD.findall(line):
        if whole and cell_len(whole + word.rstrip()) > width:
            parts.append(whole)
            whole = ""
        whole += word
        if cell_len(whole.rstrip()) > width:
            *broken, whole = _chop(whole, width)
            parts += broken
    return [*parts, whole]


def build_strip(*parts: tuple[str, Style]) -> Strip:
    """One line of styled parts; empty parts are left out. A `Continued` part marks the line as such."""
    return Strip([Segment(text, _mark_continued(text, style)) for text, style in parts if text])


def _mark_continued(text: str, style: Style) -> Style:
    return style + mark_continuation(text.joint) if isinstance(text, Continued) else style


def clean_program_text(text: str) -> str:
    """Output of a program, safe to draw: terminal sequences removed, other controls shown."""
    return make_printable(text, strip_ansi=True)


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


_ADDRESS = re.compile(r"\bhttps?://[^\s<>\"'`{}|\\^⟨⟩│]+", re.IGNORECASE)
_WEB = re.compile(r"https?://[^\s/]", re.IGNORECASE)
_LONGEST = 2_000
_BRACKETS = {")": "(", "]": "["}


def is_web(target: str) -> bool:
    """Whether a target is a web address, of a length that terminals bear."""
    return _WEB.match(target) is not None and len(target) <= _LONGEST and target.isprintable()


def find_target(style: Style) -> str:
    """Where a click on cells of this style leads; empty: nowhere."""
    return style.link or str(style.meta.get("target", ""))


@lru_cache(1_024)
def link_style(style: Style, target: str) -> Style:
    """The style of cells that lead there: a link of the terminal, if that is a web address."""
    if is_web(target):
        return style.update_link(target)
    return style.update_link(None) + Style(meta={"target": target})


def find_addresses(text: str) -> list[tuple[int, int]]:
    """Where web addresses stand in a text. One that was cut off is none."""
    found: list[tuple[int, int]] = []
    for match in _ADDRESS.finditer(text):
        address = _strip_punctuation(match[0])
        if is_web(address) and "…" not in address:
            found.append((match.start(), match.start() + len(address)))
    return found


def _strip_punctuation(address: str) -> str:
    """The address without what belongs to the sentence around it."""
    unopened = {last: address.count(last) - address.count(first) for last, first in _BRACKETS.items()}
    end = len(address)
    while end:
        last = address[end - 1]
        if unopened.get(last, 0) > 0:
            unopened[last] -= 1
        elif last not in ".,;:!?*_~":
            break
        end -= 1
    return address[:end]


class Links:
    """Makes links of the addresses in lines; a line that was there the last time gives the same strip again."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[list[Strip], list[Strip]]] = {}
        self._going_on: dict[int, tuple[Strip, bool]] = {}

    def link_addresses(self, strips: Sequence[Strip]) -> list[Strip]:
        """The lines, web addresses in them being links, also those that run over several lines."""
        known: dict[int, tuple[list[Strip], list[Strip]]] = {}
        linked: list[Strip] = []
        for group in self._group_lines(strips):
            before = self._known.get(id(group[0]))
            same = before is not None and [*map(id, before[0])] == [*map(id, group)]
            made = before if before is not None and same else (group, _link_group(group))
            known[id(group[0])] = made
            linked += made[1]
        self._known = known
        return linked

    def _group_lines(self, strips: Sequence[Strip]) -> list[list[Strip]]:
        """The lines, together with those that continue with them."""
        groups: list[list[Strip]] = []
        before, self._going_on = self._going_on, {}
        for strip in strips:
            known = before.get(id(strip)) or (strip, is_continued(strip))
            self._going_on[id(strip)] = known
            if groups and known[1]:
                groups[-1].append(strip)
            else:
                groups.append([strip])
        return groups


def _link_group(group: list[Strip]) -> list[Strip]:
    if not any("://" in strip.text for strip in group) and len(group) == 1:
        return group
    flow = Flow(group)
    linked = list(group)
    for start, end in find_addresses(flow.text):
        for line, first, last in flow.find_spans(start, end):
            linked[line] = _add_target(linked[line], first, last, flow.text[start:end])
    return linked


def _add_target(strip: Strip, first: int, last: int, target: str) -> Strip:
    """The line, some of its characters leading somewhere, unless they do already."""
    segments: list[Segment] = []
    at = 0
    for text, style, control in strip:
        start, end = max(first - at, 0), min(last - at, len(text))
        at += len(text)
        if start >= end or (style is not None and style.link):
            segments.append(Segment(text, style, control))
            continue
        parts = (
            (text[:start], style),
            (text[start:end], link_style(style or Style(), target)),
            (text[end:], style),
        )
        segments += [Segment(part, look) for part, look in parts if part]
    return Strip(segments, strip.cell_length)


class Heights:
    """Line counts in order. Every operation takes time logarithmic in their number (a Fenwick tree)."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._tree: list[int] = [0]

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def append(self, height: int) -> None:
        """Add an entry at the end."""
        self._heights.append(height)
        place = len(self._heights)
        self._tree.append(height + self.before(place - 1) - self.before(place - (place & -place)))

    def set(self, index: int, height: int) -> int:
        """Change one height; answers by how much it grew."""
        delta = height - self._heights[index]
        if delta:
            self._heights[index] = height
            place = index + 1
            while place < len(self._tree):
                self._tree[place] += delta
                place += place & -place
        return delta

    def before(self, index: int) -> int:
        """How many lines stand above the entry at `index`; for the number of entries: all lines."""
        total = 0
        while index:
            total += self._tree[index]
            index -= index & -index
        return total

    @property
    def total(self) -> int:
        return self.before(len(self._heights))

    def find_entry(self, line: int) -> tuple[int, int]:
        """The entry a line falls into, and the line's number within it. Raises IndexError beyond the end."""
        if not 0 <= line < self.total:
            raise IndexError(f"line {line} is outside the {self.total} lines there are")
        place = 0
        step = 1 << (len(self._heights).bit_length())
        while step:
            further = place + step
            if further < len(self._tree) and self._tree[further] <= line:
                place = further
                line -= self._tree[further]
            step >>= 1
        return place, line
