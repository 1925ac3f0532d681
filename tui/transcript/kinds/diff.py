"""How a diff is drawn, on every screen: numbered lines with signs, what changed within them emphasised.

The names of a single file and the headings of hunks are left out: titles and numbers say the same. Of several
files each keeps its name, and where lines are left out between hunks, that is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache, partial
from itertools import groupby, islice, pairwise, zip_longest
from typing import NamedTuple

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import Call, Kept
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import collapse_blanks
from quorum.domain.text.unified_diff import NO_FILE, DiffLine, DiffNames, count_changes, parse_diff
from quorum.tui.transcript.cells.lines import ASIDE, build_strip
from quorum.tui.transcript.cells.palette import EMPHASIS, Palette
from quorum.tui.transcript.kinds import plain
from quorum.tui.transcript.kinds.plain import MOST_LINES, Part, Run, draw_folded_more, wrap_runs
from quorum.tui.transcript.kinds.rows import (
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
from quorum.tui.transcript.kinds.source import LazyCode, put_on_tint

SIDE_BY_SIDE_FROM = 140
"""The width, in cells, from which a review draws a diff that removes and adds lines in two columns."""

_KINDS = {"+": LineKind.ADDED, "-": LineKind.REMOVED, " ": LineKind.CONTEXT}
_TELLING = ("binary before:", "binary after:", "encoding:")
_GAP, _SPOKEN_GAP = "⋯", "lines are left out here"
_SPOKEN_SIGNS = {"+": "added", "-": "removed", " ": "unchanged"}
_TRAILING = re.compile(r" +$")
_WORD = re.compile(r"\w+|\s+|.")
# Lines that share less than this are not one line changed, but another line.
_LEAST_ALIKE = 0.5
_LONGEST_COMPARED = 400
_MOST_COMPARED = 300


class DrawnLine(NamedTuple):
    """What is drawn for the line of a diff at this `place`, counted from 0; for no line of it, at None.

    `changed` are the spans of its text that differ from the line it took the place of, or that took its place.
    A line without a number begins in the column `indent` behind the numbers, or at the margin.
    """

    line: DiffLine
    kind: LineKind
    place: int | None = None
    changed: Sequence[Span] = ()
    code: CodeLine | None = None
    indent: int | None = None

    def render_text(self, *, shows_blanks: bool) -> str:
        """Its text, safe to draw; it may be seen which blanks a changed line has."""
        return self._clean(self.line.text, shows_blanks=shows_blanks)

    def place_spans(self, spans: Sequence[Span], *, shows_blanks: bool) -> Sequence[Span]:
        """Spans of the text as spans of what is drawn for it."""
        return place_spans(spans, self.line.text, partial(self._clean, shows_blanks=shows_blanks))

    def _clean(self, text: str, *, shows_blanks: bool) -> str:
        if self.line.sign not in ("+", "-"):
            return clean_line(text)
        if shows_blanks:
            text = _TRAILING.sub(lambda match: "·" * len(match[0]), collapse_blanks(text))
        # A tab of a changed line takes four cells wherever it stands.
        return clean_line(collapse_blanks(text).replace("\t", "→   " if shows_blanks else "    "))


class DrawnDiff(NamedTuple):
    """The lines that are drawn, how many digits their numbers have, and how many hunks there are."""

    lines: tuple[DrawnLine, ...]
    digits: int
    hunks: int


@lru_cache(maxsize=32)
def parse_lines(diff: str) -> tuple[DiffLine, ...]:
    """The lines of a diff, kept: title and text are made from the same ones."""
    return tuple(parse_diff(diff))


def count_files(diff: str) -> int:
    """How many files a diff names."""
    return len(_find_names(parse_lines(diff)))


def format_counts(diff: str, *, spoken: bool = False) -> str:
    """How many lines a diff adds and removes, as `+3 −1` or in words; empty where it has none."""
    added, removed = count_changes(diff)
    return word_counts(added, removed, spoken=spoken) if added or removed else ""


def word_counts(added: int, removed: int, *, spoken: bool = False) -> str:
    """The same of numbers that are known."""
    if spoken:
        return f"{format_amount(added, 'line')} added, {removed:,} removed"
    return f"+{added:,} −{removed:,}"


# -- which lines are drawn ------------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def _read_diff(diff: str, path: str) -> DrawnDiff:
    """The lines with their syntax. Kept, for they are drawn again and again.

    Both sides are read as the code they are, hunk by hunk; unchanged lines are coloured as the new side.
    """
    lines = parse_lines(diff)
    drawn = [DrawnLine(line, _choose_kind(line), place) for place, line in enumerate(lines)]
    left = _MOST_COMPARED
    hunks = [*_list_hunks(lines)]
    for hunk in hunks:
        # Far down nobody looks for single words, and comparing them takes longer than all else.
        for place, changed in _find_changes([*islice(((n, lines[n]) for n in hunk), left)]):
            drawn[place] = drawn[place]._replace(changed=changed)
        left = max(0, left - len(hunk))
        for signs in ("- ", "+ "):
            side = [place for place in hunk if lines[place].sign in signs]
            first = lines[side[0]] if side else None
            is_part = first is not None and max(first.old or 0, first.new or 0) > 1
            code = LazyCode(
                partial(_list_texts, [drawn[place] for place in side]),
                lines[hunk[0]].path or path,
                is_part=is_part,
            )
            for number, place in enumerate(side):
                drawn[place] = drawn[place]._replace(code=CodeLine(code, number))
    digits = len(str(max((line.old or line.new or 0 for line in lines), default=0)))
    shown = tuple(_drop_headings(_drop_blank_edges(drawn), _find_names(lines)))
    return DrawnDiff(shown, digits, len(hunks))


def _choose_kind(line: DiffLine) -> LineKind:
    if line.sign or not line.text.startswith((*_TELLING, "diff --git ")):
        return _KINDS.get(line.sign, LineKind.QUIET)
    return LineKind.WARNING if line.text.startswith(_TELLING) else LineKind.HUNK


def _list_hunks(lines: Sequence[DiffLine]) -> Iterator[list[int]]:
    """The places of the lines of each hunk, without its heading."""
    begins = [place for place, line in enumerate(lines) if line.sign == "@"]
    for begin, end in pairwise([*begins, len(lines)]):
        if hunk := [place for place in range(begin + 1, end) if lines[place].sign]:
            yield hunk


def _list_texts(lines: Sequence[DrawnLine]) -> list[str]:
    return [drawn.render_text(shows_blanks=False) for drawn in lines]


def _find_names(lines: Sequence[DiffLine]) -> Mapping[int, DiffNames]:
    """Where the names of a file stand, in this line and the next one, and what they are."""
    known: DiffNames | None = None
    found = {}
    for place, line in enumerate(lines):
        if line.names is not None and line.names is not known:
            found[place] = line.names
        known = line.names
    return found


def _drop_headings(lines: Sequence[DrawnLine], names: Mapping[int, DiffNames]) -> Iterator[DrawnLine]:
    of_git, after_a_hunk = "", False
    for drawn in lines:
        place, sign, text = drawn.place or 0, drawn.line.sign, drawn.line.text
        if (name := names.get(place)) is not None:
            # A line of git above them that names the same file is drawn.
            if not of_git.endswith(f"/{name.strip_prefixes().path}") if of_git else len(names) > 1:
                yield DrawnLine(DiffLine("", _describe_names(name)), LineKind.HUNK)
            of_git, after_a_hunk = "", False
        elif sign == "@":
            if after_a_hunk:
                yield DrawnLine(DiffLine("", _GAP), LineKind.QUIET, indent=0)
        elif not sign and text.startswith("\\"):  # said of the line above
            yield drawn._replace(line=DiffLine("", text[1:].strip()), indent=2)
        elif place - 1 not in names:
            yield drawn
            of_git = text if drawn.kind is LineKind.HUNK else of_git
            after_a_hunk = bool(sign) or (after_a_hunk and drawn.kind is not LineKind.HUNK)


def _describe_names(names: DiffNames) -> str:
    old, new = names.strip_prefixes()
    if old == NO_FILE:
        return f"{new} (new)"
    if new == NO_FILE:
        return f"{old} (deleted)"
    return new if old == new else f"{new} (renamed from {old})"


def _drop_blank_edges(lines: Sequence[DrawnLine]) -> Sequence[DrawnLine]:
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


# -- what changed within a line -------------------------------------------------------------------------------


def _find_changes(lines: Sequence[tuple[int, DiffLine]]) -> Iterator[tuple[int, Sequence[Span]]]:
    """The places of lines that took each other's place, with the spans in which they differ."""
    removed: list[tuple[int, DiffLine]] = []
    for sign, group in groupby(lines, lambda line: line[1].sign):
        run = list(group)
        if sign == "+" and len(run) == len(removed):
            for (old_place, old), (new_place, new) in zip(removed, run, strict=True):
                old_spans, new_spans = _compare(old.text, new.text)
                yield old_place, old_spans
                yield new_place, new_spans
        removed = run if sign == "-" else []


