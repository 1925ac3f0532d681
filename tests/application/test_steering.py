"""Said while a turn runs: it goes with the results of the present calls, or it stays unsaid."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.conversation.history import ToolResults, UserMessage, find_unpaired_call
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import LedgerError, ProviderError
from quorum.domain.events.event import Event, MessageAdded
from quorum.domain.events.report import RunStatus
from quorum.domain.replacing import replace
from quorum.domain.review.questions import RejectAndInterrupt
from quorum.domain.sessions.replay import replay_state
from quorum.domain.settings import AgentTable
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.anthropic.client import build_messages_history, build_messages_payload
from quorum.infrastructure.models.openai_chat.payload import build_chat_history, build_chat_payload
from quorum.infrastructure.models.openai_responses.payload import (
    build_responses_history,
    build_responses_payload,
)
from quorum.infrastructure.models.shared.api_client import ApiRequest
from tests.application.test_run_agent import DOWN, READ, Bench, reads, writes
from tests.application.test_session_resume import records_of
from tests.support.examples import examples
from tests.support.fake_ledger import FakeLedger
from tests.support.fake_ports import FakePerson, FakeTool
from tests.support.fake_session import Step
from tests.support.request_rules import read_chat, read_messages, read_responses


def steering_tool(bench: list[Bench], *words: str) -> FakeTool:
    """A tool during whose run the person says these words."""

    async def steer(arguments: JsonObject, context: ToolExecutionContext) -> str:
        for word in words:
            bench[0].agent.steer(word)
        return "read"

    return FakeTool("read", steer)


def steered_bench(
    *script: LlmResponse | ProviderError | Step, words: tuple[str, ...] = ("not that one",)
) -> Bench:
    box: list[Bench] = []
    ledger = FakeLedger("session-1")
    box.append(Bench(*script, tool=steering_tool(box, "not that one"), ledger=ledger))
    return box[0]


async def test_it_reaches_the_model_after_the_results_of_the_present_calls_and_cancels_nothing() -> None:
    bench = steered_bench(reads("a", "b"), LlmResponse.from_text("I see"))

    report = await bench.agent.execute("go")

    assert report.status is RunStatus.COMPLETED
    results, *said = bench.session.sent[1].messages[2:]
    assert isinstance(results, ToolResults)
    assert [result.output for result in results.results] == ["read", "read"]
    assert said == [UserMessage("not that one"), UserMessage("not that one")]
    assert bench.session.sent[1].tools
    assert bench.agent.undelivered == ()


async def test_the_record_tells_it_from_a_prompt_and_leads_to_the_same_conversation() -> None:
    bench = steered_bench(reads("a"), LlmResponse.from_text("I see"))
    await bench.agent.execute("go")

    added = [event for event in bench.ledger.events if isinstance(event, MessageAdded)]
    assert [event.steers for event in added] == [False, False, True]
    state = replay_state(records_of(bench.ledger))
    assert state.messages == bench.conversation.messages
    assert state.turns[0].steered == ("not that one",)
    assert state.mended == ()


async def test_where_no_further_request_comes_it_stays_unsaid() -> None:
    gate = asyncio.Event()
    bench = Bench(Step(answer=LlmResponse.from_text("done"), gate=gate))
    turn = asyncio.create_task(bench.agent.execute("go"))
    await bench.session.waiting.wait()
    bench.agent.steer("and the other one")
    gate.set()

    assert (await turn).status is RunStatus.COMPLETED
    assert bench.agent.undelivered == ("and the other one",)
    assert bench.agent.take_back() == "and the other one"
    assert bench.agent.take_back() is None


async def test_what_was_said_last_is_taken_back_first() -> None:
    bench = Bench()
    bench.agent.steer("one")
    bench.agent.steer("two")

    assert bench.agent.take_back() == "two"
    assert bench.agent.undelivered == ("one",)


async def test_interrupted_before_the_results_went_out_it_stays_unsaid() -> None:
    running = asyncio.Event()

    async def never(arguments: JsonObject, context: ToolExecutionContext) -> str:
        running.set()
        await asyncio.Event().wait()
        return ""

    bench = Bench(reads("a"), tool=FakeTool("read", never))
    turn = asyncio.create_task(bench.agent.execute("go"))
    await running.wait()
    bench.agent.steer("stop that")
    turn.cancel()

    assert (await turn).status is RunStatus.INTERRUPTED
    assert bench.agent.undelivered == ("stop that",)
    assert UserMessage("stop that") not in bench.conversation.messages


async def test_where_no_tool_may_be_called_any_more_it_waits_for_the_next_prompt() -> None:
    box: list[Bench] = []
    box.append(
        Bench(
            reads("a"),
            reads("b"),
            LlmResponse.from_text("where things stand"),
            tool=steering_tool(box, "word"),
            limits=AgentTable(max_tool_turns=1),
        )
    )
    bench = box[0]
    report = await bench.agent.execute("go")

    assert report.status is RunStatus.LIMIT
    assert [s.tool_choice for s in bench.session.sent] == ["auto", "auto", "none"]


async def test_a_request_that_fails_has_carried_it_all_the_same_and_retry_goes_on_from_there() -> None:
    bench = steered_bench(reads("a"), DOWN, LlmResponse.from_text("again"))

    assert (await bench.agent.execute("go")).status is RunStatus.FAILED
    assert bench.agent.undelivered == ()
    assert (await bench.agent.retry()).text == "again"
    assert bench.session.sent[-1].messages[-1] == UserMessage("not that one")


class Full(FakeLedger):
    """Has no room for what steers."""

    async def append(self, event: Event, *, urgent: bool = False, may_wait: bool = False) -> None:
        await super().append(event, urgent=urgent, may_wait=may_wait)
        if isinstance(event, MessageAdded) and event.steers:
            raise LedgerError("the disk is full")


async def test_what_cannot_be_put_on_record_is_not_sent() -> None:
    box: list[Bench] = []
    box.append(
        Bench(
            reads("a"),
            LlmResponse.from_text("never"),
            tool=steering_tool(box, "word"),
            ledger=Full("session-1"),
        )
    )
    bench = box[0]
    report = await bench.agent.execute("go")

    assert report.error == "the disk is full"
    assert len(bench.session.sent) == 1
    assert bench.conversation.messages == replay_state(records_of(bench.ledger)).messages


@examples(80)
@given(says=st.lists(st.integers(0, 50), max_size=3), stop_at=st.none() | st.integers(1, 70))
@example(says=[0], stop_at=1)  # what was said is being recorded yet
def test_said_and_interrupted_at_any_moment_nothing_is_lost_and_every_history_is_legal(
    says: list[int], stop_at: int | None
) -> None:
    async def scene() -> None:
        bench = Bench(reads("a"), reads("b", "c"), LlmResponse.from_text("done"), ledger=FakeLedger("s"))
        turn = asyncio.create_task(bench.agent.execute("go"))
        words: list[str] = []
        for tick in range(71):
            for _ in range(says.count(tick) if not turn.done() else 0):
                words.append(f"word {len(words)}")
                bench.agent.steer(words[-1])
            if tick == stop_at:
                turn.cancel()
            await asyncio.sleep(0)
        await turn
        said = [m.text for m in bench.conversation.messages if isinstance(m, UserMessage) and m.text in words]
        assert [*said, *bench.agent.undelivered] == words
        assert_legal_wherever_killed(bench)
        assert await bench.next_prompt_works()

    asyncio.run(scene())


def assert_legal_wherever_killed(bench: Bench) -> None:
    """The record leads to the conversation, and each beginning of it to one that can be gone on with. What was
    sent meanwhile keeps the rules of every provider."""
    records = records_of(bench.ledger)
    assert replay_state(records).messages == bench.conversation.messages
    for sent in bench.session.sent:
        request = ApiRequest(model="m", system="", messages=sent.messages, tools=(READ,), tool_choice="auto")
        read_messages(build_messages_payload(request, history=build_messages_history("p"), max_tokens=9))
        read_chat(
            build_chat_payload(
                request, history=build_chat_history("p"), max_tokens=9, max_tokens_field="max_tokens"
            )
        )
        read_responses(
            build_responses_payload(
                request, history=build_responses_history("p"), max_tokens=9, wants_reasoning=False
            )
        )
    for end in range(len(records) + 1):
        dead = replay_state(records[:end])
        assert find_unpaired_call(dead.messages[:-1] if dead.open_calls else dead.messages) is None
        assert dead.mended == ()


@pytest.mark.parametrize("moment", range(1, 90))
async def test_cancelled_while_a_turn_that_ends_closes_its_calls_record_and_conversation_agree(
    moment: int,
) -> None:
    person = FakePerson(lambda request: RejectAndInterrupt())
    bench = Bench(writes("a"), person=person, ledger=FakeLedger("s"))
    turn = asyncio.create_task(bench.agent.execute("go"))
    for _ in range(moment):
        await asyncio.sleep(0)
    turn.cancel()
    await turn
    assert_legal_wherever_killed(bench)


async def test_what_is_said_into_a_turn_gets_the_files_that_it_mentions_when_it_is_delivered() -> None:
    bench = steered_bench(reads("a"), LlmResponse.from_text("I see"))

    class Attaching:
        async def attach(self, message: UserMessage) -> UserMessage:
            return replace(message, files=(AttachedFile(name=message.text, content="x"),))

    bench.agent._dialogue._mentions = Attaching()  # type: ignore[assignment]
    await bench.agent.execute("go")

    said = [m for m in bench.conversation.messages if isinstance(m, UserMessage)]
    assert [(m.text, [file.name for file in m.files]) for m in said] == [
        ("go", ["go"]),
        ("not that one", ["not that one"]),
    ]
    assert replay_state(records_of(bench.ledger)).messages == bench.conversation.messages


async def test_interrupted_while_its_files_are_read_a_prompt_is_said_without_them() -> None:
    bench = steered_bench(LlmResponse.from_text("never"))
    reading = asyncio.Event()

    class Slow:
        async def attach(self, message: UserMessage) -> UserMessage:
            reading.set()
            await asyncio.Event().wait()
            return message

    bench.agent._dialogue._mentions = Slow()  # type: ignore[assignment]
    turn = asyncio.create_task(bench.agent.execute("look at @a.py"))
    await reading.wait()
    turn.cancel()
    report = await turn

    assert report.status is RunStatus.INTERRUPTED
    assert bench.conversation.messages == (UserMessage("look at @a.py"),)
    assert replay_state(records_of(bench.ledger)).messages == bench.conversation.messages
