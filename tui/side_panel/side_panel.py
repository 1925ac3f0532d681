"""The widget of the side panel.

It is loaded before the first frame; what it draws with comes with the first event.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from quorum.tui.transcript.cells.palette import Palette, name_component_class, read_palette, render_role_styles
from quorum.tui.transcript.layout.pane import Pace
from quorum.tui.widgets.layout import Arrangement

if TYPE_CHECKING:
    from quorum.application.view.present import Present
    from quorum.application.view.session_view import SessionView
    from quorum.tui.side_panel.drawing import PanelUsage

_LIVE_SECS = 1 / 4


class SidePanel(Widget, can_focus=False):
    """Shows the plan, changed files, what runs or waits, votes, what was used and hooks, where there is room.

    It appears with the first of these, and stays for the rest of the session: nothing jumps after a batch.

    It draws at most 25 times a second, four times a second while a call runs, and not at all otherwise.
    """

    DEFAULT_CSS = render_role_styles("SidePanel")
    COMPONENT_CLASSES: ClassVar[set[str]] = {name_component_class(role) for role in Palette.list_roles()}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.display = False
        self._wanted = True
        self._no_room = ""
        self._has_appeared = False
        self._present: Present | None = None
        self._usage: PanelUsage | None = None
        self._seen = 0
        self._clock: Callable[[], float] = time.monotonic
        self._palette: Palette | None = None
        self._lines: list[Strip] = []
        self._pace: Pace | None = None
        self._live: Timer | None = None

    # -- what the application calls -----------------------------------------------------------------------

    def show(self, view: SessionView) -> None:
        """Something may have happened in this view; it is seen with the next frame."""
        present = view.present
        if present is not self._present or present.version != self._seen:
            self._present, self._seen, self._clock = present, present.version, view.clock
            self._appear()
            self._want_frame()

    def show_usage(self, tokens: int, window: int, spent: str) -> None:
        """Show tokens of the model's window (0: its size is not known), and what was spent, in words."""
        from quorum.tui.side_panel.drawing import PanelUsage

        usage = PanelUsage(tokens, window, spent)
        if usage != self._usage:
            self._usage = usage
            self._want_frame()

    def forget(self) -> None:
        """Empty the panel for another session."""
        self._present, self._usage, self._lines = None, None, []
        self._has_appeared = False
        self._appear()

    def fit(self, arrangement: Arrangement) -> None:
        """The screen is arranged like this; where the panel stands is the stylesheet's."""
        self._no_room = arrangement.no_panel
        self._appear()

    @property
    def is_wanted(self) -> bool:
        """Whether it is seen where it has room and something to show."""
        return self._wanted

    @property
    def lacks_room(self) -> bool:
        """Whether it is wanted, and not seen for want of room."""
        return self._wanted and bool(self._no_room)

    def set_wanted(self, is_wanted: bool) -> None:
        """Have it seen where it has room and something to show, or nowhere."""
        self._wanted = is_wanted
        self._appear()

    def toggle(self) -> str:
        """Show the panel or hide it; answers what to say where that is not seen at once, else nothing.

        One that is wanted and has no room stays wanted: a key that hides what is not seen would seem dead.
        """
        self._wanted = not self.display
        self._appear()
        if not self._wanted or self.display:
            return ""
        return self._no_room or "the side panel appears with the first calls"

    # -- frames -------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Both timers sleep until there is something to draw."""
        self._pace = Pace(self, self.flush, lambda: None)
        self._live = self.set_interval(_LIVE_SECS, self._age, pause=True)

    def flush(self) -> None:
        """Draw the present state now; the frame timer does it otherwise."""
        present, size = self._present, self.content_size
        if present is None or not size.area or not self.display:
            return
        from quorum.tui.side_panel.drawing import PanelUsage, draw_present

        if self._palette is None:
            self._palette = read_palette(self)
        usage = self._usage or PanelUsage()
        lines = draw_present(present, size.width, size.height, self._palette, self._clock(), usage)
        before, self._lines = self._lines, lines
        if changed := [
            Region(0, y, size.width, 1)
            for y, (old, new) in enumerate(zip_longest(before, lines))
            if old != new and y < size.height
        ]:
            self.refresh(*changed)  # most of it stays as it was, and each line costs
        if self._live is not None and present.is_running:
            self._live.resume()

    def _appear(self) -> None:
        self._has_appeared |= self._present is not None and not self._present.is_empty
        self.display = self._wanted and self._has_appeared and not self._no_room

    def _want_frame(self) -> None:
        if self._pace is not None and self.display:
            self._pace.want()

    def _age(self) -> None:
        """Time passed for a running call."""
        if self.display and self._present is not None and self._present.is_running:
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
        super().notify_style_update()
        self._palette = None
        self._want_frame()

    def render_line(self, y: int) -> Strip:
        strip = self._lines[y] if y < len(self._lines) else Strip([])
        return strip.adjust_cell_length(self.content_size.width).apply_style(self.rich_style)
