"""When frames are drawn: soon after something changed, never faster than the machine bears, not at all idle."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.timer import Timer
from textual.widget import Widget

_FRAME_SECS = 1 / 20
_SCROLLBAR_SECS = 1 / 2
# A frame that took long is followed by a pause of this many times its cost, so that typing never waits.
_PAUSE_PER_COST = 4


class Pace:
    """Calls `draw` for frames that were asked for, and `trail` now and then and after the last of them."""

    def __init__(self, widget: Widget, draw: Callable[[], None], trail: Callable[[], None]) -> None:
        self._draw = draw
        self._trail = trail
        self._wanted = False
        self._resting_until = 0.0
        self._trail_due = 0.0
        self._timer: Timer = widget.set_interval(_FRAME_SECS, self._tick, pause=True)

    def want(self) -> None:
        """Ask for a frame. Wakes the timer, which sleeps while nobody asks."""
        self._wanted = True
        self._timer.resume()

    def note_drawn(self) -> None:
        """The frame asked for was drawn by somebody else."""
        self._wanted = False

    def _tick(self) -> None:
        begun = time.perf_counter()
        if not self._wanted:
            self._trail()
            self._timer.pause()
        elif begun >= self._resting_until:
            self._wanted = False
            self._draw()
            ended = time.perf_counter()
            self._resting_until = ended + _PAUSE_PER_COST * (ended - begun)
            if ended >= self._trail_due:
                self._trail_due = ended + _SCROLLBAR_SECS
                self._trail()
