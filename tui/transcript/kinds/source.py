"""A page of a file: numbered lines, in the colours of its language."""

from __future__ import annotations

import re
from itertools import islice

from rich.style import Style

from quorum.application.view.entries import Call, Kept
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.cells.lines import build_strip, wrap_words
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.kinds import plain
from quorum.tui.transcript.kinds.code import colour_lines
from quorum.tui.transcript.kinds.part import Part, Run, wrap_runs

TELLS: frozenset[str] = frozenset()

_NUMBERED = re.compile(r" {0,5}(\d{1,12})\t(.*)")
_PAGE = re.compile(r"\[lines (\d{1,12})-(\d{1,12}) of (\d{1,12})[;\]]")


def summarise(call: Call, output: Kept) -> str:
    """How many lines, or which of how many."""
    last = plain.select_last_lines(output, 3)
    for line in last:
        if page := _PAGE.match(line):
            return f"lines {page[1]}–{page[2]} of {page[3]}"
    if not _NUMBERED.match(output.head):
        return plain.summarise(call, output)
    return format_amount(output.lines - sum(line.startswith("[") for line in last), "line")


def draw_folded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """Nothing: the row says it all, but for a sentence in place of a page."""
    return draw_sentence(output, width, palette) if not _NUMBERED.match(output.head) else Part()


def draw_sentence(output: Kept, width: int, palette: Palette) -> Part:
    """An output of one line, such as that there is nothing; of a longer one, nothing."""
    part = Part()
    if output.lines == 1:
        text = make_printable(output.head.strip("\n"), newlines=False)
        part.add(build_strip((line, palette.muted)) for line in wrap_words(text, width))
    return part


def draw_unfolded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """The lines with their numbers; what has none stands as it is."""
    if not _NUMBERED.match(output.head):
        return plain.draw_unfolded(call, output, width, palette)
    part = Part()
    lines = list(islice(plain.iterate_lines(output.head), part.room))
    parsed = [_NUMBERED.fullmatch(line) for line in lines]
    digits = max(len(match[1]) for match in parsed if match is not None)
    texts = [make_printable(match[2], newlines=False) for match in parsed if match is not None]
    path = call.arguments.get("path")
    is_part = next((int(match[1]) > 1 for match in parsed if match is not None), False)
    coloured = colour_lines(texts, path, dark=palette.dark, is_part=is_part) if isinstance(path, str) else None
    runs = iter(coloured or ())
    plainly = iter(texts)
    hang = " " * (digits + 2)
    for drawn, (line, match) in enumerate(zip(lines, parsed, strict=True)):
        if match is None:
            note: list[Run] = [(make_printable(line, newlines=False), palette.muted)]
            strips = wrap_runs(note, width)
        else:
            text = next(plainly)
            strips = wrap_runs(
                next(runs, ((text, Style()),)), width, [(f"{match[1]:>{digits}}  ", palette.muted)], hang
            )
        if not part.add(strips):
            part.rest = f"{format_amount(output.lines - drawn, 'line')} more"
            return part
    if output.lines > len(lines):
        part.rest = f"{format_amount(output.lines - len(lines), 'line')} more"
    return part
