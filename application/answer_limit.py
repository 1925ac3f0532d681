"""The most that a model may write in one answer: a stream without an end is ended by us."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from quorum.application.ports.models import OnStreamEvent
from quorum.domain.conversation.response import Delta, StreamedReasoning, StreamedToolCall, StreamEvent

MOST_CHARACTERS = 1_000_000
"""Of text, reasoning and arguments together; more than the longest answer of any model."""


class AnswerTooLong(Exception):
    """An answer was broken off because it was too long; the text says so."""

    def __init__(self) -> None:
        super().__init__(f"it wrote more than {MOST_CHARACTERS:,} characters and was cut off")


class _Meter:
    """Counts what arrives, passes it on, and ends the request once it is too much."""

    def __init__(self, deadline: asyncio.Timeout, on_event: OnStreamEvent) -> None:
        self._deadline = deadline
        self._on_event = on_event
        self._characters = 0

    @property
    def is_full(self) -> bool:
        return self._characters > MOST_CHARACTERS

    def __call__(self, event: StreamEvent) -> None:
        if self.is_full:
            return  # what arrives until the request has ended is left out
        match event:
            case Delta() | StreamedReasoning():
                self._characters += len(event.text)
            case StreamedToolCall():
                self._characters += len(event.arguments_delta)
            case _:
                pass
        if self.is_full:
            self._deadline.reschedule(asyncio.get_running_loop().time())
        else:
            self._on_event(event)


@asynccontextmanager
async def limit_answer(on_event: OnStreamEvent) -> AsyncIterator[OnStreamEvent]:
    """What to give a session as its `on_event`. Raises AnswerTooLong where more arrives than an answer may
    have; the request is cancelled then."""
    meter: _Meter | None = None
    try:
        async with asyncio.timeout(None) as deadline:
            meter = _Meter(deadline, on_event)
            yield meter
    except TimeoutError:
        if meter is None or not meter.is_full:
            raise
        raise AnswerTooLong from None