def _compare(old: str, new: str) -> tuple[Sequence[Span], Sequence[Span]]:
    if max(len(old), len(new)) > _LONGEST_COMPARED:
        return (), ()
    before, after = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _LEAST_ALIKE:
        return (), ()
    steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    return (
        _find_spans(before, [(low, high) for _, low, high, _, _ in steps]),
        _find_spans(after, [(low, high) for _, _, _, low, high in steps]),
    )


def _find_spans(words: Sequence[str], ranges: Sequence[tuple[int, int]]) -> tuple[Span, ...]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return tuple(Span(starts[low], starts[high]) for low, high in ranges if low < high)


# -- rows of reviews and of cards -----------------------------------------------------------------------------


def render_diff(
    diff: str,
    width: int,
    *,
    path: str = "",
    objected: Sequence[Sequence[Span]] | None = None,
    spoken: bool = False,
) -> list[Row]:
    """All of a diff as rows. `path` is the file it is of, where it does not say; `objected` has the spans of
    each of its lines that a reviewer objects to; `spoken`: words stand for signs and columns."""
    shown = _read_diff(diff, path)
    build = partial(_build_line, digits=shown.digits, objected=objected or ())
    if spoken:
        return fold((_put_in_words(drawn, build(drawn)) for drawn in shown.lines), width)
    if width >= SIDE_BY_SIDE_FROM and {drawn.line.sign for drawn in shown.lines} >= {"+", "-"}:
        return _render_side_by_side(shown, width, build)  # else one column would be empty
    return fold(map(build, shown.lines), width)


