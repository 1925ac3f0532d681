"""The ground lines are shown on: brings drawn lines into the widget's size, colours, links and selection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip

from quorum.tui.transcript.cells.links import Links, link_style
from quorum.tui.transcript.cells.marks import strip_marks


class Patch(NamedTuple):
    """Characters of a line, from `start` up to `end` (-1: its end), that are to be shown in another style."""

    start: int
    end: int
    style: Style


class LineView:
    """What a widget is like until its size or style changes. `selected` is the style of selected text."""

    def __init__(
        self, *, size: Size, style: Style, background: Color, filters: Sequence[LineFilter], selected: Style
    ) -> None:
        self.size = size
        self._style = style
        self._background = background
        self._filters = tuple(filters)
        self._selected = selected
        self._blank = self._apply_filters([Segment(" " * size.width, style)])
        self._links = Links()
        # Finished strips of the last frame, each with the strip it was made from, which keeps its id its own.
        self._known: dict[int, tuple[Strip, Strip]] = {}

    def finish_strips(
        self,
        strips: Sequence[Strip],
        first: int,
        selection: Selection | None,
        patches: Iterable[tuple[int, Patch]] = (),
    ) -> list[Strip]:
        """As many strips as the widget is high, ready for the terminal; `first` is the first one's line.

        A line that was in sight in the last frame gives the very same strip again, with its terminal codes.
        `patches` come with the numbers of their lines.
        """
        strips = self._links.link_addresses(strips)
        known = {
            id(strip): self._known.get(id(strip)) or (strip, self._finish_strip(strip)) for strip in strips
        }
        self._known = known
        lines = [known[id(strip)][1] for strip in strips]
        for line, patch in patches:
            if first <= line < first + len(lines):
                lines[line - first] = self._apply_patch(lines[line - first], patch)
        if selection is not None:
            lines = [
                self._apply_patch(line, Patch(*span, self._selected))
                if (span := selection.get_span(y))
                else line
                for y, line in enumerate(lines, first)
            ]
        return lines + [self._blank] * (self.size.height - len(lines))

    def _finish_strip(self, strip: Strip) -> Strip:
        width = self.size.width
        segments = [Segment(text, self._look(style)) for text, style, _ in strip]
        if (missing := width - strip.cell_length) > 0:
            segments.append(Segment(" " * missing, self._style))
        elif missing < 0:
            segments = list(Strip(segments).crop(0, width))
        return self._apply_filters(segments)

    def _look(self, style: Style | None) -> Style:
        if style is None:
            return self._style
        look = self._style + strip_marks(style)
        return link_style(look, style.link) if style.link else look

    def _apply_filters(self, segments: list[Segment]) -> Strip:
        for line_filter in self._filters:
            segments = line_filter.apply(segments, self._background)
        return Strip(segments, self.size.width)

    def _apply_patch(self, strip: Strip, patch: Patch) -> Strip:
        first = strip.index_to_cell_position(patch.start)
        last = strip.cell_length if patch.end < 0 else strip.index_to_cell_position(patch.end)
        inside = [Segment(text, (style or Style()) + patch.style) for text, style, _ in strip.crop(first, last)]
        return Strip.join([strip.crop(0, first), Strip(self._apply_filters(inside)), strip.crop(last)])
