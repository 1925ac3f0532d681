"""A table of text that fits the width of the terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

Row = TypeVar("Row")
_GAP = "  "


class Column(NamedTuple, Generic[Row]):
    """A heading, and what stands below it in each row, without controls."""

    heading: str
    render: Callable[[Row], str]
    is_number: bool = False


def render_text_table(
    columns: Sequence[Column[Row]], rows: Sequence[Row], *, width: int | None, narrowest: int
) -> list[str]:
    """One line for each row under a line of headings. None: nothing is cut.

    The last column is cut so that lines fit `width` cells, but not to less than `narrowest`.
    """
    front = columns[:-1]
    cells = [[column.heading for column in columns]]
    cells += [[column.render(row) for column in columns] for row in rows]
    widths = [max(measure_text_cells(line[place]) for line in cells) for place in range(len(front))]
    room = None if width is None else max(narrowest, width - sum(widths) - len(front) * len(_GAP))
    lines = []
    for line in cells:
        padded = [
            pad + cell if column.is_number else cell + pad
            for column, cell, wide in zip(front, line, widths, strict=False)
            for pad in (" " * (wide - measure_text_cells(cell)),)
        ]
        lines.append(_GAP.join((*padded, line[-1] if room is None else fit_text(line[-1], room))).rstrip())
    return lines


def fit_text(text: str, width: int) -> str:
    """The text, or as much of it as fits into `width` cells with an ellipsis at its end."""
    if measure_text_cells(text) <= width:
        return text
    kept, room = "", width - 1
    for char in text:
        room -= _measure_cells(char)
        if room < 0:
            break
        kept += char
    return kept.rstrip() + "…"


def measure_text_cells(text: str) -> int:
    """How many cells of a terminal a text without controls takes."""
    return len(text) if text.isascii() else sum(map(_measure_cells, text))


def _measure_cells(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
