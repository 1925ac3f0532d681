"""A part of a card: lines, and what is said of those that are not drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from quorum.domain.text.amounts import format_amount
from quorum.tui.transcript.cells.lines import build_strip, wrap_text
from quorum.tui.transcript.cells.marks import ASIDE, Continued
from quorum.tui.transcript.cells.palette import Palette

Run: TypeAlias = tuple[str, Style]

MOST_LINES = 200
"""An unfolded card has about so many lines of output; the pager has them all."""

PAGER = "pager"
"""The key of a line that a click on opens the pager with all of the output."""


@dataclass(slots=True)
class Part:
    """Lines of a card, at most `room` of them.

    `keys` holds for each line the fold that a click on it opens or closes, or `PAGER`. `above` counts the
    lines of the output before the first one drawn, `rest` says in words what comes after the last.
    """

    strips: list[Strip] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    room: int = MOST_LINES
    above: int = 0
    rest: str = ""

    @property
    def is_full(self) -> bool:
        """Whether no further line has room."""
        return len(self.strips) >= self.room

    def add(self, strips: Iterable[Strip], key: str | None = None) -> bool:
        """Add lines; whether all of them had room."""
        for strip in strips:
            if self.is_full:
                return False
            self.strips.append(strip)
            self.keys.append(key)
        return True


def wrap_runs(runs: Sequence[Run], width: int, lead: Sequence[Run] = (), hang: str = "") -> Iterator[Strip]:
    """A line of styled runs, broken hard at `width` cells; `lead` stands before its beginning, `hang` below it.

    Both only decorate it. Their widths are part of the width, and should be equal.
    """
    room = max(width - sum(cell_len(text) for text, _ in lead), 2)
    parts: list[Run] = [(text, style + ASIDE) for text, style in lead]
    place = used = 0
    for line in wrap_text("".join(text for text, _ in runs), room):
        left = len(line)
        while left and place < len(runs):
            whole, style = runs[place]
            piece = whole[used : used + left]
            left, used = left - len(piece), used + len(piece)
            if isinstance(line, Continued) and left + len(piece) == len(line):
                piece = Continued.of(piece, line.joint)
            parts.append((piece, style))
            if used == len(whole):
                place, used = place + 1, 0
        strip = build_strip(*parts)
        # A cluster of characters that two runs share may be wider in parts than as a whole.
        yield strip if strip.cell_length <= width else strip.crop(0, width)
        parts = [(hang, ASIDE)] if hang else []


def draw_more(count: int, where: str, palette: Palette, noun: str = "line") -> Strip:
    """The line that stands for lines that are folded away."""
    return build_strip((f"… {format_amount(count, noun)} {where}", palette.muted + ASIDE))
