"""How the chat arranges itself in the room there is, and for a screen reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from quorum.tui.side_panel.side_panel import SidePanel
from quorum.tui.themes.looks import Looks
from quorum.tui.widgets.layout import CLASSES, JOINED, SIGN, Arrangement, arrange

if TYPE_CHECKING:
    from quorum.tui.vim.editor import VimMode

_SPOKEN_SIGN = "prompt:"
_TOO_SMALL = "-too-small"


class ArrangementController:
    """Gives the screen the classes for its size and the person's wishes; the `panel` and the sign follow.

    The `composer` is what holds the sign and the prompt.
    """

    def __init__(self, screen: Screen[None], panel: SidePanel, composer: Widget) -> None:
        self._screen, self._panel, self._composer = screen, panel, composer
        self._mode: VimMode | None = None
        self.sign = Static(SIGN, id="sign", markup=False)

    def begin_fitting(self) -> None:
        """Have the right classes before anything is styled: each change of them styles everything again."""
        self._classify(self._screen.app.size, update=False)

    def fit_again(self) -> None:
        """Go by the app's wishes as they are now."""
        if self._screen.is_mounted:
            self.fit(self._screen.size)

    def fit(self, size: Size) -> None:
        """Arrange everything for a screen of this size; nothing that is written or folded is lost by it."""
        self._panel.fit(self._classify(size))
        self._show_sign()

    def show_mode(self, mode: VimMode | None) -> None:
        """Name the mode of Vim on the upper border of the prompt, for a screen reader before it."""
        self._mode = mode
        self._composer.border_title = "" if mode is None else f" {mode.upper()} "
        self._show_sign()

    def _show_sign(self) -> None:
        spoken = _SPOKEN_SIGN if self._mode in (None, "insert") else f"{self._mode}:"
        self.sign.update(spoken if self._looks.screen_reader else SIGN)

    def _classify(self, size: Size, *, update: bool = True) -> Arrangement:
        arrangement = arrange(self._looks.layout_wish, size, plain=self._looks.screen_reader)
        for name in CLASSES:
            self._screen.set_class(name == arrangement.screen_class, name, update=update)
        self._screen.set_class(arrangement.too_small, _TOO_SMALL, update=update)
        self._screen.set_class(arrangement.joined, JOINED, update=update)
        return arrangement

    @property
    def _looks(self) -> Looks:
        assert isinstance(self._screen.app, Looks)
        return self._screen.app
