"""How the chat arranges itself in the room there is, and for a screen reader."""

from __future__ import annotations

from textual.geometry import Size
from textual.widgets import Static

from tui.actions.base import ChatActions
from tui.layout import CLASSES, arrange
from tui.look import Looks
from tui.panel.side_panel import SidePanel

_SIGN, _SPOKEN_SIGN = " ›", "prompt:"
_TOO_SMALL = "-too-small"


class LookActions(ChatActions):
    """The chat as the size of the screen and the person's wishes have it."""

    panel: SidePanel

    def fit_again(self) -> None:
        """Go by the app's wishes as they are now."""
        if self.is_mounted:
            self.fit(self.size)

    def fit(self, size: Size) -> None:
        """Arrange everything for a screen of this size; nothing that is written or folded is lost by it."""
        looks = self.app
        assert isinstance(looks, Looks)
        arrangement = arrange(looks.layout_wish, size, plain=looks.screen_reader)
        for name in CLASSES:
            self.set_class(name == arrangement.screen_class, name)
        self.set_class(arrangement.too_small, _TOO_SMALL)
        self.panel.fit(arrangement)
        self.query_one("#sign", Static).update(_SPOKEN_SIGN if looks.screen_reader else _SIGN)
