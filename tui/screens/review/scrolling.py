"""Scrolling what would run, below the choices of a review."""

from __future__ import annotations

from tui.screens.review.kept_place import KeepsPlace
from tui.screens.review.widgets import Rows


class ScrollsCall(KeepsPlace):
    """A dialog whose keys scroll the call that it shows."""

    def action_scroll(self, lines: int) -> None:
        """Scroll what would run."""
        self.query_one("#reading", Rows).scroll_relative(y=lines, animate=False)

    def action_read_on(self) -> None:
        """Scroll what would run by as many lines as are in sight, but for one."""
        reading = self.query_one("#reading", Rows)
        reading.scroll_relative(y=max(1, reading.lines_shown - 1), animate=False)
