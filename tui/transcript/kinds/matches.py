"""The matches of a search: grouped by file, each with its line, what matched emphasised."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import Call, Kept
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.cells.lines import build_strip, fit_text
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.kinds import plain
from quorum.tui.transcript.kinds.plain import Part, Run, wrap_runs
from quorum.tui.transcript.kinds.source import draw_sentence

TELLS: frozenset[str] = frozenset()

_MATCH = re.compile(r"(.+?):(\d{1,12}):(.*)")
_AROUND = re.compile(r"-(\d{1,12})-")
_COUNTED = re.compile(r"\[(\d{1,12} match(?:es)?) in (\d{1,12}) of ")
_FIRST = re.compile(r"\[the first (\d{1,12}) matches")
_NONE = re.compile(r"\[no match in \d+ files?\]")
_NOTES = 4
_LONGEST_NAME = 40
_LONGEST_PATTERN = 400
_MOST_LINES = 10_000


class MatchedLine(Struct, frozen=True):
    """One line of a file; `matches` says whether it is a match or stands beside one."""

    path: str
    number: int
    text: str
    matches: bool


def summarise(call: Call, output: Kept) -> str:
    """How many matches in how many files."""
    for line in plain.select_last_lines(output, _NOTES):
        if counted := _COUNTED.match(line):
            return f"{counted[1]} · {format_amount(int(counted[2]), 'file')}"
        if first := _FIRST.match(line):
            return f"the first {first[1]} matches"
        if _NONE.match(line):
            return "no match"
    return plain.summarise(call, output)


def draw_folded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """The files on one line, each with its number of matches."""
    part = Part()
    counts = _count_by_file(_parse_matches(output.head))
    if not counts:
        return part if summarise(call, output) == "no match" else draw_sentence(output, width, palette)
    text, left = "", len(counts)
    for path, count in counts.items():
        name = fit_text(make_printable(path, newlines=False), _LONGEST_NAME)
        further = f"{text} · {name} {count}" if text else f"{name} {count}"
        if text and cell_len(further) > width - len(f" · … {left} more"):
            text += f" · … {left} more"
            break
        text, left = further, left - 1
    part.add([build_strip((fit_text(text, width), palette.muted))])
    return part


def draw_unfolded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """A heading for each file, and below it its lines with their numbers."""
    part = Part()
    hits = _parse_matches(output.head)
    counts = _count_by_file(hits)
    if not counts:
        return plain.draw_unfolded(call, output, width, palette)
    spots = _build_spotter(call.arguments)
    digits = max(len(str(hit.number)) for hit in hits if isinstance(hit, MatchedLine))
    path, drawn = "", 0
    for hit in hits:
        strips: Iterable[Strip]
        if isinstance(hit, str):
            strips = wrap_runs([(make_printable(hit, newlines=False), palette.muted)], width)
        else:
            strips = _draw_line(hit, digits, width, palette, spots)
            if hit.path != path:
                path = hit.path
                strips = chain(_draw_heading(path, counts[path], width, palette), strips)
        if not part.add(strips):
            break
        drawn += 1
    if drawn < len(hits) or output.tail:
        part.rest = f"{format_amount(max(output.lines - drawn, 1), 'line')} more"
    return part


def _draw_heading(path: str, count: int, width: int, palette: Palette) -> Iterator[Strip]:
    text = f"  {count:,} match" + ("" if count == 1 else "es")
    name: Run = (make_printable(path, newlines=False), palette.accent + Style(bold=True))
    return wrap_runs([name, (text, palette.muted)], width)


def _draw_line(
    hit: MatchedLine,
    digits: int,
    width: int,
    palette: Palette,
    spots: Callable[[str], Sequence[tuple[int, int]]],
) -> Iterator[Strip]:
    sign = ":" if hit.matches else "-"
    lead: list[Run] = [(f"{hit.number:>{digits + 2}}{sign} ", palette.muted)]
    text = make_printable(hit.text, newlines=False)
    if not hit.matches:
        return wrap_runs([(text, palette.muted)], width, lead, " " * (digits + 4))
    runs: list[Run] = []
    place = 0
    for start, end in spots(text):
        runs += [
            (text[place:start], Style()),
            (text[start:end], palette.accent + Style(bold=True, underline=True)),
        ]
        place = end
    runs.append((text[place:], Style()))
    return wrap_runs([run for run in runs if run[0]] or [("", Style())], width, lead, " " * (digits + 4))


def _count_by_file(hits: Iterable[MatchedLine | str]) -> Counter[str]:
    return Counter(hit.path for hit in hits if isinstance(hit, MatchedLine) and hit.matches)


@lru_cache(maxsize=16)
def _parse_matches(text: str) -> tuple[MatchedLine | str, ...]:
    """The lines as `path:line:text`, those around them as `path-line-text`, and all others as they are.

    Either may look like the other: a line belongs to the file that others belong to as well.
    """
    lines = list(islice(plain.iterate_lines(text), _MOST_LINES))
    found = [_MATCH.fullmatch(line) for line in lines]
    paths = {match[1] for match in found if match is not None}
    hits: list[MatchedLine | str] = []
    path = ""
    for line, match in zip(lines, found, strict=True):
        hit = _find_beside(line, path, paths) or (
            MatchedLine(match[1], int(match[2]), match[3], True) if match is not None else line
        )
        if isinstance(hit, MatchedLine):
            path = hit.path
        if hit != "--":
            hits.append(hit)
    return tuple(hits)


def _find_beside(line: str, path: str, paths: Collection[str]) -> MatchedLine | None:
    """The line as one that stands beside a match, of the file before it or of one that has matches."""
    for around in _AROUND.finditer(line):
        name = line[: around.start()]
        if name in paths and not line.startswith(f"{path}:"):
            return MatchedLine(name, int(around[1]), line[around.end() :], False)
    return None


def _build_spotter(arguments: JsonObject) -> Callable[[str], Sequence[tuple[int, int]]]:
    """Finds where a line matches; nowhere where the pattern is none.

    The engine is that of the search: with another one a pattern could take for ever.
    """
    pattern = arguments.get("pattern")
    if not isinstance(pattern, str) or not 0 < len(pattern) <= _LONGEST_PATTERN:
        return lambda _text: ()
    import re2

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = arguments.get("case_insensitive") is not True
    try:
        compiled = re2.compile(pattern, options)
    except re2.error:
        return lambda _text: ()

    def find_spots(text: str) -> Sequence[tuple[int, int]]:
        return [match.span() for match in compiled.finditer(text) if match.end() > match.start()]

    return find_spots
