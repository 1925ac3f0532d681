"""Where moments fall: each turn has an axis of its own, as long as it took, which zooming stretches."""

from __future__ import annotations

from dataclasses import dataclass

from quorum.application.view.turn_timings import Stretch
from quorum.domain.replacing import replace
from quorum.domain.text.amounts import format_duration

_MOST_ZOOM = 4_096
_STEPS = (1, 2, 5)
_TICK_CELLS = 12


@dataclass(frozen=True, slots=True)
class Axis:
    """`zoom` times the width of the lanes is a whole turn; `left` cells of it are out of sight on the left."""

    zoom: int = 1
    left: int = 0

    def compute_window(self, span: Stretch, cells: int) -> Stretch:
        """The part of a span that so many cells show."""
        begin, end = span
        length = max(end - begin, 1e-6)
        start = begin + length * self.left / (cells * self.zoom)
        return start, start + length / self.zoom

    def zoom_by(self, by: int, cells: int, middle: float) -> Axis:
        """Twice as far in or out for each step; the place that is `middle` of the whole stays in the middle."""
        zoom = max(1, min(self.zoom * 2 if by > 0 else self.zoom // 2, _MOST_ZOOM))
        return Axis(zoom).move_to(round(middle * cells * zoom) - cells // 2, cells)

    def move_by(self, by: int, cells: int) -> Axis:
        """So many cells further to the right."""
        return self.move_to(self.left + by, cells)

    def move_to(self, left: int, cells: int) -> Axis:
        """With so many cells out of sight, as far as there are that many."""
        return replace(self, left=max(0, min(left, cells * (self.zoom - 1))))

    def share(self, moment: float, span: Stretch) -> float:
        """Where in a span a moment is, from 0 to 1."""
        begin, end = span
        return max(0.0, min((moment - begin) / max(end - begin, 1e-6), 1.0))

    def render_ticks(self, span: Stretch, cells: int) -> str:
        """Marks of time over so many cells, counted from the span's beginning."""
        start, end = self.compute_window(span, cells)
        step = _choose_step((end - start) / cells * _TICK_CELLS)
        line = [" "] * cells
        number = int((start - span[0]) / step)
        while (at := span[0] + number * step) < end:
            place = round((at - start) / (end - start) * cells)
            label = f"╷{format_duration(number * step) if number else '0'}"
            if place >= 0 and place + len(label) < cells:
                line[place : place + len(label)] = label
            number += 1
        return "".join(line)


def _choose_step(least: float) -> float:
    """The first round number of seconds from `least` on."""
    size = 1e-3
    while True:
        for factor in _STEPS:
            if size * factor >= least:
                return size * factor
        size *= 10
