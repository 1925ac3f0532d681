"""Another model during a session: whenever it is chosen, every message reaches one model, and one only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.application.conversation_session import CONTINUE_PROMPT
from quorum.application.session.agent_session import AgentSession
from quorum.application.turn.run_agent import RunAgent
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import AssistantMessage, ToolResults, UserMessage
from quorum.domain.conversation.response import PAUSE, LlmResponse, OpaqueBlock
from quorum.domain.errors import ConversationError, ProviderError
from quorum.domain.events.event import (
    Event,
    ModelChanged,
    ResponseCompleted,
    RetryScheduled,
    TextDelta,
    TurnStarted,
    UsageCounted,
)
from quorum.domain.events.report import RunStatus
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.shared.exchange import ApiExchange
from tests.application.test_run_agent import DOWN, OFFERED, Bench, cut, reads
from tests.support.examples import examples
from tests.support.fake_ports import FakeTool
from tests.support.fake_session import FakeSession, Step
from tests.support.session_rigs import open_api_client
from tests.support.sse_server import Refuse, Reply, Say, ScriptedCall, SseServer

CHATTY = Say(pieces=["hel", "lo"])
LATER = Refuse(status=429, message="slow down", headers={"retry-after": "50"})


def second(bench: Bench, *script: LlmResponse | ProviderError | Step) -> FakeSession:
    session = FakeSession(list(script), conversation=bench.conversation, model="other/model")
    bench.providers.sessions["other/model"] = session
    return session


def said(bench: Bench) -> list[str]:
    return [m.text for m in bench.conversation.messages if isinstance(m, UserMessage)]


# ------------------------------------------------------------------ between requests


async def test_a_model_chosen_between_prompts_answers_the_next_one_with_the_whole_conversation() -> None:
    bench = Bench(LlmResponse.from_text("one"))
    other = second(bench, LlmResponse.from_text("two"))
    await bench.agent.execute("first")

    await bench.front.models.choose("other/model")
    report = await bench.agent.execute("second")

    assert (report.text, bench.front.models.current) == ("two", "other/model")
    assert len(other.sent[0].messages) == 3
    assert other.sent[0].tools == OFFERED
    assert bench.observer.of(ModelChanged) == [ModelChanged(model="other/model", effort=Effort.DEFAULT)]


async def test_a_model_that_cannot_be_had_changes_nothing() -> None:
    bench = Bench(LlmResponse.from_text("one"))

    with pytest.raises(ProviderError, match="there is no other/model"):
        await bench.front.models.choose("other/model")

    assert bench.front.models.current == "fake/model"
    assert bench.observer.of(ModelChanged) == []
    assert (await bench.agent.execute("go")).text == "one"


async def test_choosing_the_model_in_force_is_no_change() -> None:
    bench = Bench()

    await bench.front.models.choose("fake/model")

    assert bench.observer.of(ModelChanged) == []


async def test_chosen_while_a_tool_runs_the_results_go_to_the_new_model_with_the_same_tools() -> None:
    async def choose(arguments: JsonObject, context: ToolExecutionContext) -> str:
        await bench.front.models.choose("other/model")
        return "contents"

    bench = Bench(reads("a"), tool=FakeTool("read", choose))
    other = second(bench, LlmResponse.from_text("done"))

    report = await bench.agent.execute("go")

    assert report.text == "done"
    assert isinstance(other.sent[0].messages[-1], ToolResults)
    assert other.sent[0].tools == OFFERED
    assert len(bench.session.sent) == 1
    assert [type(m) for m in bench.conversation.messages] == [
        UserMessage,
        AssistantMessage,
        ToolResults,
        AssistantMessage,
    ]


async def test_chosen_while_an_answer_streams_it_is_heard_to_its_end_and_counted_for_its_own_model() -> None:
    gate = asyncio.Event()
    bench = Bench(Step(answer=LlmResponse.from_text("all of it"), first=["all of it"], gate=gate))
    other = second(bench, LlmResponse.from_text("two"))
    turn = asyncio.create_task(bench.agent.execute("first"))
    await bench.session.waiting.wait()

    await bench.front.models.choose("other/model")
    gate.set()
    first = await turn
    await bench.agent.execute("second")

    assert first.text == "all of it"
    assert len(other.sent) == 1
    counted = [event.model for event in bench.observer.events if isinstance(event, UsageCounted)]
    assert counted == ["fake/model", "other/model"]


async def test_what_one_model_paused_another_is_asked_to_go_on_with() -> None:
    paused = LlmResponse(content=(OpaqueBlock(provider="fake", payload={"type": "server"}),), stop_reason=PAUSE)
    gate = asyncio.Event()
    bench = Bench(Step(answer=paused, first=["…"], gate=gate))
    other = second(bench, LlmResponse.from_text("done"))
    turn = asyncio.create_task(bench.agent.execute("go"))
    await bench.session.waiting.wait()

    await bench.front.models.choose("other/model")
    gate.set()

    assert (await turn).text == "done"
    assert other.sent[0].messages[-1] == UserMessage(CONTINUE_PROMPT)


async def test_two_models_chosen_at_once_end_with_the_one_chosen_last() -> None:
    bench = Bench()
    second(bench)
    third = FakeSession([], conversation=bench.conversation, model="third/model")
    bench.providers.sessions["third/model"] = third

    await asyncio.gather(bench.front.models.choose("other/model"), bench.front.models.choose("third/model"))

    assert bench.front.models.current == "third/model"


async def test_the_models_are_those_the_providers_list_and_a_failure_is_theirs_alone() -> None:
    bench = Bench()
    bench.providers.listed = {"fake": ("fake/model", "fake/large")}

    assert bench.front.models.providers == ("fake",)
    assert await bench.front.models.list_models("fake") == ("fake/model", "fake/large")
    with pytest.raises(ProviderError, match="other could not be reached"):
        await bench.front.models.list_models("other")


# ------------------------------------------------------------------ while a request waits to be repeated


@dataclass(slots=True)
class Waiting:
    """An agent over two real servers: the first asks to be asked again much later."""

    bench: Bench
    first: SseServer
    other: SseServer
    waits: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def agent(self) -> RunAgent:
        return self.bench.agent

    @property
    def front(self) -> AgentSession:
        return self.bench.front

    async def begun(self) -> None:
        await asyncio.wait_for(self.waits.wait(), 60)


class _Ear:
    """Hears of a retry."""

    def __init__(self, waits: asyncio.Event) -> None:
        self._waits = waits

    def notify(self, event: Event) -> None:
        if isinstance(event, RetryScheduled):
            self._waits.set()


@asynccontextmanager
async def two_servers(first: list[Reply], other: list[Reply], **bench: FakeTool) -> AsyncIterator[Waiting]:
    async with SseServer("openai-chat") as one, SseServer("anthropic") as two:
        one.script, two.script = first, other
        clients = open_api_client(one), open_api_client(two)
        over = [ApiExchange(client, model=f"model-{number}") for number, client in enumerate(clients)]
        waits = asyncio.Event()
        rig = Bench(opens=over[0], observers=[_Ear(waits)], tool=bench.get("tool"))
        rig.providers.sessions["scripted/model-1"] = over[1]
        yield Waiting(rig, one, two, waits)
        for client in clients:
            await client.aclose()


@pytest.mark.long
async def test_a_waiting_request_goes_out_at_once_on_the_model_chosen_meanwhile() -> None:
    async with two_servers([LATER], [CHATTY]) as waiting:
        turn = asyncio.create_task(waiting.agent.execute("go"))
        await waiting.begun()

        await waiting.front.models.choose("scripted/model-1")
        report = await asyncio.wait_for(turn, 60)

        assert (report.status, report.text) == (RunStatus.COMPLETED, "hello")
        assert len(waiting.first.bodies) == len(waiting.other.bodies) == 1
        assert said(waiting.bench) == ["go"]
        assert len(waiting.bench.conversation.messages) == 2
        assert turn.cancelling() == 0


async def test_results_that_wait_go_out_on_the_model_chosen_meanwhile_with_the_tools_offered() -> None:
    calls = Say(calls=[ScriptedCall("call_1", "read", '{"cell": "a"}')], stop="tool_use")
    async with two_servers([calls, LATER], [CHATTY]) as waiting:
        turn = asyncio.create_task(waiting.agent.execute("go"))
        await waiting.begun()

        await waiting.front.models.choose("scripted/model-1")
        report = await asyncio.wait_for(turn, 60)

        body = waiting.other.bodies[0]
        assert report.text == "hello"
        assert [tool["name"] for tool in body["tools"]] == ["read", "write"]
        assert [block["type"] for block in body["messages"][-1]["content"]] == ["tool_result"]
        assert not waiting.bench.conversation.open_calls


async def test_a_wait_on_the_model_chosen_can_be_left_for_yet_another() -> None:
    async with two_servers([LATER, CHATTY], [LATER]) as waiting:
        turn = asyncio.create_task(waiting.agent.execute("go"))
        await waiting.begun()
        waiting.waits.clear()
        client = open_api_client(waiting.first)
        first = ApiExchange(client, model="again")
        waiting.bench.providers.sessions["scripted/again"] = first

        await waiting.front.models.choose("scripted/model-1")
        await waiting.begun()
        await waiting.front.models.choose("scripted/again")
        report = await asyncio.wait_for(turn, 60)

        assert report.text == "hello"
        assert said(waiting.bench) == ["go"]
        await client.aclose()


async def test_a_person_who_stops_the_wait_is_obeyed() -> None:
    async with two_servers([LATER], []) as waiting:
        turn = asyncio.create_task(waiting.agent.execute("go"))
        await waiting.begun()

        turn.cancel()

        assert (await asyncio.wait_for(turn, 60)).status is RunStatus.INTERRUPTED
        assert waiting.bench.conversation.messages == (UserMessage("go"),)


@pytest.mark.parametrize("stop_comes_first", [True, False])
async def test_a_person_who_stops_and_switches_at_once_has_stopped(stop_comes_first: bool) -> None:
    async with two_servers([LATER], []) as waiting:
        turn = asyncio.create_task(waiting.agent.execute("go"))
        await waiting.begun()
        session = waiting.bench.providers.open_exchange("scripted/model-1")
        acts: list[Callable[[], object]] = [turn.cancel, lambda: waiting.bench.way.switch(session)]

        for act in acts if stop_comes_first else reversed(acts):
            act()

        assert (await asyncio.wait_for(turn, 60)).status is RunStatus.INTERRUPTED
        assert turn.cancelling() == 0
        assert waiting.other.bodies == []
        waiting.other.script = [CHATTY]
        assert (await waiting.agent.execute("again")).text == "hello"


async def test_a_request_that_has_begun_to_be_answered_is_not_abandoned() -> None:
    stalled = Say(pieces=["some", "thing"], ending="stall")
    quick = Refuse(status=429, headers={"retry-after": "0"})
    async with two_servers([quick, stalled], []) as waiting:
        turn = asyncio.create_task(waiting.agent.execute("go"))
        async with asyncio.timeout(60):
            while not waiting.bench.observer.of(TextDelta):  # noqa: ASYNC110 - any condition of the record
                await asyncio.sleep(0.005)

        await waiting.front.models.choose("scripted/model-1")
        turn.cancel()

        assert (await asyncio.wait_for(turn, 60)).status is RunStatus.INTERRUPTED
        assert waiting.other.bodies == []


# ------------------------------------------------------------------ going on


async def test_after_a_broken_stream_it_goes_on_from_what_arrived() -> None:
    bench = Bench(Step(answer=DOWN, first=["half an "]), LlmResponse.from_text("answer"))
    await bench.agent.execute("go")

    report = await bench.agent.retry()

    assert (report.status, report.text) == (RunStatus.COMPLETED, "answer")
    assert said(bench) == ["go", CONTINUE_PROMPT]
    assert bench.observer.of(TurnStarted)[-1] == TurnStarted(prompt="")


async def test_after_a_failure_before_any_answer_the_same_is_sent_again_and_nothing_is_said_twice() -> None:
    bench = Bench(DOWN, LlmResponse.from_text("answer"))
    await bench.agent.execute("go")

    report = await bench.agent.retry()

    assert report.text == "answer"
    assert said(bench) == ["go"]


async def test_after_an_interruption_among_tools_the_model_is_given_their_results() -> None:
    async def stop(arguments: JsonObject, context: ToolExecutionContext) -> str:
        task.cancel()
        await asyncio.Event().wait()
        raise AssertionError

    bench = Bench(reads("a"), LlmResponse.from_text("answer"), tool=FakeTool("read", stop))
    task = asyncio.create_task(bench.agent.execute("go"))
    assert (await task).status is RunStatus.INTERRUPTED

    report = await bench.agent.retry()

    assert report.text == "answer"
    assert said(bench) == ["go"]


async def test_a_prompt_that_was_stopped_before_it_was_sent_is_sent_when_it_goes_on() -> None:
    bench = Bench(LlmResponse.from_text("answer"))
    task = asyncio.create_task(bench.agent.execute("go"))
    await asyncio.sleep(0)  # it has announced the turn, and no more
    task.cancel()
    await task
    assert bench.session.script  # nothing was sent

    report = await bench.agent.retry()

    assert report.text == "answer"
    assert said(bench) == ["go"]


async def test_where_nothing_was_said_there_is_nothing_to_go_on_from() -> None:
    with pytest.raises(ConversationError, match="the conversation is empty"):
        await Bench().agent.retry()


async def test_a_turn_that_goes_on_may_run_tools_and_is_continued_like_any_other() -> None:
    bench = Bench(DOWN, reads("a"), cut("one "), LlmResponse.from_text("two"))
    await bench.agent.execute("go")

    report = await bench.agent.retry()

    assert (report.text, len(report.calls)) == ("one two", 1)
    assert len(bench.observer.of(ResponseCompleted)) == 3


@given(st.lists(st.integers(0, 40), min_size=1, max_size=4))
@examples(60)
async def test_whenever_models_are_chosen_every_request_is_made_once_and_every_answer_kept(
    pauses: list[int],
) -> None:
    bench = Bench(reads("a", "b"), cut("more "), reads("c"), LlmResponse.from_text("done"))
    other = second(bench)
    other.script = bench.session.script
    bench.providers.sessions["fake/model"] = bench.session
    turn = asyncio.create_task(bench.agent.execute("go"))

    for number, pause in enumerate(pauses):
        for _ in range(pause):
            await asyncio.sleep(0)
        await bench.front.models.choose("fake/model" if number % 2 else "other/model")
    report = await turn

    assert report.status is RunStatus.COMPLETED
    assert len(bench.session.sent) + len(other.sent) == 4
    assert [record.context.call_id for record in report.calls] == ["a", "b", "c"]
    assert said(bench) == [
        "go",
        "Your answer was cut off by the output limit. Continue exactly where you stopped.",
    ]
    assert not bench.conversation.open_calls
