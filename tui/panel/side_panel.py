"""The widget of the side panel. It is loaded before the first frame; what it draws with comes with the first
event."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tui.transcript.pace import Pace
from tui.transcript.palette import Palette, component_class, palette_of, role_styles

if TYPE_CHECKING:
    from domain.events import Event
    from tui.panel.board import Board

ROOMY = 110
"""The least width of a screen, in cells, that has room for the panel."""

_LIVE_SECS = 1 / 4
_LEAST, _MOST = 46, 62
_SHARE = 0.38


class SidePanel(Widget, can_focus=False):
    """Shows the newest batch, votes and decisions, the plan and the hooks, once there is any of it and room.

    It draws at most 25 times a second, four times a second while a call runs, and not at all otherwise.
    """

    DEFAULT_CSS = role_styles("SidePanel")
    COMPONENT_CLASSES: ClassVar[set[str]] = {component_class(role) for role in Palette.roles()}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.display = False
        self._wanted = True
        self._screen_width = 0
        self._board: Board | None = None
        self._palette: Palette | None = None
        self._lines: list[Strip] = []
        self._pace: Pace | None = None
        self._live: Timer | None = None

    # -- what the application calls -----------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        """Take an event in; it is seen with the next frame."""
        if self._board is None:
            from tui.panel.board import Board

            self._board = Board()
        if self._board.apply(event):
            self._appear()
            self._want_frame()

    def fit(self, screen_width: int) -> None:
        """The screen has this width, in cells."""
        self._screen_width = screen_width
        self.styles.width = max(_LEAST, min(int(screen_width * _SHARE), _MOST))
        self._appear()

    def toggle(self) -> str:
        """Show the panel or hide it; answers what to say where that is not seen at once, else nothing."""
        self._wanted = not self._wanted
        self._appear()
        if not self._wanted or self.display:
            return ""
        if self._screen_width < ROOMY:
            return f"the side panel needs {ROOMY} columns; here are {self._screen_width}"
        return "the side panel appears with the first calls"

    # -- frames -------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Both timers sleep until there is something to draw."""
        self._pace = Pace(self, self.flush, lambda: None)
        self._live = self.set_interval(_LIVE_SECS, self._age, pause=True)

    def flush(self) -> None:
        """Draw the present state now; the frame timer does it otherwise."""
        board, size = self._board, self.content_size
        if board is None or not size.area or not self.display:
            return
        from tui.panel.drawing import draw_board

        if self._palette is None:
            self._palette = palette_of(self)
        lines = draw_board(board, size.width, size.height, self._palette, board.clock())
        if lines != self._lines:
            self._lines = lines
            self.refresh()
        if self._live is not None and board.is_running:
            self._live.resume()

    def _appear(self) -> None:
        is_empty = self._board is None or self._board.is_empty
        self.display = self._wanted and not is_empty and self._screen_width >= ROOMY

    def _want_frame(self) -> None:
        if self._pace is not None and self.display:
            self._pace.want()

    def _age(self) -> None:
        """Time passed for a running call."""
        if self.display and self._board is not None and self._board.is_running:
            self._want_frame()
        elif self._live is not None:
            self._live.pause()

    # -- what Textual calls -------------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        """Lines are drawn for the new size in the same frame; so is what happened while it was hidden."""
        self.flush()

    def on_show(self) -> None:
        """What happened while it was hidden is drawn."""
        self.flush()

    def notify_style_update(self) -> None:
        """Another theme: other styles."""
        super().notify_style_update()
        self._palette = None
        self._want_frame()

    def render_line(self, y: int) -> Strip:
        """One line of what was drawn last."""
        strip = self._lines[y] if y < len(self._lines) else Strip([])
        return strip.adjust_cell_length(self.content_size.width).apply_style(self.rich_style)
