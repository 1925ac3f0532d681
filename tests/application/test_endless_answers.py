"""A participant that writes without an end is cut off and named, and the others count: in every form."""

import asyncio
from functools import partial
from typing import Any, cast

import pytest

from quorum.application.panel.debate import Debate
from quorum.application.panel.discussion import Discussion
from quorum.application.panel.ensemble import Ensemble
from quorum.application.panel.panel_session import PanelSession
from quorum.application.structured_answer import MOST_CHARACTERS, AnswerTooLong, limit_answer
from quorum.domain.conversation.response import Delta, StreamedReasoning, StreamedToolCall, StreamEvent
from quorum.domain.events.event import ObjectionsRaised, PanelAnswered, PanelReviewed
from quorum.domain.panel.panel_answer import AnswerStatus
from tests.support.builders import a_call, calls_response
from tests.support.fake_session import Step
from tests.support.panel_room import PanelRoom, reviews, text

_PIECE = "x" * 100_000


def endless() -> Step:
    """More than there may be, and then it goes on for ever."""
    return Step(
        answer=text("never"), first=[_PIECE] * (MOST_CHARACTERS // len(_PIECE) + 1), gate=asyncio.Event()
    )


def nothing() -> Any:
    return calls_response(a_call("raise_objections", {"objections": []}))


def synthesis() -> Any:
    fields = {"conclusion": "cron it is", "key_points": [], "agreement": [], "disagreement": []}
    return calls_response(a_call("synthesise", cast("Any", fields)))


def additions() -> Any:
    return calls_response(a_call("list_additions", {"additions": []}))


_LONG_LIMIT = 600.0  # nobody waits for that: the size ends it


@pytest.mark.parametrize(("form", "moderator"), [(Discussion, synthesis), (Ensemble, additions)])
async def test_an_endless_answer_is_cut_off_and_the_others_count(form: Any, moderator: Any) -> None:
    scripts = {"a": [text("cron"), reviews(C=5)], "b": [endless()], "c": [text("cron"), reviews(A=9)]}
    room = PanelRoom(form, {**scripts, "mod": [moderator()]}, secs=_LONG_LIMIT)
    said = await room.discuss()
    assert "cron" in said
    assert room.statuses() == {
        "A": AnswerStatus.ANSWERED,
        "B": AnswerStatus.TOO_LONG,
        "C": AnswerStatus.ANSWERED,
    }
    (late,) = (e.answer for e in room.seen.events if isinstance(e, PanelAnswered) and e.answer.label == "B")
    assert late.reason == "it wrote more than 1,000,000 characters and was cut off"
    assert len(late.text) <= 60_000, "the record does not hold all of it"


@pytest.mark.parametrize("form", [Discussion, Ensemble])
async def test_an_endless_review_is_no_review(form: Any) -> None:
    scripts = {"a": [text("cron"), endless()], "b": [text("queue"), reviews(A=9)]}
    moderator = synthesis() if form is Discussion else additions()
    room = PanelRoom(form, {**scripts, "mod": [moderator]}, secs=_LONG_LIMIT)
    await room.discuss()
    failed = [e.review for e in room.seen.events if isinstance(e, PanelReviewed) and e.review.error]
    assert [(each.label, "more than 1,000,000 characters" in each.error) for each in failed] == [("A", True)]


async def test_in_a_debate_another_one_stands_in_for_the_endless_one() -> None:
    form = cast("type[PanelSession]", partial(Debate))
    scripts = {"a": [endless()], "b": [text("queue")], "c": [endless()], "d": [nothing()], "mod": []}
    room = PanelRoom(form, scripts, secs=_LONG_LIMIT)
    assert (await room.discuss()).startswith("queue")
    raised = [e.raised for e in room.seen.events if isinstance(e, ObjectionsRaised)]
    assert [(each.label, bool(each.error)) for each in raised] == [("C", True), ("D", False)]


@pytest.mark.parametrize(
    "piece", [Delta(_PIECE), StreamedReasoning(_PIECE), StreamedToolCall(index=0, arguments_delta=_PIECE)]
)
async def test_text_reasoning_and_arguments_count(piece: StreamEvent) -> None:
    passed: list[StreamEvent] = []

    async def write() -> None:
        async with limit_answer(passed.append) as on_event:
            for _ in range(1_000):
                on_event(piece)
            await asyncio.Event().wait()

    with pytest.raises(AnswerTooLong):
        await write()
    assert len(passed) == MOST_CHARACTERS // len(_PIECE)


async def test_a_time_limit_around_it_stays_a_time_limit() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01), limit_answer(lambda _event: None):
            await asyncio.Event().wait()
