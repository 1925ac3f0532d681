"""Pieces of an answer that come at once are shown as one, in their order."""

import asyncio

import pytest

from quorum.application.event_bus import StreamEvents
from quorum.domain.conversation.response import (
    Completed,
    Delta,
    StreamedReasoning,
    StreamedToolCall,
    StreamEvent,
)
from quorum.domain.events.event import Event, ReasoningDelta, TextDelta, ToolCallDelta


async def test_pieces_of_text_that_come_without_waiting_are_shown_as_one() -> None:
    shown: list[Event] = []
    stream = StreamEvents(shown.append)

    for piece in ("one ", "two ", "three"):
        stream.add_event(Delta(piece))
    await asyncio.sleep(0)
    assert shown == [TextDelta(text="one two three")]

    stream.add_event(Delta(" four"))
    await asyncio.sleep(0)
    assert shown[1:] == [TextDelta(text=" four")]


async def test_text_is_shown_before_whatever_comes_after_it() -> None:
    shown: list[Event] = []
    stream = StreamEvents(shown.append)

    for event in (
        StreamedReasoning("so "),
        StreamedReasoning("then"),
        Delta("first"),
        StreamedToolCall(index=0, id="c1", name="read_file"),
        Delta("last"),
    ):
        stream.add_event(event)

    assert shown == [
        ReasoningDelta(text="so then"),
        TextDelta(text="first"),
        ToolCallDelta(index=0, id="c1", name="read_file", arguments_delta=""),
    ]
    stream.flush()
    assert shown[3:] == [TextDelta(text="last")]


@pytest.mark.parametrize("end", [Completed("all of it")])
async def test_the_end_of_an_answer_shows_what_waits_and_nothing_is_shown_twice(end: StreamEvent) -> None:
    shown: list[Event] = []
    stream = StreamEvents(shown.append)

    stream.add_event(Delta("all of it"))
    stream.add_event(end)
    assert shown == [TextDelta(text="all of it")]
    await asyncio.sleep(0)
    assert shown == [TextDelta(text="all of it")]
