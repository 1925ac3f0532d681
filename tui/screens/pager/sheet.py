"""The lines in sight of a pager, with their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.kinds.part import Run
from quorum.tui.transcript.kinds.terminal import colour_line

_LEAST_DIGITS = 4
_SIGNS = {"+": "added", "-": "removed"}


class Sheet(Widget, can_focus=False):
    """Shows lines it is given, from the one numbered `first` (counted from 0) on. Posts `Resized`.

    Each line has the colours that it asks for itself: those of a line above do not continue in it. With
    `is_diff` it has those of added and removed lines.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "sheet--number",
        "sheet--hit",
        "sheet--found",
        "sheet--added",
        "sheet--removed",
        "sheet--hunk",
    }
    DEFAULT_CSS = """
    Sheet {
        height: 1fr;
        background: $background;
        color: $text;
        & > .sheet--number { text-style: dim; }
        & > .sheet--hit { color: $text-accent; text-style: bold; }
        & > .sheet--added { color: $text-success; }
        & > .sheet--removed { color: $text-error; }
        & > .sheet--hunk { color: $text-accent; }
        & > .sheet--found { background: $accent; color: $background; text-style: bold; }
    }
    """

    class Resized(Message):
        """Another number of lines fits now."""

    def __init__(self, *, is_diff: bool = False) -> None:
        super().__init__()
        self._is_diff = is_diff
        self.first = 0
        self.lines: list[str] = []
        self.needle = ""
        self.hit: int | None = None
        self._left = 0
        self._shown: list[Strip] | None = None

    def show(self, first: int, lines: list[str], *, needle: str, hit: int | None) -> None:
        """Show these lines. Where `needle` stands is marked, and so is the line numbered `hit`."""
        self.first, self.lines, self.needle, self.hit = first, lines, needle, hit
        self._left = min(self._left, self._measure_furthest())
        self._redraw()

    def shift(self, cells: int) -> None:
        """Move the lines in sight sideways, but not past their longest."""
        self._left = max(0, min(self._left + cells, self._measure_furthest()))
        self._redraw()

    @property
    def left(self) -> int:
        """How many cells of the lines are out of sight on the left."""
        return self._left

    def _measure_furthest(self) -> int:
        longest = max((cell_len(_clean_text(line)) for line in self.lines), default=0)
        return max(0, longest - self.size.width // 2)

    def _redraw(self) -> None:
        self._shown = None
        self.refresh()

    def on_resize(self) -> None:
        """More or fewer lines fit."""
        self._shown = None
        self.post_message(self.Resized())

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._shown = None

    def render_line(self, y: int) -> Strip:
        """One line with its number, cut at both edges where it is longer."""
        if self._shown is None:
            self._shown = self._draw_lines()
        strip = self._shown[y] if y < len(self._shown) else Strip([])
        return strip.adjust_cell_length(self.size.width).apply_style(self.rich_style)

    def _draw_lines(self) -> list[Strip]:
        digits = max(len(f"{self.first + len(self.lines):,}"), _LEAST_DIGITS)
        number_style = self.get_component_rich_style("sheet--number", partial=True)
        hit_style = self.get_component_rich_style("sheet--hit", partial=True)
        found = self.get_component_rich_style("sheet--found", partial=True)
        room = max(self.size.width - digits - 5, 1)
        strips: list[Strip] = []
        for place, line in enumerate(self.lines, self.first):
            is_hit = place == self.hit
            style = hit_style if is_hit else number_style
            number = Segment(f"{'› ' if is_hit else '  '}{place + 1:>{digits},}  ", style)
            text = Strip(list(_mark_found(self._colour(line), _clean_text(self.needle), found)))
            cut = text.crop(self._left, self._left + room)
            more = [Segment("›", number_style)] if text.cell_length > self._left + room else []
            strips.append(Strip([number, *cut, *more]))
        return strips

    def _colour(self, line: str) -> list[Run]:
        text = _clean_text(line)
        if self._is_diff:
            role = "hunk" if text.startswith("@@") else _SIGNS.get(text[:1])
            style = self.get_component_rich_style(f"sheet--{role}", partial=True) if role else Style()
            return [(text, style)]
        runs = colour_line(line, dark=self.app.current_theme.dark)
        # Where something is overwritten, moved or wide by its place, the pieces do not say what the line does.
        return runs if "".join(piece for piece, _ in runs) == text else [(text, Style())]


def _clean_text(text: str) -> str:
    return make_printable(text, newlines=False, strip_ansi=True)


def _mark_found(runs: Sequence[Run], needle: str, found: Style) -> Iterator[Segment]:
    """The runs, with every place of the needle in the style of what was found."""
    text = "".join(piece for piece, _ in runs)
    starts = {match.start() for match in re.finditer(re.escape(needle), text)} if needle else set()
    places = {place for start in starts for place in range(start, start + len(needle))}
    begin = 0
    for piece, style in runs:
        for is_found, same in groupby(range(begin, begin + len(piece)), places.__contains__):
            span = list(same)
            yield Segment(text[span[0] : span[-1] + 1], found if is_found else style)
        begin += len(piece)
