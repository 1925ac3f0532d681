"""Fallback models: another model stands in where the chosen one is overloaded or cannot be reached."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from decimal import Decimal
from types import SimpleNamespace

import pytest

from quorum.application.view.session_view import SessionView
from quorum.domain.conversation.cost import Price
from quorum.domain.conversation.history import AssistantMessage, UserMessage
from quorum.domain.conversation.response import LlmResponse, Usage
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import (
    ModelChanged,
    ModelFellBack,
    NoticeGiven,
    ResponseCompleted,
    RetryScheduled,
    TurnStarted,
    UsageCounted,
    event_from_json,
)
from quorum.domain.events.report import RunStatus
from quorum.domain.replacing import replace
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.models.shared.exchange import ApiExchange
from tests.application.test_run_agent import OFFERED, Bench, reads
from tests.support.fake_session import FakeSession, Step
from tests.support.recordings import FOLDER, needs_recordings, replay_module
from tests.support.session_rigs import open_api_client
from tests.support.sse_server import Refuse, Say, ScriptedCall, SseServer

BUSY = ProviderError("it is overloaded", kind=ProviderErrorKind.OVERLOADED)
GONE = ProviderError("nobody answers", kind=ProviderErrorKind.CONNECTION)
PRICE = Price(input=Decimal(1), output=Decimal(1), cache_read=Decimal(1), cache_write=Decimal(1))


def standing_in(bench: Bench, model: str, *script: LlmResponse | ProviderError | Step) -> FakeSession:
    session = FakeSession(list(script), conversation=bench.conversation, model=model)
    bench.providers.sessions[model] = session
    return session


async def test_an_outage_has_the_next_model_answer_with_the_whole_conversation_and_says_so() -> None:
    bench = Bench(BUSY, fallbacks=["other/model"])
    other = standing_in(bench, "other/model", LlmResponse.from_text("here"))

    report = await bench.agent.execute("go")

    assert (report.status, report.text) == (RunStatus.COMPLETED, "here")
    assert other.sent[0].messages == (UserMessage("go"),)
    assert other.sent[0].tools == OFFERED
    (fell,) = bench.observer.of(ModelFellBack)
    assert fell == ModelFellBack(model="other/model", instead_of="fake/model", reason="it is overloaded")
    assert event_from_json(fell.to_json()) == fell
    assert report.fallback_models == ("other/model",)
    assert report.to_json()["fallback_models"] == ["other/model"]


@pytest.mark.parametrize(
    "kind",
    [
        ProviderErrorKind.AUTHENTICATION,
        ProviderErrorKind.BAD_REQUEST,
        ProviderErrorKind.CONFIGURATION,
        ProviderErrorKind.DAMAGED_STREAM,
        ProviderErrorKind.NOT_FOUND,
        ProviderErrorKind.PERMISSION,
    ],
)
async def test_what_is_no_outage_is_reported_and_no_other_model_is_asked(kind: ProviderErrorKind) -> None:
    bench = Bench(ProviderError("no", kind=kind), fallbacks=["other/model"])
    other = standing_in(bench, "other/model")

    report = await bench.agent.execute("go")

    assert (report.status, report.fallback_models, other.sent) == (RunStatus.FAILED, (), [])
    assert "fallback_models" not in report.to_json()


@pytest.mark.parametrize("first", [("half an",), ()])
async def test_in_the_middle_of_an_answer_no_other_model_is_asked(first: tuple[str, ...]) -> None:
    broken = ProviderError("cut", kind=ProviderErrorKind.SERVER, partial=True)
    bench = Bench(Step(answer=broken, first=first), Step(answer=broken), fallbacks=["other/model"])
    other = standing_in(bench, "other/model")

    report = await bench.agent.execute("go")

    assert (report.status, report.text, other.sent) == (RunStatus.FAILED, "".join(first), [])


async def test_it_stands_in_for_the_rest_of_the_turn_and_the_next_prompt_asks_the_first_again() -> None:
    bench = Bench(reads("a"), BUSY, LlmResponse.from_text("back"), fallbacks=["other/model"])
    other = standing_in(bench, "other/model", reads("b"), LlmResponse.from_text("done"))

    first = await bench.agent.execute("go")
    second = await bench.agent.execute("more")

    assert (first.text, second.text) == ("done", "back")
    assert len(other.sent) == 2
    assert second.fallback_models == ()
    assert bench.paired()
    assert bench.front.models.current == "fake/model"


async def test_they_are_asked_in_their_order_each_once_and_the_last_failure_is_reported() -> None:
    bench = Bench(BUSY, fallbacks=["b/b", "missing/model", "c/c"])
    second, third = standing_in(bench, "b/b", GONE), standing_in(bench, "c/c", BUSY)

    report = await bench.agent.execute("go")

    assert (report.status, report.error) == (RunStatus.FAILED, "it is overloaded")
    assert (len(second.sent), len(third.sent)) == (1, 1)
    assert [event.model for event in bench.observer.of(ModelFellBack)] == ["b/b", "c/c"]  # type: ignore[attr-defined]
    assert (
        NoticeGiven(message="missing/model cannot stand in: there is no missing/model") in bench.observer.events
    )
    bench.session.script[:] = [LlmResponse.from_text("again")]
    assert (await bench.agent.retry()).text == "again"


async def test_the_tokens_and_the_price_are_those_of_the_model_that_was_asked() -> None:
    bench = Bench(BUSY, fallbacks=["other/model"], prices={"other/model": PRICE})
    answer = replace(LlmResponse.from_text("x"), usage=Usage(input=1_000_000))
    standing_in(bench, "other/model", answer)

    report = await bench.agent.execute("go")

    assert report.cost_usd == 1
    assert bench.observer.of(UsageCounted) == [
        UsageCounted(model="other/model", usage=Usage(input=1_000_000), cost_usd=Decimal(1))
    ]


def test_a_resumed_session_has_the_model_that_was_chosen() -> None:
    fell = ModelFellBack(model="other/model", instead_of="fake/model", reason="busy")
    reported = (ModelChanged(model="fake/model"), TurnStarted(prompt="go"), fell)

    assert (
        replay_state(LedgerRecord(seq=n, at_ms=n, event=e) for n, e in enumerate(reported)).model
        == "fake/model"
    )


async def test_a_model_chosen_by_the_person_takes_the_place_of_the_one_that_stands_in() -> None:
    gate = asyncio.Event()
    bench = Bench(BUSY, fallbacks=["other/model"])
    other = standing_in(bench, "other/model", Step(answer=reads("a"), gate=gate))
    chosen = standing_in(bench, "third/model", LlmResponse.from_text("mine"))
    running = asyncio.create_task(bench.agent.execute("go"))
    await other.waiting.wait()
    await bench.front.models.choose("third/model")
    gate.set()

    assert (await running).text == "mine"
    assert len(chosen.sent) == 1


def test_the_status_shows_who_stands_in_until_the_turn_ends() -> None:
    view = SessionView()
    view.status.resume(model="a/one", mode="ask")
    view.apply(TurnStarted(prompt="go"))
    view.apply(ModelFellBack(model="b/two", instead_of="a/one", reason="overloaded."))
    view.apply(ModelFellBack(model="c/three", instead_of="b/two", reason="down"))
    shown = view.status.model
    view.status.end_turn()

    assert (shown, view.status.model) == ("c/three", "a/one")
    notes = [str(getattr(entry, "text", "")) for entry in view.entries]
    assert "a/one does not answer (overloaded); b/two stands in for the rest of this turn" in notes


# ------------------------------------------------------------------ over real servers


@pytest.mark.long
async def test_after_three_failures_of_one_request_the_wait_for_the_first_model_is_given_up() -> None:
    busy = Refuse(status=529, message="overloaded")
    async with SseServer("anthropic") as first, SseServer("openai-chat") as second:
        first.script = [busy] * 9
        second.script = [Say(pieces=["here"])]
        async with (
            aclosing(open_api_client(first)) as client,
            aclosing(open_api_client(second)) as other_client,
        ):
            bench = Bench(
                fallbacks=["other/model"],
                opens=ApiExchange(client, model="m", max_retries=20, backoff=lambda _n: 0.0),
            )
            bench.providers.sessions["other/model"] = ApiExchange(other_client, model="n")
            report = await bench.agent.execute("go")

    assert (report.status, report.text) == (RunStatus.COMPLETED, "here")
    assert len(first.bodies) == 3
    assert len(bench.observer.of(RetryScheduled)) == 2


def over(first: object, second: object) -> ProviderRegistry:
    """The providers `one` and `two`, at these servers: what a model thought belongs to one of them."""
    return ProviderRegistry(
        {
            name: ProviderSettings(
                type=server.dialect,
                base_url=server.base_url,
                api_key_env="KEY",
                max_retries=0,  # type: ignore[attr-defined]
            )
            for name, server in (("one", first), ("two", second))
        },
        environ={"KEY": "k"},
    )


def bench_over(registry: ProviderRegistry) -> Bench:
    bench = Bench(fallbacks=["two/n"], opens=registry.open_exchange("one/m"))
    bench.providers.sessions["two/n"] = registry.open_exchange("two/n")
    return bench


@pytest.mark.long
async def test_thinking_and_calls_of_one_api_are_carried_over_to_another_and_back() -> None:
    call = ScriptedCall(id="toolu_1", name="read", arguments='{"cell": "a"}')
    async with SseServer("anthropic") as first, SseServer("openai") as second:
        first.script = [
            Say(pieces=["let me look"], reasoning="hm", calls=[call], stop="tool_use"),
            Refuse(status=503, message="down"),
            Say(pieces=["back"]),
        ]
        second.script = [
            Say(calls=[ScriptedCall(id="call_2", name="read", arguments='{"cell": "b"}')], stop="tool_use"),
            Say(pieces=["done"], reasoning="so"),
        ]
        async with aclosing(over(first, second)) as registry:
            bench = bench_over(registry)
            one = await bench.agent.execute("go")
            two = await bench.agent.execute("more")

    assert (one.text, two.text) == ("done", "back")
    given = [item for item in second.bodies[0]["input"] if item.get("type") == "function_call_output"]
    assert [item["output"] for item in given] == ["contents"]
    assert "reasoning" not in [item.get("type") for item in second.bodies[0]["input"]]
    messages = first.bodies[-1]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"] * 3 + ["user"]
    assert "thinking" in [block["type"] for block in messages[1]["content"]]
    assert [block["type"] for block in messages[3]["content"]] == ["tool_use"]
    kept = [m for m in bench.conversation.messages if isinstance(m, AssistantMessage)]
    assert len(kept) == len(bench.observer.of(ResponseCompleted)) == 4


@needs_recordings
@pytest.mark.parametrize(
    "second",
    ["openai-responses-stream-tool-roundtrip", "openai-chat-stream-tool-roundtrip", "mistral-chat-stream-tool"],
)
async def test_a_recorded_conversation_goes_on_with_another_provider(second: str) -> None:
    module, folder = replay_module(), FOLDER / "dev"
    outage = [{"kind": "529", "at": 1, "times": 3}]
    recorded = folder / "anthropic-messages-stream-thinking-tool-roundtrip.jsonl"
    with (
        module.ReplayServer(str(recorded), faults=outage) as first,
        module.ReplayServer(str(folder / f"{second}.jsonl")) as spare,
    ):
        dialect = "openai" if "responses" in second else "openai-chat"
        at_first = SimpleNamespace(dialect="anthropic", base_url=first.base_url)
        at_spare = SimpleNamespace(dialect=dialect, base_url=f"{spare.base_url}/v1")
        async with aclosing(over(at_first, at_spare)) as registry:
            bench = bench_over(registry)
            report = await bench.agent.execute("go")

    assert report.fallback_models == ("two/n",)
    assert report.calls
    sent = spare.requests[0]["body"]
    message = sent.get("messages") or sent["input"]
    assert any(item.get("role") == "tool" or item.get("type") == "function_call_output" for item in message)
    assert "thinking" not in str(message)
    assert spare.requests[0]["notes"] == []
    assert bench.paired()
