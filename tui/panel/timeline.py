"""A batch as a timeline: a lane for each call, its state, and what it has reported."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from application.view.entries import Batch, Call, Phase
from domain.text.amounts import format_amount
from domain.text.printable import printable
from tui.panel.folding import Row
from tui.transcript.cells.lines import fit_text, pad_text, program_text, strip_of
from tui.transcript.cells.palette import Palette
from tui.transcript.draw.lanes import lane, span_of
from tui.transcript.draw.status import state_of, time_of

_NAME_CELLS = 14
_LEAST_LANE, _MOST_LANE = 6, 24


def counts_of(batch: Batch) -> str:
    """How many calls wait for the person, run, wait for others, and are done."""
    phases = [call.phase for call in batch.calls]
    running, asked = phases.count(Phase.RUNNING), phases.count(Phase.REVIEWED)
    done = sum(not call.is_open for call in batch.calls)
    waiting = len(phases) - done - running - asked
    counts = {"for you": asked, "running": running, "waiting": waiting, "done": done}
    return " · ".join(f"{count} {word}" for word, count in counts.items() if count)


def timeline(batch: Batch, width: int, palette: Palette, now: float) -> list[Row]:
    """A row for each call, in the model's order; the lanes of all share one span of time."""
    columns = _Columns(batch.calls, width, palette, now, has_lanes=not batch.untimed)
    span = span_of(batch, now)
    return [
        Row(2 if call.progress.updates else 1, not call.is_open, partial(columns.row, call, span))
        for call in batch.calls
    ]


class _Columns:
    """The places of index, name, lane and state in a row, such that they stand below each other."""

    def __init__(
        self, calls: Sequence[Call], width: int, palette: Palette, now: float, *, has_lanes: bool
    ) -> None:
        self._calls, self._width, self._palette, self._now = calls, width, palette, now
        self._index = max(len(str(call.number)) for call in calls)
        longest = max(cell_len(_name(call)) for call in calls)
        states = max(cell_len(f"{self._state_text(call)} {time_of(call, now)}".rstrip()) for call in calls)
        room = width - self._index - 1
        self._state = min(states, room // 2)
        self._name = min(longest, _NAME_CELLS, room - self._state - 2)
        lane_room = room - self._name - self._state - 3
        self._lane = min(lane_room, _MOST_LANE) if has_lanes and lane_room >= _LEAST_LANE else 0

    def row(self, call: Call, span: tuple[float, float]) -> list[Strip]:
        """The lines of one call."""
        palette = self._palette
        left = [
            (f"{call.number:>{self._index}} ", palette.muted),
            (pad_text(fit_text(_name(call), self._name), self._name) + " ", Style(bold=call.is_open)),
        ]
        bar = lane(call, span, self._now, self._lane, palette, others=self._calls) if self._lane else []
        strips = [strip_of(*left, *bar, (" " * (2 if bar else 1), Style()), *self._states(call))]
        if call.progress.updates:
            strips.append(self._progress(call))
        return strips

    def _states(self, call: Call) -> list[tuple[str, Style]]:
        style = state_of(call, self._palette)[0][1]
        text, time = self._state_text(call), time_of(call, self._now)
        text = fit_text(text, self._state)
        gap = self._state - cell_len(text) - len(time)
        return [(text, style), (" " * gap + time, self._palette.muted)] if gap > 0 else [(text, style)]

    def _state_text(self, call: Call) -> str:
        return state_of(call, self._palette)[0][0]

    def _progress(self, call: Call) -> Strip:
        """How often it reported, and while it runs what it said last."""
        indent = " " * (self._index + 1)
        text = format_amount(call.progress.updates, "update")
        shown = call.progress.list_lines()
        if call.phase is Phase.RUNNING and shown:
            text += f" · {printable(program_text(shown[-1]), newlines=False)}"
        return strip_of((indent + fit_text(f"↳ {text}", self._width - len(indent)), self._palette.muted))


def _name(call: Call) -> str:
    return printable(call.tool or "…", newlines=False)
