"""A batch as rows: each call with its arguments, its state, its last report, and where there is room a lane."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import Batch, Call, Phase
from quorum.domain.text.amounts import format_amount, format_duration
from quorum.domain.text.printable import make_printable
from quorum.tui.side_panel.folding import Row
from quorum.tui.transcript.cells.lines import build_strip, clean_program_text, fit_text, pad_text
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.draw.lanes import draw_lane, find_span
from quorum.tui.transcript.draw.rows import WORTH_TELLING_SECS, choose_verb
from quorum.tui.transcript.draw.status import describe_state, measure_seconds, shorten_arguments

_LEAST_LANE, _MOST_LANE = 6, 24
_ROOM_FOR_LANES = 60
_MOST_VERB = 10
_SIGNS = {
    Phase.COMPOSED: "·",
    Phase.QUEUED: "·",
    Phase.REVIEWED: "?",
    Phase.RUNNING: "●",
    Phase.ABANDONED: "–",
}


def count_waiting(batch: Batch) -> str:
    """How many calls wait for the person, run, and wait for others."""
    phases = [call.phase for call in batch.calls if call.is_open]
    running, asked = phases.count(Phase.RUNNING), phases.count(Phase.REVIEWED)
    counts = {"for you": asked, "running": running, "waiting": len(phases) - running - asked}
    return " · ".join(f"{count} {word}" for word, count in counts.items() if count)


def draw_timeline(batch: Batch, width: int, palette: Palette, now: float) -> list[Row]:
    """A row for each call, in the model's order; lanes, which need room, share one span of time."""
    columns = _Columns(batch.calls, width, palette, now, has_lanes=not batch.untimed)
    span = find_span(batch, now)
    return [
        Row(2 if call.progress.updates else 1, not call.is_open, partial(columns.render_row, call, span))
        for call in batch.calls
    ]


class _Columns:
    """The places of number, verb, arguments, lane and state in a row, such that they stand below each other."""

    def __init__(
        self, calls: Sequence[Call], width: int, palette: Palette, now: float, *, has_lanes: bool
    ) -> None:
        self._calls, self._width, self._palette, self._now = calls, width, palette, now
        self._index = max(len(str(call.number)) for call in calls)
        verbs = max(cell_len(choose_verb(call)) for call in calls)
        self._verb = min(verbs, max(min(width // 3, _MOST_VERB), 1))
        self._says_states = width >= _ROOM_FOR_LANES
        self._sign = 0 if self._says_states else 2
        room = width - self._sign - self._index - self._verb - 2
        states = max(cell_len(self._describe_state(call)) for call in calls)
        self._state_cells = min(states, room // 2)
        has_lanes = has_lanes and self._says_states
        arguments = room - self._state_cells - 1 - (_LEAST_LANE + 1 if has_lanes else 0)
        longest = max(cell_len(shorten_arguments(call)[0]) for call in calls)
        self._arguments = max(min(longest, arguments), 0) if has_lanes else max(arguments, 0)
        self._lane = min(room - self._arguments - self._state_cells - 2, _MOST_LANE) if has_lanes else 0

    def render_row(self, call: Call, span: tuple[float, float]) -> list[Strip]:
        """The lines of one call."""
        palette, style = self._palette, Style(bold=call.is_open)
        verb = pad_text(fit_text(choose_verb(call), self._verb), self._verb)
        telling, state = shorten_arguments(call)[0], fit_text(self._describe_state(call), self._state_cells)
        room = self._arguments
        if self._sign:  # a row without a time leaves its place to the arguments
            room += self._state_cells - cell_len(state)
        bar = draw_lane(call, span, self._now, self._lane, palette, others=self._calls) if self._lane else []
        strips = [
            build_strip(
                (f"{self._choose_sign(call)} " if self._sign else "", describe_state(call, palette)[0][1]),
                (f"{call.number:>{self._index}} ", palette.muted),
                (verb + " ", palette.muted),
                (pad_text(fit_text(telling, room), room) + " ", style),
                *bar,
                (" " if bar else "", Style()),
                (state, describe_state(call, palette)[0][1]),
            )
        ]
        if call.progress.updates:
            strips.append(self._draw_progress(call))
        return strips

    def _describe_state(self, call: Call) -> str:
        """Its state in words where there is room, and how long it took or has been running from a second on."""
        word = describe_state(call, self._palette)[0][0]
        seconds = measure_seconds(call, self._now)
        time = format_duration(seconds) if seconds is not None and seconds >= WORTH_TELLING_SECS else ""
        return (
            f"{self._choose_sign(call) if word == 'ok' else word} {time}".strip() if self._says_states else time
        )

    def _choose_sign(self, call: Call) -> str:
        return _SIGNS.get(call.phase) or ("✓" if describe_state(call, self._palette)[0][0] == "ok" else "✗")

    def _draw_progress(self, call: Call) -> Strip:
        """How often it reported, and while it runs what it said last."""
        indent = " " * (self._sign + self._index + 1)
        text = format_amount(call.progress.updates, "update")
        shown = call.progress.list_lines()
        if call.phase is Phase.RUNNING and shown:
            text += f" · {make_printable(clean_program_text(shown[-1]), newlines=False)}"
        return build_strip((indent + fit_text(f"↳ {text}", self._width - len(indent)), self._palette.muted))
