"""The rows of a timeline: turns, and below each its answers, batches and calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from quorum.application.view.entries import Batch, Call, Entry
from quorum.application.view.turn_timings import RequestTiming, TurnTiming, TurnTimings


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
