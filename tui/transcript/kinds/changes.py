"""What an edit does to a file: numbered lines with signs, what changed within them emphasised.

A unified diff taken apart: its hunks, the numbers of its lines, and what differs within a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import Call, Kept
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import collapse_blanks, make_printable
from quorum.domain.text.unified_diff import parse_diff
from quorum.tui.transcript.cells.lines import ASIDE, build_strip
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.kinds import plain
from quorum.tui.transcript.kinds.plain import MOST_LINES, Part, Run, wrap_runs
from quorum.tui.transcript.kinds.source import colour_lines, put_on_tint

_NAME = re.compile(r"(?:--- a|\+\+\+ b)/(.+)")
_WORD = re.compile(r"\w+|\s+|.")
# Lines that share less than this are not one line changed, but another line.
_LEAST_ALIKE = 0.5
_LONGEST_COMPARED = 400
_MOST_COMPARED = 300


class HunkLine(NamedTuple):
    """One line. `number` is that in the old file for removed ones, else in the new one; 0 where it has none.

    `sign` is "+", "-", " " or, for what is said about a line, "\\\\"; `changed` are the spans of the text that
    differ from the line it took the place of, or that took its place.
    """

    sign: str
    number: int
    text: str
    changed: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that follow each other. `path` is the file they are of, empty where the diff does not say."""

    lines: tuple[HunkLine, ...]
    path: str = ""


@dataclass(frozen=True, slots=True)
class Diff:
    """All of it. `path` is the file as it is called in the end; empty where the diff does not say."""

    hunks: tuple[Hunk, ...]
    path: str

    @property
    def counts(self) -> tuple[int, int]:
        """How many lines are added and removed."""
        signs = [line.sign for hunk in self.hunks for line in hunk.lines]
        return signs.count("+"), signs.count("-")


@lru_cache(maxsize=32)
def parse_hunks(diff: str) -> Diff:
    """The hunks of a diff. What is no part of one is left to whoever knows the names of the files."""
    groups: list[list[HunkLine]] = []
    paths: list[str] = []
    path = ""
    for line in parse_diff(diff):
        if line.sign == "@":
            groups.append([])
            paths.append(path)
        elif line.sign:
            number = line.old if line.sign == "-" else line.new
            groups[-1].append(HunkLine(line.sign, number or 0, line.text))
        elif line.text.startswith("\\") and groups and groups[-1]:
            groups[-1].append(HunkLine("\\", 0, line.text[1:].strip()))
        elif name := _NAME.match(line.text):
            path = name[1]
    hunks: list[Hunk] = []
    left = _MOST_COMPARED
    for lines, of_file in zip(groups, paths, strict=True):
        if not lines:
            continue
        # Far down nobody looks for single words, and comparing them takes longer than all else.
        hunks.append(Hunk((*_emphasise(lines[:left]), *lines[left:]), of_file))
        left = max(0, left - len(lines))
    return Diff(tuple(hunks), path)


def _emphasise(lines: Sequence[HunkLine]) -> Iterator[HunkLine]:
    """The lines, with what changed within those that took each other's place."""
    place = 0
    while place < len(lines):
        removed = _run(lines, place, "-")
        added = _run(lines, place + len(removed), "+")
        if len(removed) == len(added):
            pairs = [_compare(*pair) for pair in zip(removed, added, strict=True)]
            yield from (old for old, _ in pairs)
            yield from (new for _, new in pairs)
        else:
            yield from (*removed, *added)
        place += len(removed) + len(added)
        if not removed and not added:
            yield lines[place]
            place += 1


def _run(lines: Sequence[HunkLine], start: int, sign: str) -> Sequence[HunkLine]:
    end = start
    while end < len(lines) and lines[end].sign == sign:
        end += 1
    return lines[start:end]


def _compare(old: HunkLine, new: HunkLine) -> tuple[HunkLine, HunkLine]:
    if max(len(old.text), len(new.text)) > _LONGEST_COMPARED:
        return old, new
    before, after = _WORD.findall(old.text), _WORD.findall(new.text)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _LEAST_ALIKE:
        return old, new
    steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    return (
        old._replace(changed=_find_spans(before, [(low, high) for _, low, high, _, _ in steps])),
        new._replace(changed=_find_spans(after, [(low, high) for _, _, _, low, high in steps])),
    )


def _find_spans(words: Sequence[str], ranges: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return tuple((starts[low], starts[high]) for low, high in ranges if low < high)


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
        runs = _emphasise_words(runs, line.changed)
    lead, sign = f"{line.number:>{digits}} ", line.sign
    for strip in wrap_runs(runs, width - digits - 3):
        body = Strip([*build_strip((f"{sign} ", base)), *strip])
        fill = build_strip((" " * (width - digits - 1 - body.cell_length), base))
        yield Strip([*build_strip((lead, palette.muted + ASIDE)), *body, *fill])
        lead, sign = " " * (digits + 1), " " if sign == " " else sign


def _clean_text(text: str) -> str:
    return collapse_blanks(make_printable(text, newlines=False))


def _emphasise_words(runs: Sequence[Run], spans: Sequence[tuple[int, int]]) -> list[Run]:
    result: list[Run] = []
    place = 0
    for text, style in runs:
        cuts = sorted({0, len(text), *(min(max(cut - place, 0), len(text)) for span in spans for cut in span)})
        for start, end in pairwise(cuts):
            inside = any(low <= place + start < high for low, high in spans)
            result.append((text[start:end], style + _EMPHASIS if inside else style))
        place += len(text)
    return result
