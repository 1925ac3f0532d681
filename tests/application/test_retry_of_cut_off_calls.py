"""A call that the output limit cut off: the same request is sent once more, with room for a longer answer."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from quorum.application.view.entries import Notice
from quorum.application.view.session_view import SessionView
from quorum.domain.conversation.history import ToolResults, UserMessage
from quorum.domain.conversation.response import MAX_TOKENS, LlmResponse, TextBlock, ToolUseBlock, Usage
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import (
    NoticeGiven,
    RequestRepeated,
    ResponseCompleted,
    TextDelta,
    TurnStarted,
    UsageCounted,
    event_from_json,
)
from quorum.domain.events.report import RunStatus
from quorum.domain.replacing import replace
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.infrastructure.models.shared.exchange import ApiExchange
from tests.application.test_run_agent import DOWN, Bench, reads
from tests.support.fake_session import Step
from tests.support.session_rigs import open_api_client
from tests.support.sse_server import Dialect, Refuse, Say, ScriptedCall, SseServer

CUT = LlmResponse(
    content=(TextBlock("I write"), ToolUseBlock(id="w", name="write", input={})),
    stop_reason=MAX_TOKENS,
    usage=Usage(input=5, output=8_000),
)
REFUSED = ProviderError("max_tokens: 32000 > 16000", kind=ProviderErrorKind.BAD_REQUEST)


async def test_the_same_request_is_sent_once_more_with_room_for_a_longer_answer() -> None:
    bench = Bench(reads("a"), CUT, replace(LlmResponse.from_text("done"), usage=Usage(output=1)))

    report = await bench.agent.execute("go")

    assert (report.status, report.text) == (RunStatus.COMPLETED, "done")
    first, cut, again = bench.session.sent
    assert again.messages == cut.messages
    assert isinstance(again.messages[-1], ToolResults)
    assert [sent.max_output_tokens for sent in (first, cut, again)] == [None, None, 32_000]
    repeated = RequestRepeated(max_output_tokens=32_000)
    assert bench.observer.of(RequestRepeated) == [repeated]
    assert event_from_json(repeated.to_json()) == repeated
    assert len(bench.observer.of(ResponseCompleted)) == 2
    assert report.usage == Usage(input=5, output=8_001)
    assert sum((e.usage for e in bench.observer.of(UsageCounted)), Usage()) == report.usage  # type: ignore[attr-defined]


async def test_a_repeat_that_breaks_off_is_continued_once() -> None:
    broken = ProviderError("cut", kind=ProviderErrorKind.DAMAGED_STREAM, partial=True)
    bench = Bench(CUT, Step(answer=broken, first=("half ",)), LlmResponse.from_text("done"))

    report = await bench.agent.execute("go")

    assert (report.status, report.text) == (RunStatus.COMPLETED, "half done")
    assert [sent.max_output_tokens for sent in bench.session.sent] == [None, 32_000, 32_000]


async def test_a_repeat_that_breaks_off_twice_fails_the_turn_and_keeps_what_arrived() -> None:
    broken = ProviderError("cut", kind=ProviderErrorKind.DAMAGED_STREAM, partial=True)
    steps = [Step(answer=broken, first=("half ",)), Step(answer=broken, first=("an ",))]
    bench = Bench(CUT, *steps, LlmResponse.from_text("never"))

    report = await bench.agent.execute("go")

    assert report.status is RunStatus.FAILED
    assert len(bench.session.sent) == 3


async def test_no_more_is_asked_for_than_a_known_model_writes_in_one_answer() -> None:
    bench = Bench(CUT, LlmResponse.from_text("done"))
    bench.session.model = "openai/gpt-4o"

    report = await bench.agent.execute("go")

    assert report.status is RunStatus.COMPLETED
    assert [sent.max_output_tokens for sent in bench.session.sent] == [None, 16_384]


async def test_an_answer_as_long_as_a_known_model_writes_is_not_asked_for_again() -> None:
    bench = Bench(replace(CUT, usage=Usage(output=16_384)))
    bench.session.model = "openai/gpt-4o"

    report = await bench.agent.execute("go")

    assert (report.status, report.stop_reason) == (RunStatus.LIMIT, "max_tokens")
    assert len(bench.session.sent) == 1


async def test_an_answer_that_is_cut_again_ends_the_turn_at_the_limit() -> None:
    bench = Bench(CUT, CUT)

    report = await bench.agent.execute("go")

    assert (report.status, report.stop_reason, report.calls) == (RunStatus.LIMIT, "max_tokens", ())
    assert len(bench.session.sent) == 2
    assert await bench.next_prompt_works()


async def test_a_model_that_gives_no_longer_answer_is_named_and_the_turn_ends_at_the_limit() -> None:
    bench = Bench(CUT, REFUSED)

    report = await bench.agent.execute("go")

    assert (report.status, report.stop_reason, report.text) == (RunStatus.LIMIT, "max_tokens", "I write")
    reply = "fake/model gives no longer answer: max_tokens: 32000 > 16000"
    assert NoticeGiven(message=reply) in bench.observer.events
    assert report.usage == CUT.usage
    assert await bench.next_prompt_works()


async def test_another_failure_of_the_repetition_fails_the_turn_and_the_cut_answer_is_gone() -> None:
    bench = Bench(CUT, DOWN)

    report = await bench.agent.execute("go")

    assert (report.status, report.error) == (RunStatus.FAILED, "the provider is down")
    assert bench.conversation.messages == (UserMessage("go"),)
    assert report.usage == CUT.usage
    events = [e for e in bench.observer.events if e.durable]
    reported = replay_state(LedgerRecord(seq=n, at_ms=n, event=e) for n, e in enumerate(events))
    assert reported.messages == bench.conversation.messages


async def test_esc_during_the_repetition_leaves_a_conversation_that_goes_on() -> None:
    bench = Bench(CUT, Step(answer=reads("b"), gate=asyncio.Event()))
    running = asyncio.create_task(bench.agent.execute("go"))
    await bench.session.waiting.wait()
    running.cancel()

    assert (await running).status is RunStatus.INTERRUPTED
    assert bench.paired()
    assert await bench.next_prompt_works()


async def test_a_text_that_is_cut_off_is_continued_as_ever() -> None:
    text = LlmResponse(content=(TextBlock("one "),), stop_reason=MAX_TOKENS, usage=Usage(output=9))
    bench = Bench(text, LlmResponse.from_text("two"))

    assert (await bench.agent.execute("go")).text == "one two"
    assert bench.observer.of(RequestRepeated) == []


def test_what_was_shown_of_the_cut_answer_is_marked() -> None:
    view = SessionView()
    for event in (
        TurnStarted(prompt="go"),
        TextDelta(text="I write"),
        RequestRepeated(max_output_tokens=32_000),
    ):
        view.apply(event)
    view.apply(TextDelta(text="again"))

    *_, marked, _answer = view.entries
    assert isinstance(marked, Notice)
    assert "cut off in the middle of a call" in marked.text


@pytest.mark.parametrize(
    ("dialect", "field"),
    [("anthropic", "max_tokens"), ("openai", "max_output_tokens"), ("openai-chat", "max_tokens")],
)
async def test_every_api_is_asked_for_the_longer_answer(dialect: Dialect, field: str) -> None:
    half = ScriptedCall(id="w", name="read", arguments='{"cell": "a')
    async with SseServer(dialect) as server:
        server.script = [Say(calls=[half], stop="max_tokens"), Say(pieces=["done"])]
        if dialect == "openai-chat":
            server.script[0] = Say(calls=[half], stop="length")
        async with aclosing(open_api_client(server)) as client:
            bench = Bench(opens=ApiExchange(client, model="m"))
            report = await bench.agent.execute("go")

    assert report.text == "done"
    assert server.bodies[1][field] == 16_384
    assert server.bodies[1].get("messages", server.bodies[1].get("input")) == server.bodies[0].get(
        "messages", server.bodies[0].get("input")
    )


async def test_a_server_that_refuses_the_longer_answer_is_named() -> None:
    half = ScriptedCall(id="w", name="read", arguments='{"cell": "a')
    async with SseServer("anthropic") as server:
        server.script = [
            Say(calls=[half], stop="max_tokens"),
            Refuse(status=400, message="max_tokens too large"),
        ]
        async with aclosing(open_api_client(server)) as client:
            bench = Bench(opens=ApiExchange(client, model="m"))
            report = await bench.agent.execute("go")

    assert (report.status, report.stop_reason) == (RunStatus.LIMIT, "max_tokens")
    (error,) = bench.observer.of(NoticeGiven)
    assert "gives no longer answer" in str(error)
    assert "max_tokens too large" in str(error)
