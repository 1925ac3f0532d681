"""The rows of a timeline that are in sight, one of them marked: turns, and below each its answers and calls.

Each turn has an axis of its own, as long as it took, which zooming stretches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import Batch, Call, Entry
from quorum.application.view.turn_timings import RequestTiming, Stretch, TurnTiming, TurnTimings
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.replacing import replace
from quorum.domain.text.amounts import format_amount, format_duration
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyed_app import choose_sign
from quorum.tui.transcript.cells.lines import build_strip, fit_text, pad_text
from quorum.tui.transcript.cells.palette import Palette, name_component_class, read_palette, render_role_styles
from quorum.tui.transcript.draw.rows import (
    describe_state,
    draw_lane,
    find_span,
    format_time,
    shorten_arguments,
    summarise_batch,
)
from quorum.tui.widgets.line_list import LineList

_MOST_ZOOM = 4_096
_STEPS = (1, 2, 5)
_TICK_CELLS = 12


@dataclass(frozen=True, slots=True)
class Axis:
    """`zoom` times the width of the lanes is a whole turn; `left` cells of it are out of sight on the left."""

    zoom: int = 1
    left: int = 0

    def compute_window(self, span: Stretch, cells: int) -> Stretch:
        """The part of a span that so many cells show."""
        begin, end = span
        length = max(end - begin, 1e-6)
        start = begin + length * self.left / (cells * self.zoom)
        return start, start + length / self.zoom

    def zoom_by(self, by: int, cells: int, middle: float) -> Axis:
        """Twice as far in or out for each step; the place that is `middle` of the whole stays in the middle."""
        zoom = max(1, min(self.zoom * 2 if by > 0 else self.zoom // 2, _MOST_ZOOM))
        return Axis(zoom).move_to(round(middle * cells * zoom) - cells // 2, cells)

    def move_by(self, by: int, cells: int) -> Axis:
        """So many cells further to the right."""
        return self.move_to(self.left + by, cells)

    def move_to(self, left: int, cells: int) -> Axis:
        """With so many cells out of sight, as far as there are that many."""
        return replace(self, left=max(0, min(left, cells * (self.zoom - 1))))

    def share(self, moment: float, span: Stretch) -> float:
        """Where in a span a moment is, from 0 to 1."""
        begin, end = span
        return max(0.0, min((moment - begin) / max(end - begin, 1e-6), 1.0))

    def render_ticks(self, span: Stretch, cells: int) -> str:
        """Marks of time over so many cells, counted from the span's beginning."""
        start, end = self.compute_window(span, cells)
        step = _choose_step((end - start) / cells * _TICK_CELLS)
        line = [" "] * cells
        number = int((start - span[0]) / step)
        while (at := span[0] + number * step) < end:
            place = round((at - start) / (end - start) * cells)
            label = f"╷{format_duration(number * step) if number else '0'}"
            if place >= 0 and place + len(label) < cells:
                line[place : place + len(label)] = label
            number += 1
        return "".join(line)


def _choose_step(least: float) -> float:
    """The first round number of seconds from `least` on."""
    size = 1e-3
    while True:
        for factor in _STEPS:
            if size * factor >= least:
                return size * factor
        size *= 10


class TimelineRow(NamedTuple):
    """One row: a turn, or an answer or a batch of it, or a call of that batch. `number` counts batches."""

    turn: TurnTiming
    event: RequestTiming | Batch | None = None
    call: Call | None = None
    number: int = 0

    @property
    def entry(self) -> Entry | None:
        """What the transcript has for it, or for what came next; None where it has nothing."""
        events = self.turn.events
        if self.event is None:
            if self.turn.prompt is not None:
                return self.turn.prompt
        else:
            events = events[next(place for place, event in enumerate(events) if event is self.event) :]
        entries = (event if isinstance(event, Batch) else event.answer for event in events)
        return next((entry for entry in entries if entry is not None), None)

    def is_same(self, other: TimelineRow) -> bool:
        """Whether it stands for the same thing, whatever became of it."""
        return self.turn is other.turn and self.event is other.event and self.call is other.call


