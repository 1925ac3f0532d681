"""How the chat arranges itself in the room there is, and for a screen reader."""

from __future__ import annotations

from textual.geometry import Size
from textual.widgets import Static

from tui.chat.actions.base import ChatActions
from tui.panel.side_panel import SidePanel
from tui.themes.looks import Looks
from tui.widgets.layout import CLASSES, Arrangement, arrange

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
        arrangement = self._classify(size)
        self.panel.fit(arrangement)
        self.query_one("#sign", Static).update(_SPOKEN_SIGN if self._looks.screen_reader else _SIGN)

    def begin_fitting(self) -> None:
        """Have the right classes before anything is styled: each change of them styles everything again."""
        self._classify(self.app.size, update=False)

    def _classify(self, size: Size, *, update: bool = True) -> Arrangement:
        arrangement = arrange(self._looks.layout_wish, size, plain=self._looks.screen_reader)
        for name in CLASSES:
            self.set_class(name == arrangement.screen_class, name, update=update)
        self.set_class(arrangement.too_small, _TOO_SMALL, update=update)
        return arrangement

    @property
    def _looks(self) -> Looks:
        assert isinstance(self.app, Looks)
        return self.app
