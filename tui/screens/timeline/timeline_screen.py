"""The screen of `/timeline`: every turn and call of the session on a time axis."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from quorum.application.view.entries import Batch, Call, NoticeKind
from quorum.application.view.turn_timings import RequestTiming, Totals, TurnTiming, TurnTimings, sum_totals
from quorum.application.view.wording import describe_decision
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.events.report import RunStatus
from quorum.domain.text.amounts import format_amount, format_duration
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.timeline.chart import Chart, TimelineRow
from quorum.tui.transcript.cells.lines import build_strip, fit_text
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.draw.rows import (
    ASKED,
    RAN,
    WAITED,
    describe_course,
    describe_state,
    find_span,
    shorten_arguments,
    summarise_batch,
)
from quorum.tui.widgets.dialog_parts import ClosesItself, fit_keys
from quorum.tui.widgets.line_list import LineList, Move

DETAIL_LINES = 4
_WORTH_TELLING = 1.05


def draw_totals(totals: Totals, turns: int, width: int, palette: Palette) -> Strip:
    """What the session took, by whom it was taken."""
    parts = [
        format_amount(turns, "turn"),
        f"waiting for you {format_duration(totals.waited)}",
        f"model {format_duration(totals.model)}",
    ]
    if totals.attempts:
        noun = "retry" if totals.attempts == 1 else "retries"
        parts.append(f"{totals.attempts} {noun} {format_duration(totals.paused)}")
    parts.append(f"tools {format_duration(totals.calls)}")
    if totals.ran and totals.calls / totals.ran >= _WORTH_TELLING:
        gain = totals.calls / totals.ran
        parts[-1] += f" in {format_duration(totals.ran)}, {gain:.1f}× by running side by side"
    return build_strip((fit_text(" · ".join(parts), width), palette.accent))


def draw_details(row: TimelineRow, width: int, palette: Palette, now: float) -> list[Strip]:
    """At most four lines about a row."""
    match row:
        case TimelineRow(event=None):
            lines = _render_turn(row.turn, now)
        case TimelineRow(event=RequestTiming() as request):
            lines = _request(request, row.turn, now)
        case TimelineRow(event=Batch() as batch, call=None):
            lines = [(f"batch {row.number} of turn {row.turn.number}", Style(bold=True))]
            lines += [(summarise_batch(batch, find_span(batch, now)), Style())]
        case TimelineRow(call=Call() as call):
            lines = _call(call, row, palette, now)
    return [
        build_strip((fit_text(make_printable(text, newlines=False), width), style))
        for text, style in lines
        if text
    ][:DETAIL_LINES]


_Lines = list[tuple[str, Style]]


def _render_turn(turn: TurnTiming, now: float) -> _Lines:
    begin, end = turn.compute_span(now)
    clock = (
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() - (now - begin))) if turn.timed else ""
    )
    took = format_duration(end - begin) if turn.timed else ""
    counts = [format_amount(len(turn.requests), "answer"), format_amount(len(turn.calls), "call")]
    parts = filter(
        None, (clock, took, turn.ending or "under way", *counts, "taken back" if turn.undone else "")
    )
    prompt = (
        turn.prompt.text.strip() if turn.prompt is not None else "continuing where the previous turn stopped"
    )
    return [(f"turn {turn.number}", Style(bold=True)), (" · ".join(parts), Style()), (prompt, Style())]


def _request(request: RequestTiming, turn: TurnTiming, now: float) -> _Lines:
    took = (now if request.end is None else request.end) - request.begin
    parts = [f"{format_duration(took)} in all"] if turn.timed else []
    if request.first is not None:
        parts.append(f"first words after {format_duration(request.first - request.begin)}")
    if request.calls:
        parts.append(f"asked for {format_amount(request.calls, 'call')}")
    retries = ""
    if request.retries:
        paused = format_duration(sum(end - begin for begin, end in request.retries))
        retries = (
            f"tried again {format_amount(len(request.retries), 'time')}, paused for {paused}: {request.why}"
        )
    head = f"answer of the model in turn {turn.number}"
    return [
        (head, Style(bold=True)),
        (" · ".join(parts), Style()),
        (retries, Style()),
        (request.words, Style()),
    ]


def _call(call: Call, row: TimelineRow, palette: Palette, now: float) -> _Lines:
    telling, others = shorten_arguments(call)
    place = f"call {call.number} of batch {row.number} in turn {row.turn.number}"
    head = f"{place} · {format_tool_name(call.tool)} {telling} {others}"
    state = "".join(text for text, _ in describe_state(call, palette))
    spent = describe_course(call, now) or (
        f"ran {format_duration(call.duration)}" if call.duration is not None else ""
    )
    decision = (
        describe_decision(call)
        or (call.reason or "")
        or call.decision.value.replace("_", " ").replace("none", "")
    )
    votes = ", ".join(f"{ballot.reviewer} {ballot.vote.value}" for ballot in call.votes)
    parts = " · ".join(filter(None, (f"decision: {decision}" if decision else "", votes)))
    remark = next((remark.text for remark in call.remarks if remark.kind is not NoticeKind.INFO), "")
    return [
        (" ".join(head.split()), Style(bold=True)),
        (" · ".join(filter(None, (state, spent))), Style()),
        (parts, Style()),
        (remark, palette.warning),
    ]


_LIVE_SECS = 1 / 4
_LEGEND = f"━ model  ┄ pause  {RAN} runs  {ASKED} waits for you  {WAITED * 2}3 for call 3"
_KEYS = (
    "{timeline_choose=enter} shows it · esc closes · {timeline_earlier=←}{timeline_later=→} and "
    "{timeline_closer=+}/{timeline_further=−} along the axis · {timeline_turn_before=[} {timeline_turn_after=]}"
    " turns · {timeline_whole=0} whole turns"
)


class _KeysLine(Widget, can_focus=False):
    """The keys that there is room for."""

    def render(self) -> Content:
        return Content(fit_keys(_KEYS, self.app, self.content_size.width))


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
        yield _KeysLine(id="keys")

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
