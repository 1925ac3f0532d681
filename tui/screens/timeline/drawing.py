"""One row of a timeline as a line: what it is, its lane, how it went."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import Batch, Call
from quorum.application.view.turn_timings import RequestTiming, Stretch, TurnTiming
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.text.amounts import format_amount, format_duration
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.timeline.axis import Axis
from quorum.tui.screens.timeline.rows import TimelineRow
from quorum.tui.transcript.cells.lines import build_strip, fit_text, pad_text
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.draw.lanes import draw_lane, find_span
from quorum.tui.transcript.draw.status import describe_state, format_time, shorten_arguments, summarise_batch

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

    @classmethod
    def of(cls, width: int) -> Columns:
        """The columns of a line of so many cells, two of which are for the mark and one for the edge."""
        time = _TIME_CELLS if width >= 40 else 0
        state = _STATE_CELLS if width >= 96 else 12 if width >= 64 else 0
        room = max(width - 3 - state - time, 5)
        name = min(max(room * 2 // 5, 16), 44, room - 1)
        return cls(name, room - name, state, time)


def draw_row(row: TimelineRow, columns: Columns, axis: Axis, palette: Palette, now: float) -> Strip:
    """The line of a row."""
    name, bar, state, time = _draw_cells(row, columns, axis, palette, now)
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
