"""The ground lines are shown on: brings drawn lines into the widget's size, colours and selection."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip


class Surface:
    """What a widget is like until its size or style changes. `selected` is the style of selected text."""

    def __init__(
        self, *, size: Size, style: Style, background: Color, filters: Sequence[LineFilter], selected: Style
    ) -> None:
        self.size = size
        self._style = style
        self._background = background
        self._filters = tuple(filters)
        self._selected = selected
        self._blank = self._filtered([Segment(" " * size.width, style)])
        # Finished strips of the last frame, each with the strip it was made from, which keeps its id its own.
        self._known: dict[int, tuple[Strip, Strip]] = {}

    def finished(self, strips: Sequence[Strip], first: int, selection: Selection | None) -> list[Strip]:
        """As many strips as the widget is high, ready for the terminal; `first` is the first one's line.

        A line that was in sight in the last frame gives the very same strip again, with its terminal codes.
        """
        known = {id(strip): self._known.get(id(strip)) or (strip, self._finished(strip)) for strip in strips}
        self._known = known
        lines = [known[id(strip)][1] for strip in strips]
        if selection is not None:
            lines = [self._with_selected(line, selection, y) for y, line in enumerate(lines, first)]
        return lines + [self._blank] * (self.size.height - len(lines))

    def _finished(self, strip: Strip) -> Strip:
        width = self.size.width
        segments = list(Segment.apply_style(strip, self._style))
        if (missing := width - strip.cell_length) > 0:
            segments.append(Segment(" " * missing, self._style))
        elif missing < 0:
            segments = list(strip.crop(0, width).apply_style(self._style))
        return self._filtered(segments)

    def _filtered(self, segments: list[Segment]) -> Strip:
        for line_filter in self._filters:
            segments = line_filter.apply(segments, self._background)
        return Strip(segments, self.size.width)

    def _with_selected(self, strip: Strip, selection: Selection, y: int) -> Strip:
        span = selection.get_span(y)
        if span is None:
            return strip
        start, end = span
        first = strip.index_to_cell_position(start)
        last = strip.cell_length if end < 0 else strip.index_to_cell_position(end)
        inside = self._filtered(list(strip.crop(first, last).apply_style(self._selected)))
        return Strip.join([strip.crop(0, first), Strip(inside), strip.crop(last)])
