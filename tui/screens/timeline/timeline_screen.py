"""The screen of `/timeline`: every turn and call of the session on a time axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from quorum.application.view.turn_timings import Totals, TurnTimings, sum_totals
from quorum.domain.events.report import RunStatus
from quorum.tui.keys.hints import fill_in_keys
from quorum.tui.screens.timeline.chart import Chart
from quorum.tui.screens.timeline.details import DETAIL_LINES, draw_details, draw_totals
from quorum.tui.screens.timeline.rows import TimelineRow
from quorum.tui.transcript.draw.lanes import ASKED, RAN, WAITED
from quorum.tui.widgets.closing import ClosesItself
from quorum.tui.widgets.line_list import LineList, Move

_LIVE_SECS = 1 / 4
_LEGEND = f"━ model  ┄ pause  {RAN} runs  {ASKED} waits for you  {WAITED * 2}3 for call 3"
_KEYS = (
    "{timeline_choose=enter} shows it · esc closes · {timeline_earlier=←}{timeline_later=→} and "
    "{timeline_closer=+}/{timeline_further=−} along the axis · {timeline_turn_before=[} {timeline_turn_after=]}"
    " turns · {timeline_whole=0} whole turns"
)


class _TimelineLines(Widget, can_focus=False):
    """A few finished lines."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._strips: list[Strip] = []

    def show(self, strips: list[Strip]) -> None:
        if strips != self._strips:
            self._strips = strips
            self.refresh()

    def render_line(self, y: int) -> Strip:
        strip = self._strips[y] if y < len(self._strips) else Strip([])
        return strip.adjust_cell_length(self.content_size.width).apply_style(self.rich_style)


class TimelineScreen(ClosesItself, Screen[TimelineRow]):
    """Shows the timings of turns and keeps up with them while a turn runs. Answers the row that was chosen."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move('up')", "The row above", id="timeline_up"),
        Binding("down,j", "move('down')", "The row below", id="timeline_down"),
        Binding("pageup,b", "move('page_up')", "A page up", id="timeline_page_up"),
        Binding("pagedown,space", "move('page_down')", "A page down", id="timeline_page_down"),
        Binding("home,ctrl+home,g", "move('first')", "To the beginning", id="timeline_start"),
        Binding("end,ctrl+end,G", "move('last')", "To the end", id="timeline_end"),
        Binding("left_square_bracket,p", "turn(-1)", "The turn before", id="timeline_turn_before"),
        Binding("right_square_bracket,n", "turn(1)", "Next turn", id="timeline_turn_after"),
        Binding("plus,equals_sign", "zoom(1)", "Zoom in", id="timeline_closer"),
        Binding("minus,underscore", "zoom(-1)", "Zoom out", id="timeline_further"),
        Binding("0", "zoom(0)", "Show whole turns", id="timeline_whole"),
        Binding("left,h", "shift(-1)", "Earlier", id="timeline_earlier"),
        Binding("right,l", "shift(1)", "Later", id="timeline_later"),
        Binding("enter", "choose", "Show it in the transcript", id="timeline_choose"),
        Binding("escape,q,ctrl+s", "close", "Close", id="timeline_close"),
    ]
    DEFAULT_CSS = f"""
    TimelineScreen {{
        background: $background;
        #totals {{ height: 1; background: $surface; color: $text; padding: 0 1; }}
        #about {{ height: {DETAIL_LINES}; background: $surface; color: $text; padding: 0 1; }}
        #legend, #keys {{ height: 1; color: $text-muted; padding: 0 1; }}
        #legend, #keys {{ text-wrap: nowrap; text-overflow: ellipsis; }}
        #nothing {{ height: 1fr; padding: 1 2; color: $text-muted; display: none; }}
        &.-empty #nothing {{ display: block; }}
        &.-empty Chart {{ display: none; }}
    }}
    """

    def __init__(self, timings: TurnTimings, clock: Callable[[], float]) -> None:
        super().__init__()
        self._timings, self._clock = timings, clock
        self._chart = Chart(timings, clock)
        self._totals, self._about = _TimelineLines(id="totals"), _TimelineLines(id="about")
        self._ended: dict[int, Totals] = {}
        self._live: Timer | None = None

    def compose(self) -> ComposeResult:
        """Totals, the rows, details of the marked one, and keys."""
        yield self._totals
        yield self._chart
        yield Static(Content("Nothing has happened yet."), id="nothing")
        yield Static(Content(_LEGEND), id="legend")
        yield self._about
        yield Static(Content(fill_in_keys(_KEYS, self.app)), id="keys")

    def on_mount(self) -> None:
        """Begin with the last turn. The timer sleeps where nothing continues."""
        self.call_after_refresh(self._chart.begin)
        self._live = self.set_interval(_LIVE_SECS, self._follow, pause=not self._timings.is_live)
        self.set_class(not self._timings.turns, "-empty")

    def _follow(self) -> None:
        """Time went by."""
        self.set_class(not self._timings.turns, "-empty")
        self._chart.follow()
        self._tell()

    @on(LineList.Marked)
    def _tell(self) -> None:
        """Tell of the marked row and of all."""
        width, now, palette = self._about.content_size.width, self._clock(), self._chart.palette
        row = self._chart.row
        self._about.show(draw_details(row, width, palette, now) if row is not None else [])
        total = sum((self._add_up(n, now) for n in range(len(self._timings.turns))), Totals())
        self._totals.show([draw_totals(total, len(self._timings.turns), width, palette)])

    def _add_up(self, number: int, now: float) -> Totals:
        """Those of a turn; of one that came to its end they are reckoned once."""
        turn = self._timings.turns[number]
        if turn.ending != RunStatus.COMPLETED:  # its calls may be resumed
            return sum_totals(turn, now)
        if number not in self._ended:
            self._ended[number] = sum_totals(turn, now)
        return self._ended[number]

    def on_resize(self) -> None:
        """The details have another width."""
        self._tell()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted:
            self.call_after_refresh(self._tell)

    # -- keys ---------------------------------------------------------------------------------------------

    def action_move(self, how: Move) -> None:
        self._chart.move(how)

    def action_turn(self, by: int) -> None:
        self._chart.mark_turn(by)

    def action_zoom(self, by: int) -> None:
        """Look closer, or from further away."""
        self._chart.zoom(by)

    def action_shift(self, by: int) -> None:
        """Look at an earlier or a later time."""
        self._chart.shift(by)

    @on(LineList.LineClicked)
    def _on_clicked(self) -> None:
        self._tell()

    def action_choose(self) -> None:
        """Close, and have the marked row shown in the transcript."""
        if self._chart.row is not None:
            self.dismiss(self._chart.row)

    def action_close(self) -> None:
        self.dismiss(None)