def build_diff_lines(diff: str, *, has_numbers: bool = True, spoken: bool = False) -> list[Line]:
    """The same as lines, for a card that has more of them; numbers may be of no use there."""
    shown = _read_diff(diff, "")
    lines = [(drawn, _build_line(drawn, digits=shown.digits if has_numbers else None)) for drawn in shown.lines]
    return [_put_in_words(*each, has_number=has_numbers) if spoken else each[1] for each in lines]


def _build_line(
    drawn: DrawnLine,
    *,
    digits: int | None,
    number: int | None = None,
    objected: Sequence[Sequence[Span]] = (),
) -> Line:
    """The line; `number` is drawn in the place of its own one."""
    text, kind = drawn.render_text(shows_blanks=True), drawn.kind
    if drawn.line.sign == "":
        return Line(_indent(drawn, digits), text, kind, is_code=True)
    spans = objected[drawn.place] if objected and drawn.place is not None else ()
    return Line(
        f"{_format_number(drawn, digits, number)}{drawn.line.sign} ",
        text,
        kind,
        LineKind.QUIET if kind is LineKind.CONTEXT else kind,
        drawn.place_spans(spans, shows_blanks=True),
        is_code=True,
        code=drawn.code,
        changed=drawn.place_spans(drawn.changed, shows_blanks=True),
    )


def _put_in_words(drawn: DrawnLine, line: Line, *, has_number: bool = True) -> Line:
    """The same line, what its number, sign and columns tell said in words."""
    if drawn.line.sign not in _SPOKEN_SIGNS:
        said = line.text.replace(" → ", " to ")  # of modes, sizes and targets of links
        return line._replace(head="", text=_SPOKEN_GAP if drawn.line.text == _GAP else said)
    number = drawn.line.old if drawn.line.sign == "-" else drawn.line.new
    words = f"line {number or 0} " if has_number else ""
    return line._replace(head=f"{words}{_SPOKEN_SIGNS[drawn.line.sign]}: ")


def _format_number(drawn: DrawnLine, digits: int | None, number: int | None = None) -> str:
    own = drawn.line.old if drawn.line.sign == "-" else drawn.line.new
    return "" if digits is None else f"{number or own or 0:>{digits}} "


def _indent(drawn: DrawnLine, digits: int | None) -> str:
    return "" if drawn.indent is None else " " * (drawn.indent + (0 if digits is None else digits + 1))


def _render_side_by_side(shown: DrawnDiff, width: int, build: Callable[..., Line]) -> list[Row]:
    half = (width - 3) // 2
    empty: Row = (StyledPart(" " * half, LineKind.PLAIN),)
    rows: list[Row] = []
    for left, right in _pair_lines(shown.lines):
        if left is right and left is not None and not left.line.sign:
            rows += fold([build(left)], width)
            continue
        lefts = _fill(fold([build(left, number=left.line.old)], half), half) if left else []
        rights = _fill(fold([build(right, number=right.line.new)], half), half) if right else []
        for one, other in zip_longest(lefts, rights, fillvalue=empty):
            rows.append((*one, StyledPart(" │ ", LineKind.QUIET), *other))
    return rows


