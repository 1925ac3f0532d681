"""Tables of Markdown: columns as wide as there is room for, cells broken between words, nothing cut.

Where not even narrow columns fit side by side, each row becomes a short list of `heading: cell`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

_GAP = "  "
_LEAST = 8
_LONGEST_WORD = 16


def draw_table(
    headings: Sequence[Text], rows: Sequence[Sequence[Text]], width: int, console: Console
) -> Iterator[Text]:
    """The lines of a table, at most `width` cells each, or its rows as paragraphs still to be broken."""
    columns = list(zip(headings, *rows, strict=True))
    wanted = [max(cell.cell_len for cell in column) for column in columns]
    least = [min(most, _measure_least_width(column)) for most, column in zip(wanted, columns, strict=True)]
    widths = fit_columns(wanted, least, width - len(_GAP) * (len(columns) - 1))
    if widths is None:
        yield from _stack(headings, rows)
        return
    yield from _draw_row(headings, widths, console)
    yield Text(_GAP.join("─" * each for each in widths), style="markdown.table.border")
    was_broken = False
    for number, row in enumerate(rows):
        lines = list(_draw_row(row, widths, console))
        if number and (was_broken or len(lines) > 1):
            yield Text("")
        yield from lines
        was_broken = len(lines) > 1


def fit_columns(wanted: Sequence[int], least: Sequence[int], room: int) -> list[int] | None:
    """The cells of each column: what it wants, or all wide ones the same where that is too much.

    None where not even the least of all columns fit into `room`.
    """
    if sum(least) > room:
        return None
    low, high = 0, max(wanted, default=0)
    while low < high:  # the largest limit that fits
        limit = (low + high + 1) // 2
        if sum(_limit_widths(wanted, least, limit)) <= room:
            low = limit
        else:
            high = limit - 1
    widths = _limit_widths(wanted, least, low)
    for place, most in enumerate(wanted):
        if widths[place] < most and sum(widths) < room:
            widths[place] += 1
    return widths


def _limit_widths(wanted: Sequence[int], least: Sequence[int], limit: int) -> list[int]:
    return [min(most, max(few, limit)) for most, few in zip(wanted, least, strict=True)]


def _measure_least_width(column: Sequence[Text]) -> int:
    """The cells below which words of a column would be broken, within bounds."""
    longest = max((cell_len(word) for cell in column for word in cell.plain.split()), default=0)
    return max(_LEAST, min(longest, _LONGEST_WORD))


def _draw_row(cells: Sequence[Text], widths: Sequence[int], console: Console) -> Iterator[Text]:
    broken = [
        _break_cell(cell, width, console) if cell.cell_len > width else [cell]
        for cell, width in zip(cells, widths, strict=True)
    ]
    for number in range(max(map(len, broken))):
        line = Text()
        for place, (lines, cell, width) in enumerate(zip(broken, cells, widths, strict=True)):
            part = lines[number] if number < len(lines) else Text("")
            free = width - part.cell_len
            before = {"right": free, "center": free // 2}.get(cell.justify or "", 0)
            line.append(" " * before).append_text(part)
            if place + 1 < len(widths):
                line.append(" " * (free - before) + _GAP)
        line.rstrip()
        yield line


def _break_cell(cell: Text, width: int, console: Console) -> list[Text]:
    lines = cell.wrap(console, width, justify="default", overflow="fold")
    for line in lines:
        line.rstrip()
    return [line for line in lines if line.plain.strip()] or [Text("")]


def _stack(headings: Sequence[Text], rows: Sequence[Sequence[Text]]) -> Iterator[Text]:
    """Each cell below the other, after its heading; an empty line between rows."""
    for number, row in enumerate(rows):
        if number:
            yield Text("")
        for heading, cell in zip(headings, row, strict=True):
            name = heading.copy()
            if name:
                name.append(": ", Style(bold=True))
            yield name.append_text(cell)
    if not rows:
        yield from headings
