"""A model that fails at any step of any form, in any way: the others go on, and the failure is said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest

from quorum.application.conversation_session import CONTINUE_PROMPT
from quorum.application.panel.debate import Debate
from quorum.application.panel.discussion import Discussion
from quorum.application.panel.ensemble import Ensemble
from quorum.application.panel.panel_session import NoPanelAnswer, PanelSession
from quorum.application.structured_answer import MOST_CHARACTERS
from quorum.domain.conversation.history import AssistantMessage, UserMessage
from quorum.domain.conversation.response import REFUSAL, LlmResponse, TextBlock
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import (
    AnswerDefended,
    AnswerRevised,
    Event,
    ObjectionsRaised,
    ObjectionsRuled,
    PanelAnswered,
    PanelConcluded,
    PanelReviewed,
)
from quorum.domain.panel.panel_answer import AnswerStatus
from tests.support.builders import a_call, calls_response
from tests.support.fake_session import FakeSession, Step
from tests.support.panel_room import DOWN, PanelRoom, reviews, text
from tests.support.unhurried import run_unhurried

SCORES = {"a": reviews(B=5, C=5), "b": reviews(A=9, C=5), "c": reviews(A=9, B=5)}
SYNTHESIS = {"conclusion": "cron", "key_points": [], "agreement": [], "disagreement": []}
OBJECTIONS = {"objections": [{"claim": "it loses jobs", "evidence": "after a restart", "severity": "high"}]}
RESPONSES = {"responses": [{"objection": "R1-B1", "stance": "concede", "text": "right"}]}
RULINGS = {"rulings": [{"objection": "R1-B1", "ruling": "upheld", "reason": "shown"}]}


def fields(tool: str, arguments: Any) -> LlmResponse:
    return calls_response(a_call(tool, arguments))


def endless() -> Step:
    size = 100_000
    pieces = ["x" * size] * (MOST_CHARACTERS // size + 1)
    return Step(answer=text("never"), first=pieces, gate=asyncio.Event())


REFUSED = LlmResponse(content=(TextBlock("no"),), stop_reason=REFUSAL)
WAYS: dict[str, tuple[Callable[[], list[Any]], str]] = {
    "down": (lambda: [DOWN], "it is down"),
    "silent": (lambda: [Step(answer=text("late"), gate=asyncio.Event())], "no answer within 10 s"),
    "endless": (lambda: [endless()], "more than 1,000,000 characters"),
    "refusing": (lambda: [REFUSED, REFUSED], "refus"),
    "empty": (lambda: [text(" "), text(" ")], ""),
    "mumbling": (lambda: [text("8/10."), text("I disapprove")], "it did not call"),
}
"""What a model answers that fails so, and what is said of it. Where fields are wanted it is asked twice."""


def first_answers(way: str) -> list[Any]:
    """What comes where a text is wanted: only an empty answer is asked for again."""
    return WAYS[way][0]()[: 2 if way == "empty" else 1]


def discussed(form: type[PanelSession]) -> tuple[Any, dict[str, list[Any]]]:
    synthesis = fields("synthesise", SYNTHESIS)
    moderator = synthesis if form is Discussion else fields("list_additions", {"additions": []})
    answers = {"a": text("cron"), "b": text("queue"), "c": text("queue")}
    return form, {**{name: [answers[name], SCORES[name]] for name in answers}, "mod": [moderator]}


def debated() -> tuple[Any, dict[str, list[Any]]]:
    scripts: dict[str, list[Any]] = {
        "a": [text("cron"), fields("respond", RESPONSES), fields("revise", {"answer": "cron with a lock"})],
        "b": [fields("raise_objections", OBJECTIONS), fields("raise_objections", {"objections": []})],
        "c": [fields("raise_objections", {"objections": []})] * 2,
        "mod": [fields("rule", RULINGS)],
    }
    return cast("type[PanelSession]", partial(Debate)), scripts


STEPS: dict[str, tuple[Callable[[], tuple[Any, dict[str, list[Any]]]], str, int]] = {
    "discussion review": (lambda: discussed(Discussion), "b", 1),
    "discussion synthesis": (lambda: discussed(Discussion), "mod", 0),
    "ensemble scores": (lambda: discussed(Ensemble), "b", 1),
    "ensemble additions": (lambda: discussed(Ensemble), "mod", 0),
    "debate objections": (debated, "b", 0),
    "debate responses": (debated, "a", 1),
    "debate rulings": (debated, "mod", 0),
    "debate revision": (debated, "a", 2),
}
"""Where fields are wanted: the form, who is asked, and after how many other requests."""


def list_reasons(event: Event) -> list[str]:
    match event:
        case PanelAnswered(answer=answer):
            return [answer.reason]
        case PanelReviewed(review=review):
            return [review.error]
        case ObjectionsRaised(raised=raised):
            return [raised.error]
        case AnswerDefended(defence=defence):
            return [defence.error]
        case ObjectionsRuled(ruled=ruled):
            return [ruled.error]
        case AnswerRevised(revised=revised):
            return [revised.error]
        case PanelConcluded(reason=reason):
            return [reason]
        case _:
            return []


def find_reasons(room: PanelRoom) -> str:
    return "\n".join(reason for event in room.seen.events for reason in list_reasons(event) if reason)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("step", STEPS)
def test_who_fails_where_fields_are_wanted_is_named_and_an_answer_stands(step: str, way: str) -> None:
    make, name, place = STEPS[step]
    form, scripts = make()
    answers, said = WAYS[way]
    scripts[name][place : place + 1] = answers()
    room = PanelRoom(form, scripts, secs=10.0)
    answer = run_unhurried(room.discuss())
    assert "cron" in answer
    assert (said or "it did not call") in find_reasons(room)
    assert len(room.seen.of(PanelConcluded)) == 1


@pytest.mark.parametrize("way", [way for way in WAYS if way != "mumbling"])  # prose is an answer
@pytest.mark.parametrize("down", ["b", "bc"])
@pytest.mark.parametrize("form", [Discussion, Ensemble])
def test_one_or_two_of_three_that_do_not_answer_are_named_and_the_rest_goes_on(
    form: Any, down: str, way: str
) -> None:
    _, scripts = discussed(form)
    _, said = WAYS[way]
    scripts.update({name: first_answers(way) for name in down})
    scripts["a"][1:] = [reviews(C=5)] if down == "b" else []
    if down == "b":
        scripts["c"][1] = reviews(A=9)
    room = PanelRoom(form, scripts, secs=10.0)
    assert run_unhurried(room.discuss()).startswith("cron")
    assert find_reasons(room).count(said or "it said nothing") == len(down)
    assert {label for label, status in room.statuses().items() if status != "answered"} == set(down.upper())


@pytest.mark.parametrize("way", [way for way in WAYS if way != "mumbling"])
@pytest.mark.parametrize("form", [Discussion, Ensemble, cast("Any", partial(Debate))])
def test_where_all_fail_each_is_named_and_nobody_else_is_asked(form: Any, way: str) -> None:
    _, said = WAYS[way]
    scripts = {name: first_answers(way) for name in "abc"}
    room = PanelRoom(form, {**scripts, "mod": []}, secs=10.0)
    with pytest.raises(NoPanelAnswer) as failed:
        run_unhurried(room.discuss())
    assert str(failed.value).count(said or "it said nothing") == 3
    assert all(f"p/{name}: " in str(failed.value) for name in "abc")
    assert room.requests("mod") == 0


CUT = ProviderError("the stream broke off", kind=ProviderErrorKind.DAMAGED_STREAM, partial=True)


async def test_an_answer_in_a_panel_that_breaks_off_is_continued_once() -> None:
    form, scripts = discussed(Ensemble)
    scripts["a"][:1] = [Step(answer=CUT, first=("use a ",)), text("queue")]
    scripts["a"][-1], scripts["c"][-1] = reviews(C=5), reviews(A=9)
    scripts["b"][:1] = [Step(answer=CUT, first=("half ",)), Step(answer=CUT, first=("of it",))]
    room = PanelRoom(form, scripts)

    await room.discuss()

    answers = {event.answer.label: event.answer for event in room.seen.of(PanelAnswered)}
    assert (answers["A"].status, answers["A"].text) == (AnswerStatus.ANSWERED, "use a queue")
    assert (answers["B"].status, answers["B"].text) == (AnswerStatus.FAILED, "half of it")
    sent = next(session.sent for session in room.gateway.sessions if session.model == "p/a")
    assert isinstance(sent[1].messages[-2], AssistantMessage)
    assert sent[1].messages[-1] == UserMessage(CONTINUE_PROMPT)


async def test_an_answer_in_a_form_that_breaks_off_within_its_fields_is_asked_for_once_more() -> None:
    session = FakeSession([Step(answer=CUT), reviews(B=5, C=7)])

    response = await session.send_with_tools("score", (), on_event=lambda _event: None)

    assert [call.tool_name for call in response.tool_calls()] == ["review_answers"]
    first, again = session.sent
    assert again.messages == first.messages


async def test_text_and_fields_of_an_answer_in_two_parts_are_one_answer() -> None:
    session = FakeSession([Step(answer=CUT, first=("I ",)), reviews(B=5)])

    response = await session.send_with_tools("score", (), on_event=lambda _event: None)

    assert (response.text_content(), len(response.tool_calls())) == ("I ", 1)
    assert [type(message) for message in session.conversation.messages] == [UserMessage, AssistantMessage]


async def test_a_refusal_in_the_middle_of_an_answer_is_not_asked_again() -> None:
    refused = ProviderError("no", kind=ProviderErrorKind.AUTHENTICATION, partial=True)
    session = FakeSession([Step(answer=refused, first=("I ",)), text("never")])

    with pytest.raises(ProviderError):
        await session.send("score")

    assert len(session.sent) == 1