def _pair_lines(lines: Sequence[DrawnLine]) -> Iterator[tuple[DrawnLine | None, DrawnLine | None]]:
    """The lines as they stand side by side: what was on the left, what comes on the right."""
    removed: list[DrawnLine] = []
    added: list[DrawnLine] = []
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


def _fill(rows: Sequence[Row], width: int) -> list[Row]:
    filled = (width - sum(cell_len(part.text) for part in row) for row in rows)
    return [(*row, StyledPart(" " * rest, row[-1].kind)) for row, rest in zip(rows, filled, strict=True)]


# -- the transcript -------------------------------------------------------------------------------------------

TELLS = frozenset({"old_text", "new_text", "edits", "content", "patch"})

_FOLDED = 12


def summarise(call: Call, output: Kept) -> str:
    """How many lines are added and removed."""
    if call.diff is None:
        return plain.summarise(call, output)
    return format_counts(call.diff)


def draw_folded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """Nothing: the diff says it."""
    return Part()


def draw_unfolded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """What the tool says of it."""
    return plain.draw_unfolded(call, output, width, palette)


def draw_diff(diff: str, width: int, palette: Palette, *, most: int | None = None) -> list[Strip]:
    """The diff on at most so many lines."""
    if palette.screen_reader:
        rows = fold(build_diff_lines(diff, spoken=True), width)
        return [build_strip(*((part.text, Style()) for part in row)) for row in rows[:most]]
    shown = _read_diff(diff, "")
    part = Part(room=most if most is not None else MOST_LINES * 100)
    for drawn in shown.lines:
        part.add(_draw_line(drawn, shown.digits, width, palette))
        if part.is_full:
            break
    return part.strips


def draw_folded_diff(diff: str, width: int, palette: Palette) -> list[Strip]:
    """The beginning of a diff, and how much more of it there is."""
    strips = draw_diff(diff, width, palette, most=_FOLDED + 2)
    # A fold that hides a single line would take that line's place itself.
    if len(strips) <= _FOLDED + 1:
        return strips
    shown = _read_diff(diff, "")
    left = max(len(shown.lines) - _FOLDED, 1)
    hunks = f" · {shown.hunks} places in all" if shown.hunks > 1 else ""
    return [
        *strips[:_FOLDED],
        draw_folded_more(left, f"more{hunks}", palette),
    ]


def _draw_line(drawn: DrawnLine, digits: int, width: int, palette: Palette) -> Iterator[Strip]:
    text = drawn.render_text(shows_blanks=False)  # it may be copied
    base = _choose_style(drawn.kind, palette)
    if drawn.line.sign == "":
        yield from wrap_runs([(text, base)], width, [(_indent(drawn, digits), Style())])
        return
    # Where the ground has no colour, as in the ansi themes, that of the text is what tells a changed line.
    is_plain = base.bgcolor is not None and base.bgcolor.is_default
    runs: Sequence[Run] | None = None
    if drawn.code is not None and not is_plain:
        runs = drawn.code.code.lex_line(drawn.code.number, dark=palette.dark)
    runs = [(piece, base + put_on_tint(style) if base else style) for piece, style in runs or ()]
    runs = _emphasise(runs or [(text, base)], drawn.place_spans(drawn.changed, shows_blanks=False))
    lead, sign = _format_number(drawn, digits), drawn.line.sign
    for strip in wrap_runs(runs, width - digits - 3):
        body = Strip([*build_strip((f"{sign} ", base)), *strip])
        fill = build_strip((" " * (width - digits - 1 - body.cell_length), base))
        yield Strip([*build_strip((lead, palette.muted + ASIDE)), *body, *fill])
        lead = " " * (digits + 1)


def _choose_style(kind: LineKind, palette: Palette) -> Style:
    match kind:
        case LineKind.ADDED:
            return palette.added
        case LineKind.REMOVED:
            return palette.removed
        case LineKind.WARNING:
            return palette.warning
        case LineKind.HUNK:
            return palette.accent + ASIDE
        case LineKind.QUIET:
            return palette.muted + ASIDE
        case _:
            return Style()


def _emphasise(runs: Sequence[Run], spans: Sequence[Span]) -> list[Run]:
    if not spans:
        return list(runs)
    result: list[Run] = []
    place = 0
    for text, style in runs:
        cuts = sorted({0, len(text), *(min(max(cut - place, 0), len(text)) for span in spans for cut in span)})
        for start, end in pairwise(cuts):
            inside = any(low <= place + start < high for low, high in spans)
            result.append((text[start:end], style + EMPHASIS if inside else style))
        place += len(text)
    return result