def list_rows(timings: TurnTimings) -> list[TimelineRow]:
    """All rows, in the order in which things began."""
    return [row for turn in timings.turns for row in _list_turn_rows(turn)]


def _list_turn_rows(turn: TurnTiming) -> Iterator[TimelineRow]:
    yield TimelineRow(turn)
    number = 0
    for event in turn.events:
        if isinstance(event, RequestTiming):
            yield TimelineRow(turn, event)
            continue
        number += 1
        if len(event.calls) > 1:
            yield TimelineRow(turn, event, None, number)
        for call in event.calls:
            yield TimelineRow(turn, event, call, number)


_MODEL = "━"
_PAUSE = "┄"
_BATCH = "─"
_STATE_CELLS = 25
_TIME_CELLS = 12


@dataclass(frozen=True, slots=True)
class Columns:
    """How wide the columns are: what it is, its lane, its state, its time. Narrow screens leave some out."""

    name: int
    lane: int
    state: int
    time: int

    @property
    def width(self) -> int:
        """All of them together."""
        return self.name + self.lane + self.state + self.time

    @classmethod
    def of(cls, width: int) -> Columns:
        """The columns of a line of so many cells, two of which are for the mark and one for the edge."""
        time = _TIME_CELLS if width >= 40 else 0
        state = _STATE_CELLS if width >= 96 else 12 if width >= 64 else 0
        room = max(width - 3 - state - time, 5)
        name = min(max(room * 2 // 5, 16), 44, room - 1)
        return cls(name, room - name, state, time)


def draw_row(row: TimelineRow, columns: Columns, axis: Axis, palette: Palette, now: float) -> Strip:
    """The line of a row; for a screen reader in words alone."""
    name, bar, state, time = _draw_cells(row, columns, axis, palette, now)
    if palette.screen_reader:
        words = ("".join(text for text, _ in runs).strip() for runs in (name, state))
        took = time if row.turn.end is not None else ""  # nothing that counts on
        return build_strip((fit_text(", ".join(filter(None, (*words, took))), columns.width), Style()))
    parts = [*_fill_cells(name, columns.name - 1), (" ", Style()), *_fill_cells(bar, columns.lane)]
    if columns.state:
        parts += [
            ("  ", Style()),
            *_fill_cells(state[:1] if columns.state < _STATE_CELLS else state, columns.state - 2),
        ]
    if columns.time:
        parts.append((f"{fit_text(time, columns.time - 1):>{columns.time}}", palette.muted))
    return build_strip(*parts)


_Runs = list[tuple[str, Style]]


def _draw_cells(
    row: TimelineRow, columns: Columns, axis: Axis, palette: Palette, now: float
) -> tuple[_Runs, _Runs, _Runs, str]:
    span = row.turn.compute_span(now)
    window = axis.compute_window(span, columns.lane)
    timed = row.turn.timed
    match row:
        case TimelineRow(turn=turn, event=None):
            return _draw_turn(turn, span, columns, axis, palette)
        case TimelineRow(event=RequestTiming() as request):
            bar = _request(request, window, columns.lane, palette, now) if timed else []
            return *_answer(request, bar, palette), _format_time_taken(
                request.begin, request.end, now, timed=timed
            )
        case TimelineRow(event=Batch() as batch, call=Call() as call):
            bar = draw_lane(call, window, now, columns.lane, palette, others=batch.calls) if timed else []
            return _call(call, palette), bar, describe_state(call, palette), format_time(call, now)
        case TimelineRow(event=Batch() as batch):
            begin, end = find_span(batch, now)
            cells = _render_bar(((begin, end, _BATCH),), window, columns.lane)
            facts = summarise_batch(batch, (begin, end)).split(" · ")
            name: _Runs = [("  ", Style()), (f"batch {row.number}", palette.muted)]
            state: _Runs = [(" · ".join(facts[:2]), palette.muted)]
            return (
                name,
                [(cells, palette.muted)] if timed else [],
                state,
                _format_time_taken(begin, end, now, timed=timed),
            )
    raise AssertionError(f"a row of no known kind: {row}")


def _draw_turn(
    turn: TurnTiming, span: Stretch, columns: Columns, axis: Axis, palette: Palette
) -> tuple[_Runs, _Runs, _Runs, str]:
    prompt = (
        make_printable(turn.prompt.text.strip().partition("\n")[0], newlines=False)
        if turn.prompt
        else "continuing"
    )
    style = palette.heading if not turn.undone else palette.muted
    name: _Runs = [(f"{turn.number} ", palette.accent), (prompt, style)]
    ticks = axis.render_ticks(span, columns.lane) if turn.timed else ""
    ending = "under way" if turn.end is None else turn.ending
    loud = palette.muted if ending in ("completed", "under way") else palette.warning
    state: _Runs = [("taken back" if turn.undone else ending, loud)]
    return name, [(ticks, palette.muted)], state, format_duration(span[1] - span[0]) if turn.timed else ""


def _answer(request: RequestTiming, bar: _Runs, palette: Palette) -> tuple[_Runs, _Runs, _Runs]:
    words = make_printable(request.words, newlines=False)
    name: _Runs = [("  model ", Style()), (words, palette.muted)]
    if request.end is None:
        state: _Runs = [("thinks" if request.first is None else "answers", palette.accent)]
    else:
        state = [(format_amount(request.calls, "call") if request.calls else "answered", palette.muted)]
    if request.retries:
        state.append(
            (f" · {format_amount(len(request.retries), 'retry').replace('retrys', 'retries')}", palette.warning)
        )
    return name, bar, state


def _call(call: Call, palette: Palette) -> _Runs:
    telling, others = shorten_arguments(call)
    tool = make_printable(format_tool_name(call.tool) or "…", newlines=False)
    return [
        ("  ", Style()),
        (f"{call.number} ", palette.muted),
        (tool, Style(bold=True)),
        (f" {telling or others}".rstrip(), palette.muted if not telling else Style()),
    ]


def _request(request: RequestTiming, window: Stretch, cells: int, palette: Palette, now: float) -> _Runs:
    pauses = ((begin, min(end, request.end or now), _PAUSE) for begin, end in request.retries)
    text = _render_bar(((request.begin, request.end or now, _MODEL), *pauses), window, cells)
    return [(char, palette.warning if char == _PAUSE else palette.heading) for char in text]


def _render_bar(stretches: tuple[tuple[float, float, str], ...], window: Stretch, cells: int) -> str:
    """Stretches of time as cells of a window; a later one covers those before."""
    begin, end = window
    scale = cells / (end - begin)
    line = [" "] * cells
    for start, stop, glyph in stretches:
        if stop < begin or start > end:
            continue
        first = max(min(int((start - begin) * scale), cells - 1), 0)
        last = max(first, min(int((stop - begin) * scale - 1e-9), cells - 1))
        line[first : last + 1] = glyph * (last + 1 - first)
    return "".join(line)


def _format_time_taken(begin: float, end: float | None, now: float, *, timed: bool) -> str:
    return format_duration(max((now if end is None else end) - begin, 0.0)) if timed else ""


def _fill_cells(runs: _Runs, width: int) -> _Runs:
    """The runs in exactly so many cells."""
    left = width
    result: _Runs = []
    for text, style in runs:
        piece = fit_text(text, left)
        result.append((piece, style))
        left -= cell_len(piece)
        if piece != text:
            break
    return [*result, (pad_text("", max(left, 0)), Style())]


class Chart(LineList):
    """Draws the timings of turns; what is out of sight costs nothing but its place."""

    DEFAULT_CSS = """
    Chart {
        height: 1fr;
        background: $background;
        & > .chart--marked { background: $primary-muted; text-style: bold; }
    }
    """ + render_role_styles("Chart")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "chart--marked",
        *(name_component_class(role) for role in Palette.list_roles()),
    }

    def __init__(self, timings: TurnTimings, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._timings, self._clock = timings, clock
        self._rows: list[TimelineRow] = []
        self._version = -1
        self._palette: Palette | None = None
        self.axis = Axis()

    # -- what it shows ------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Show the rows there are, the beginning of the last turn marked."""
        self._take_in()
        self._mark(len(self._rows) - 1)  # so that as much of it as there is room for is in sight
        self._mark(max((n for n, row in enumerate(self._rows) if row.event is None), default=0))
        self._lead_cursor()

    def follow(self) -> None:
        """Time went by, or something happened: the mark stays where it is."""
        marked = self.row
        if self._version != self._timings.version:
            self._take_in()
            if marked is not None and not (self.row is not None and self.row.is_same(marked)):
                self._mark(next((n for n, row in enumerate(self._rows) if row.is_same(marked)), self._marked))
        self.refresh()

    def _take_in(self) -> None:
        self._version = self._timings.version
        self._rows = list_rows(self._timings)
        self._count = len(self._rows)

    @property
    def row(self) -> TimelineRow | None:
        """The marked row; None where there are none."""
        return self._rows[self._marked] if self._marked < len(self._rows) else None

    @property
    def palette(self) -> Palette:
        """The styles everything on the timeline is drawn in."""
        if self._palette is None:
            self._palette = read_palette(self)
        return self._palette

    # -- moving -------------------------------------------------------------------------------------------

    def mark_turn(self, by: int) -> None:
        """Mark the next turn (1) or the one before (-1)."""
        places = range(self._marked + 1, len(self._rows)) if by > 0 else range(self._marked - 1, -1, -1)
        if (place := next((n for n in places if self._rows[n].event is None), None)) is not None:
            self._mark(place)
            self._lead_cursor()

    def zoom(self, by: int) -> None:
        """Further in (1) or out (-1), around where the marked row begins; 0: all of each turn."""
        cells = self._columns.lane
        self.axis = self.axis.zoom_by(by, cells, self._find_middle()) if by else Axis()
        self.refresh()
        self.post_message(self.Marked())

    def shift(self, by: int) -> None:
        """Move along the axis by so many eighths of the lane."""
        self.axis = self.axis.move_by(by * max(self._columns.lane // 8, 1), self._columns.lane)
        self.refresh()

    def _find_middle(self) -> float:
        """Where on its axis the marked row begins; for a turn, what is in the middle now."""
        row, cells = self.row, self._columns.lane
        match row:
            case TimelineRow(event=RequestTiming(begin=moment)):
                pass
            case TimelineRow(call=Call(since=[(moment, _), *_])):
                pass
            case TimelineRow(event=Batch(calls=[Call(since=[(moment, _), *_]), *_])):
                pass
            case _:
                return (self.axis.left + cells / 2) / (cells * self.axis.zoom)
        return self.axis.share(moment, row.turn.compute_span(self._clock()))

    # -- drawing ------------------------------------------------------------------------------------------

    @property
    def _columns(self) -> Columns:
        return Columns.of(self.size.width)

    def render_line(self, y: int) -> Strip:
        """The row that is so far from the top; the marked one has a sign as well as a colour."""
        place = self._top + y
        if place >= len(self._rows):
            return Strip.blank(self.size.width, self.rich_style)
        strip = draw_row(self._rows[place], self._columns, self.axis, self.palette, self._clock())
        is_marked = place == self._marked
        line = Strip([Segment(choose_sign(self.app, "› ", "  ") if is_marked else "  "), *strip])
        line = line.adjust_cell_length(self.size.width)
        if is_marked:
            line = line.apply_style(self.get_component_rich_style("chart--marked", partial=True))
        return line.apply_style(self.rich_style)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._palette = None
