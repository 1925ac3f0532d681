"""What an edit does to a file: numbered lines with signs, what changed within them emphasised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import Call, Kept
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import collapse_blanks, make_printable
from quorum.tui.transcript.cells.lines import build_strip
from quorum.tui.transcript.cells.marks import ASIDE
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.kinds import plain
from quorum.tui.transcript.kinds.code import colour_lines, put_on_tint
from quorum.tui.transcript.kinds.hunks import Hunk, HunkLine, parse_hunks
from quorum.tui.transcript.kinds.part import MOST_LINES, Part, Run, wrap_runs

TELLS = frozenset({"old_text", "new_text", "edits", "content", "patch"})

_FOLDED = 12
_EMPHASIS = Style(bold=True, underline=True)


def summarise(call: Call, output: Kept) -> str:
    """How many lines are added and removed."""
    if call.diff is None:
        return plain.summarise(call, output)
    added, removed = parse_hunks(call.diff).counts
    return f"+{added} −{removed}"


def draw_folded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """Nothing: the diff says it."""
    return Part()


def draw_unfolded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """What the tool says of it."""
    return plain.draw_unfolded(call, output, width, palette)


def draw_diff(diff: str, width: int, palette: Palette, *, most: int | None = None) -> list[Strip]:
    """The hunks of a diff on at most so many lines; the name of a single file is left to whoever draws it."""
    whole = parse_hunks(diff)
    part = Part(room=most if most is not None else MOST_LINES * 100)
    digits = max((len(str(line.number)) for hunk in whole.hunks for line in hunk.lines), default=1)
    several = len({hunk.path for hunk in whole.hunks}) > 1
    former: str | None = None
    for place, hunk in enumerate(whole.hunks):
        if several and hunk.path != former:
            part.add([build_strip((make_printable(hunk.path, newlines=False), palette.muted + ASIDE))])
        elif place:
            part.add([build_strip((" " * digits + " ⋯", palette.muted + ASIDE))])
        if part.is_full:
            return part.strips
        former = hunk.path
        for line, runs in zip(hunk.lines, _colour_hunk(hunk, hunk.path, palette), strict=True):
            part.add(_draw_line(line, runs, digits, width, palette))
            if part.is_full:
                return part.strips
    return part.strips


def draw_folded_diff(diff: str, width: int, palette: Palette) -> list[Strip]:
    """The beginning of a diff, and how much more of it there is."""
    whole = parse_hunks(diff)
    lines = sum(len(hunk.lines) for hunk in whole.hunks)
    strips = draw_diff(diff, width, palette, most=_FOLDED + 2)
    # A fold that hides a single line would take that line's place itself.
    if len(strips) <= _FOLDED + 1:
        return strips
    strips = strips[:_FOLDED]
    left = max(lines - _FOLDED, 1)
    hunks = f" · {len(whole.hunks)} places in all" if len(whole.hunks) > 1 else ""
    return [*strips, build_strip((f"… {format_amount(left, 'line')} more{hunks}", palette.muted))]


def _colour_hunk(hunk: Hunk, path: str, palette: Palette) -> Iterator[Sequence[Run] | None]:
    """For each line its runs in the colours of its language, where those are to be had."""
    texts = [_clean_text(line.text) for line in hunk.lines]
    sides = {}
    for sign in "-+":
        side = [place for place, line in enumerate(hunk.lines) if line.sign in (sign, " ")]
        is_part = bool(side) and hunk.lines[side[0]].number > 1
        runs = colour_lines([texts[place] for place in side], path, dark=palette.dark, is_part=is_part)
        sides[sign] = dict(zip(side, runs, strict=True)) if runs is not None else {}
    for place, line in enumerate(hunk.lines):
        yield sides["-" if line.sign == "-" else "+"].get(place)


def _draw_line(
    line: HunkLine, runs: Sequence[Run] | None, digits: int, width: int, palette: Palette
) -> Iterator[Strip]:
    if line.sign == "\\":
        yield from wrap_runs(
            [(make_printable(line.text, newlines=False), palette.muted)], width, [(" " * (digits + 3), Style())]
        )
        return
    base = {"+": palette.added, "-": palette.removed}.get(line.sign, Style())
    text = _clean_text(line.text)
    # Where the ground has no colour, as in the ansi themes, that of the text is what tells a changed line.
    is_plain = base.bgcolor is not None and base.bgcolor.is_default
    if runs is None or is_plain:
        runs = [(text, base)]
    elif base:
        runs = [(piece, base + put_on_tint(style)) for piece, style in runs]
    if line.changed and text == line.text:  # else places in the one are not places in the other
        runs = _emphasise(runs, line.changed)
    lead, sign = f"{line.number:>{digits}} ", line.sign
    for strip in wrap_runs(runs, width - digits - 3):
        body = Strip([*build_strip((f"{sign} ", base)), *strip])
        fill = build_strip((" " * (width - digits - 1 - body.cell_length), base))
        yield Strip([*build_strip((lead, palette.muted + ASIDE)), *body, *fill])
        lead, sign = " " * (digits + 1), " " if sign == " " else sign


def _clean_text(text: str) -> str:
    return collapse_blanks(make_printable(text, newlines=False))


def _emphasise(runs: Sequence[Run], spans: Sequence[tuple[int, int]]) -> list[Run]:
    result: list[Run] = []
    place = 0
    for text, style in runs:
        cuts = sorted({0, len(text), *(min(max(cut - place, 0), len(text)) for span in spans for cut in span)})
        for start, end in pairwise(cuts):
            inside = any(low <= place + start < high for low, high in spans)
            result.append((text[start:end], style + _EMPHASIS if inside else style))
        place += len(text)
    return result
