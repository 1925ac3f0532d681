"""A table of text that fits the width of the terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

Row = TypeVar("Row")
_GAP = "  "


class Column(NamedTuple, Generic[Row]):
    """A heading, and what stands below it in each row, without controls.

    Where lines are too wide, cells are cut, but not to less than `narrowest` cells of the terminal or the
    heading; no number, and nothing of a column that is `whole`, such as of ids.
    """

    heading: str
    render: Callable[[Row], str]
    is_number: bool = False
    whole: bool = False
    narrowest: int = 6

    def find_floor(self, width: int) -> int:
        """How narrow a column of this width may become."""
        uncut = self.is_number or self.whole
        return width if uncut else min(width, max(self.narrowest, measure_text_cells(self.heading)))


def render_text_table(columns: Sequence[Column[Row]], rows: Sequence[Row], *, width: int | None) -> list[str]:
    """One line for each row under a line of headings, cut so that lines fit `width` cells. None: nothing is."""
    cells = [[column.heading for column in columns]]
    cells += [[column.render(row) for column in columns] for row in rows]
    widths = [max(map(measure_text_cells, column)) for column in zip(*cells, strict=True)]
    if width is not None:
        floors = [column.find_floor(wide) for column, wide in zip(columns, widths, strict=True)]
        widths = _shrink(widths, floors, width - (len(columns) - 1) * len(_GAP))
    return [
        _GAP.join(_pad(*each) for each in zip(line, widths, columns, strict=True)).rstrip() for line in cells
    ]


def _shrink(widths: Sequence[int], floors: Sequence[int], room: int) -> list[int]:
    """The widths, the widest of them cut first and none further than to its floor, until they fit."""
    fitted = list(widths)
    while sum(fitted) > room:
        wide = [place for place, floor in enumerate(floors) if fitted[place] > floor]
        if not wide:
            break
        widest = max(reversed(wide), key=fitted.__getitem__)
        others = [fitted[place] for place in wide if place != widest]
        least = max(floors[widest], max(others, default=0), fitted[widest] - (sum(fitted) - room))
        fitted[widest] = min(least, fitted[widest] - 1)
    return fitted


def _pad(cell: str, width: int, column: Column[Row]) -> str:
    fitted = fit_text(cell, width)
    pad = " " * (width - measure_text_cells(fitted))
    return pad + fitted if column.is_number else fitted + pad


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
