"""A screen whose first frame is drawn once, and as a whole."""

from __future__ import annotations

from textual.screen import Screen


class DrawnOnce(Screen[None]):
    """While an app starts, Textual draws each layout and throws it away; what is seen first are the parts that
    changed after the last of them."""

    def _compositor_refresh(self) -> None:
        """Draw nothing that would not be shown; all of it is still to be drawn then."""
        if not self.app._batch_count:
            super()._compositor_refresh()
