"""Makes rows fit: which of them are shown where there is too little room, and how many lines a section gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.style import Style
from textual.strip import Strip

from quorum.tui.transcript.cells.lines import build_strip


@dataclass(frozen=True, slots=True)
class Row:
    """Something shown on `height` lines, drawn only if it is. A row that is over makes room first."""

    height: int
    is_over: bool
    draw: Callable[[], list[Strip]]


def fold_rows(rows: Sequence[Row], room: int, over: str, style: Style) -> list[Strip]:
    """The rows on at most `room` lines.

    Where they are too many, those that are over go first, oldest before newer, and then the last ones. A line
    says how many are missing in each place; `over` is the word for the first ones.
    """
    missing = sum(row.height for row in rows) - room
    dropped: set[int] = set()
    if missing > 0:
        missing += 1  # the line that tells of it
        for place, row in enumerate(rows):
            if missing > 0 and row.is_over:
                dropped.add(place)
                missing -= row.height
    kept = [row for place, row in enumerate(rows) if place not in dropped]
    strips = [build_strip((f"… {len(dropped)} {over}", style))] if dropped else []
    left = room - len(strips) - (1 if missing > 0 else 0)
    shown = 0
    for row in kept:
        left -= row.height
        if left < 0:
            break
        strips += row.draw()
        shown += 1
    if shown < len(kept):
        strips.append(build_strip((f"… {len(kept) - shown} more", style)))
    return strips[: max(room, 0)]


def share_lines(wanted: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """How many of `room` lines each section gets: its least first, then what it wants, the first ones before
    the others."""
    given: list[int] = []
    for want, enough in zip(wanted, least, strict=True):
        given.append(max(0, min(want, enough, room - sum(given))))
    for place, want in enumerate(wanted):
        given[place] += min(want - given[place], room - sum(given))
    return given
