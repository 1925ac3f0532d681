"""What would run: the full command, the full diff, or all arguments of a call, as rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from hashlib import sha256
from itertools import zip_longest
from typing import NamedTuple

from rich.cells import cell_len

from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.text.printable import collapse_blanks
from quorum.domain.text.unified_diff import DiffLine
from quorum.tui.screens.review.text.objections import Quotes, find_in_diff, find_in_lines
from quorum.tui.screens.review.text.plan import draw_plan, find_plan
from quorum.tui.screens.review.text.rows import (
    CodeLine,
    Line,
    LineKind,
    Row,
    Span,
    StyledPart,
    clean_line,
    fold,
    place_spans,
)
from quorum.tui.screens.review.text.title import parse_lines
from quorum.tui.transcript.kinds.source import LazyCode

SIDE_BY_SIDE_FROM = 140
"""The width, in cells, from which a diff that removes and adds lines is drawn in two columns."""

_TEXTS = ("content", "old_text", "new_text")
_FILE = re.compile(r"(?:--- a|\+\+\+ b)/(.+)")
_BINARY = re.compile(r"binary: ([0-9]+) → ([0-9]+) bytes\n?")


def render_substance(packet: ReviewPacket, width: int, quotes: Quotes = ()) -> list[Row]:
    """What would run, in full; what the quotes say word for word is marked as objected to."""
    if (plan := find_plan(packet)) is not None:
        return fold(draw_plan(plan, quotes), width)
    if (diff := packet.seal.diff) is not None:
        if not diff:
            return fold([Line("", "the file's text stays as it is", LineKind.QUIET)], width)
        if sizes := _BINARY.fullmatch(diff):
            return fold(_render_binary(packet, int(sizes[1]), int(sizes[2])), width)
        path = next((file.path for file in packet.seal.files), "")
        lines = _mark_objections(_read_code(diff, path), quotes)
        digits, shown = _count_digits(lines), list(_drop_headings(_drop_blank_edges(lines)))
        signs = {drawn.line.sign for drawn in shown}
        if width >= SIDE_BY_SIDE_FROM and signs >= {"+", "-"}:  # else one column would be empty
            return _render_side_by_side(shown, width, digits)
        return fold(_draw_unified(shown, digits), width)
    if (command := find_command(packet)) is not None:
        lines_of_command = command.split("\n")
        marks = find_in_lines(quotes, lines_of_command)
        heads = ["$ ", *["  "] * (len(lines_of_command) - 1)]
        return fold(map(_render_command_line, heads, lines_of_command, marks), width)
    text = json.dumps(packet.call.arguments, ensure_ascii=False, indent=2).split("\n")
    return fold(map(partial(_build_plain_line, ""), text, find_in_lines(quotes, text)), width)


def find_first_objection(rows: list[Row]) -> int | None:
    """The first row in which something is objected to."""
    return next((n for n, row in enumerate(rows) if any(part.is_objected for part in row)), None)


def find_command(packet: ReviewPacket) -> str | None:
    """The command a packet would run, or None where it is no command."""
    return find_traits(packet.call.tool_name).find_command(packet.call.arguments)


def _render_command_line(head: str, text: str, marks: tuple[Span, ...]) -> Line:
    return Line(head, clean_line(text), LineKind.STRONG, objected=place_spans(marks, text, clean_line))


def _build_plain_line(head: str, text: str, marks: tuple[Span, ...]) -> Line:
    return Line(head, clean_line(text), objected=place_spans(marks, text, clean_line))


# -- files that are no text -----------------------------------------------------------------------------------


def _render_binary(packet: ReviewPacket, before: int, after: int) -> Iterator[Line]:
    texts = {name: text for name in _TEXTS if isinstance(text := packet.call.arguments.get(name), str)}
    what = (
        "sizes and hashes of the file, and the texts of the call"
        if texts
        else "only sizes and hashes can be shown"
    )
    yield Line("", f"not text: {what}", LineKind.WARNING)
    for file in packet.seal.files[:1]:
        yield Line("", "")
        known = "no file" if file.sha256 is None else f"{before:,} bytes  SHA-256 {file.sha256}"
        yield Line("before  ", known)
        content = packet.seal.projected.get(file.path)
        hashed = "" if content is None else f"  SHA-256 {sha256(content).hexdigest()}"
        yield Line("after   ", f"{after:,} bytes{hashed}")
    for name, text in texts.items():
        yield Line("", "")
        yield Line("", f"{name}:", LineKind.STRONG)
        yield from (Line("  ", clean_line(line), is_code=True) for line in text.split("\n"))


# -- diffs ----------------------------------------------------------------------------------------------------

_KINDS = {
    "+": LineKind.ADDED,
    "-": LineKind.REMOVED,
    "@": LineKind.HUNK,
    " ": LineKind.CONTEXT,
    "": LineKind.QUIET,
}
_TELLING = ("binary before:", "binary after:", "encoding:")
_GAP = "⋯"
_TRAILING = re.compile(r" +$")


class _DrawnLine(NamedTuple):
    """A line of a diff, what of its text is objected to, and where its syntax is to be had."""

    line: DiffLine
    objected: tuple[Span, ...] = ()
    code: CodeLine | None = None


def _mark_objections(lines: Sequence[_DrawnLine], quotes: Quotes) -> Sequence[_DrawnLine]:
    if not quotes:
        return lines
    marks = find_in_diff(quotes, [drawn.line for drawn in lines])
    return [drawn._replace(objected=marks[n]) for n, drawn in enumerate(lines)]


@lru_cache(maxsize=8)
def _read_code(diff: str, path: str) -> tuple[_DrawnLine, ...]:
    """The lines of a diff, with their syntax. Kept, for they are drawn again and again.

    Both sides are read as the code they are, hunk by hunk; unchanged lines are coloured as the new side.
    """
    drawn = list(map(_DrawnLine, lines := parse_lines(diff)))
    begins = [n for n, line in enumerate(lines) if line.sign == "@"]
    named = 0
    for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        # Of several files each has a heading of its own before its hunks.
        headings = (_FILE.match(line.text) for line in reversed(lines[named:begin]) if not line.sign)
        path = next((heading[1] for heading in headings if heading), path)
        named = begin
        for signs in ("- ", "+ "):
            side = [n for n in range(begin + 1, end) if lines[n].sign and lines[n].sign in signs]
            first = lines[side[0]] if side else None
            is_part = first is not None and max(first.old or 0, first.new or 0) > 1
            code = LazyCode(partial(_list_texts, [lines[n] for n in side]), path, is_part=is_part)
            for number, n in enumerate(side):
                drawn[n] = drawn[n]._replace(code=CodeLine(code, number))
    return tuple(drawn)


def _list_texts(lines: Sequence[DiffLine]) -> list[str]:
    """The lines as they are drawn, but for what makes blanks visible."""
    return [clean_line(line.text if line.sign == " " else _widen_tabs(line.text)) for line in lines]


def _drop_headings(lines: Sequence[_DrawnLine]) -> Iterator[_DrawnLine]:
    """The lines without what the title and the line numbers say: names of the file, and places of hunks.

    Of several files each keeps its name, and where lines are left out between hunks, that is drawn.
    """
    starts = {n for n in range(len(lines) - 1) if _is_heading(lines[n].line, lines[n + 1].line)}
    after_a_hunk = False
    for n, drawn in enumerate(lines):
        if n in starts:
            if len(starts) > 1:
                names = (drawn.line.text[4:], lines[n + 1].line.text[4:])
                yield _DrawnLine(DiffLine("", _name_of_file(*names)), ())
            after_a_hunk = False
        elif n - 1 in starts:
            continue
        elif drawn.line.sign != "@":
            yield drawn
            after_a_hunk |= bool(drawn.line.sign)
        elif after_a_hunk:
            yield _DrawnLine(DiffLine("@", _GAP), ())


def _drop_blank_edges(lines: Sequence[_DrawnLine]) -> Sequence[_DrawnLine]:
    """The lines without the unchanged empty ones that a hunk begins or ends with: they show no place."""
    blank = [drawn.line.sign == " " and not drawn.line.text.strip() for drawn in lines]
    in_hunk = [drawn.line.sign in ("+", "-", " ") for drawn in lines]
    is_edge = [False] * len(lines)
    for places in (range(len(lines)), reversed(range(len(lines)))):
        at_edge = True
        for n in places:
            at_edge = (at_edge and blank[n]) or not in_hunk[n]
            is_edge[n] |= at_edge and blank[n]
    return [drawn for drawn, edge in zip(lines, is_edge, strict=True) if not edge]


def count_headings(diff: str) -> int:
    """How many files a diff names."""
    return sum(map(_is_heading, parse_lines(diff), parse_lines(diff)[1:]))


def _is_heading(line: DiffLine, following: DiffLine) -> bool:
    signs = line.sign + following.sign
    return not signs and line.text.startswith("--- ") and following.text.startswith("+++ ")


def _name_of_file(before: str, after: str) -> str:
    if before == "/dev/null":
        return f"{after.removeprefix('b/')} (new)"
    if after == "/dev/null":
        return f"{before.removeprefix('a/')} (deleted)"
    old, new = before.removeprefix("a/"), after.removeprefix("b/")
    return new if old == new else f"{old} → {new}"


def _draw_line(drawn: _DrawnLine, head: str) -> Line:
    (sign, text, *_), objected, code = drawn
    kind = _KINDS[sign]
    if text.startswith(_TELLING) and not sign:
        return Line("", clean_line(text), LineKind.WARNING)
    if sign in ("@", ""):
        return Line("", clean_line(text), kind, objected=place_spans(objected, text, clean_line), is_code=True)
    draw = clean_line if sign == " " else _show_blanks
    head_kind = LineKind.QUIET if sign == " " else kind
    return Line(head, draw(text), kind, head_kind, place_spans(objected, text, draw), is_code=True, code=code)


def _show_blanks(text: str) -> str:
    """The text of a changed line: tabs, and spaces at its end are seen, for they may be the change."""
    text = _widen_tabs(text, "→")
    return clean_line(_TRAILING.sub(lambda match: "·" * len(match[0]), text))


def _widen_tabs(text: str, sign: str = " ") -> str:
    """The text with tabs as wide as they are drawn in a changed line: four cells wherever they stand."""
    return collapse_blanks(text).replace("\t", f"{sign}   ")


def _draw_unified(lines: Sequence[_DrawnLine], digits: int) -> Iterator[Line]:
    for drawn in lines:
        line = drawn.line
        number = line.old if line.sign == "-" else line.new
        yield _draw_line(drawn, f"{number:>{digits}} {line.sign} " if number is not None else "")


def _render_side_by_side(lines: Sequence[_DrawnLine], width: int, digits: int) -> list[Row]:
    half = (width - 3) // 2
    rows: list[Row] = []
    for left, right in _pair_lines(lines):
        if left is right and left is not None and left.line.sign in ("@", ""):
            rows += fold([_draw_line(left, "")], width)
            continue
        lefts = _render_half(left, left and left.line.old, digits, half)
        rights = _render_half(right, right and right.line.new, digits, half)
        for place in range(max(len(lefts), len(rights))):
            one = lefts[place] if place < len(lefts) else (StyledPart(" " * half, LineKind.PLAIN),)
            other = rights[place] if place < len(rights) else (StyledPart(" " * half, LineKind.PLAIN),)
            rows.append((*one, StyledPart(" │ ", LineKind.QUIET), *other))
    return rows


def _pair_lines(lines: Sequence[_DrawnLine]) -> Iterator[tuple[_DrawnLine | None, _DrawnLine | None]]:
    """The lines as they stand side by side: what was on the left, what comes on the right."""
    removed: list[_DrawnLine] = []
    added: list[_DrawnLine] = []
    for drawn in lines:
        sign = drawn.line.sign
        if sign == "-" and not added:
            removed.append(drawn)
        elif sign == "+":
            added.append(drawn)
        else:
            yield from zip_longest(removed, added)
            removed, added = ([drawn], []) if sign == "-" else ([], [])
            if sign != "-":
                yield drawn, drawn
    yield from zip_longest(removed, added)


def _render_half(drawn: _DrawnLine | None, number: int | None, digits: int, width: int) -> list[Row]:
    if drawn is None:
        return []
    rows = fold([_draw_line(drawn, f"{number:>{digits}} {drawn.line.sign} ")], width)
    return [(*row, StyledPart(" " * (width - _count_cells(row)), row[-1].kind)) for row in rows]


def _count_cells(row: Row) -> int:
    return sum(cell_len(part.text) for part in row)


def _count_digits(lines: Sequence[_DrawnLine]) -> int:
    return len(str(max((line.old or line.new or 0 for line, *_ in lines), default=0)))
