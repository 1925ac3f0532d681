"""The rows of a timeline: turns, and below each its answers, batches and calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tui.transcript.model.entries import Batch, Call, Entry
from tui.transcript.model.turn_timings import Chronicle, Request, Turn


class Row(NamedTuple):
    """One row: a turn, or an answer or a batch of it, or a call of that batch. `number` counts batches."""

    turn: Turn
    event: Request | Batch | None = None
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

    def is_same(self, other: Row) -> bool:
        """Whether it stands for the same thing, whatever became of it."""
        return self.turn is other.turn and self.event is other.event and self.call is other.call


def rows_of(chronicle: Chronicle) -> list[Row]:
    """All rows, in the order in which things began."""
    return [row for turn in chronicle.turns for row in _of_turn(turn)]


def _of_turn(turn: Turn) -> Iterator[Row]:
    yield Row(turn)
    number = 0
    for event in turn.events:
        if isinstance(event, Request):
            yield Row(turn, event)
            continue
        number += 1
        if len(event.calls) > 1:
            yield Row(turn, event, None, number)
        for call in event.calls:
            yield Row(turn, event, call, number)
