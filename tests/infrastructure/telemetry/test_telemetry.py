"""Telemetry as a collector receives it, and what its absence or failure does to a run: nothing."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.semconv.attributes import error_attributes

from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import END_TURN, LlmResponse, TextBlock, Usage
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    Event,
    MessageAdded,
    NoticeGiven,
    ResponseCompleted,
    ReviewDecided,
    SessionFinished,
    SessionStarted,
    TurnFinished,
    TurnStarted,
    UsageCounted,
    VoteCast,
)
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import DecisionLabel
from quorum.infrastructure import event_observers
from quorum.infrastructure.config.model_tables import ProviderTable
from quorum.infrastructure.config.schema import Settings, TelemetryTable
from quorum.infrastructure.event_observers import send_telemetry
from quorum.infrastructure.extras import render_install_command
from quorum.infrastructure.telemetry import names, otlp
from quorum.infrastructure.telemetry.otlp import TelemetryObserver
from tests.support.fake_ports import RecordingObserver
from tests.support.headless_run import environment
from tests.support.otlp_receiver import OtlpReceiver, attributes, receiving

SECRETS = ("the prompt", "the answer", "an argument", "an output", "a reason")
USAGE = Usage(input=10, output=5, cache_read=100, cache_write=20, reasoning=3)
CONTEXT = ToolExecutionContext(call_id="call-1", batch_id="b", call_index=0, turn_index=0)


REPORT = RunReport(
    session_id="s-1",
    status=RunStatus.COMPLETED,
    stop_reason="end_turn",
    text="the answer",
    turns=1,
    usage=USAGE,
    cost_usd=Decimal("0.25"),
)


def finished(context: ToolExecutionContext, outcome: Outcome, decision: DecisionLabel) -> CallFinished:
    return CallFinished(
        context=context,
        tool="run_command",
        outcome=outcome,
        decision=decision,
        output="an output",
        duration_secs=0.1,
    )


DENIED = ToolExecutionContext(call_id="call-2", batch_id="b", call_index=1, turn_index=0)
ALLOWED, REJECTED = next(iter(DecisionLabel)), list(DecisionLabel)[-1]
EVENTS: tuple[Event, ...] = (
    SessionStarted(session_id="s-1", model="anthropic/claude-a", mode=Mode.ASK, cwd="/work"),
    TurnStarted(prompt="the prompt"),
    MessageAdded(message=UserMessage("the prompt")),
    UsageCounted(model="anthropic/claude-a", usage=USAGE),
    ResponseCompleted(
        turn_index=0,
        response=LlmResponse(
            content=(TextBlock("the answer"),), stop_reason=END_TURN, model="anthropic/claude-a-1", usage=USAGE
        ),
    ),
    VoteCast(
        context=CONTEXT,
        digest="d" * 64,
        reviewer="openai/b",
        verdict="approve",
        confidence=0.5,
        reason="a reason",
    ),
    ReviewDecided(context=CONTEXT, digest="d" * 64, decision=ALLOWED, reason="a reason"),
    CallStarted(context=CONTEXT, tool="run_command", arguments={"command": "an argument"}),
    finished(CONTEXT, Outcome.OK, ALLOWED),
    finished(DENIED, Outcome.REJECTED, REJECTED),
    TurnFinished(report=REPORT),
    SessionFinished(report=REPORT),
)


@pytest.fixture(autouse=True)
def _nothing_is_sent_after_its_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads of the package that go on trying draw from the generator that tests of properties watch."""
    before, exporters = set(threading.enumerate()), list[OTLPSpanExporter | OTLPMetricExporter]()

    def keep(made: type[OTLPSpanExporter | OTLPMetricExporter], **arguments: Any) -> object:
        exporters.append(made(**arguments))
        return exporters[-1]

    for made in (OTLPSpanExporter, OTLPMetricExporter):
        monkeypatch.setattr(otlp, made.__name__, partial(keep, made))
    yield
    for exporter in exporters:
        exporter.shutdown()
    left = [each for each in set(threading.enumerate()) - before if each.name.startswith(("telem", "Otel"))]
    for thread in left:
        thread.join(60)
    assert [thread.name for thread in left if thread.is_alive()] == []


def observe(
    endpoint: str, *, content: bool = False, closing_secs: float = 10.0
) -> tuple[TelemetryObserver, RecordingObserver]:
    inner = RecordingObserver()
    observer = TelemetryObserver(
        inner,
        endpoint=endpoint,
        content=content,
        name_provider=lambda model: model.partition("/")[0],
        version="1",
        closing_secs=closing_secs,
    )
    return observer, inner


def run_through(receiver: OtlpReceiver, *, content: bool = False) -> None:
    observer, _ = observe(receiver.endpoint, content=content)
    for event in EVENTS:
        observer.notify(event)
    observer.close()


def test_the_names_are_those_of_the_published_conventions() -> None:
    ours = {value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)}
    attribute_names = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    metric_names = {value for name, value in vars(gen_ai_metrics).items() if name.startswith("GEN_AI_")}
    operations = {each.value for each in gen_ai_attributes.GenAiOperationNameValues}

    public = {name for name in ours if not name.startswith("quorum.")}
    assert public <= attribute_names | metric_names | operations | {error_attributes.ERROR_TYPE}
    deprecated = {
        gen_ai_attributes.GEN_AI_SYSTEM,
        gen_ai_attributes.GEN_AI_PROMPT,
        gen_ai_attributes.GEN_AI_COMPLETION,
    }
    assert not public & deprecated


def test_a_collector_receives_a_turn_with_its_answers_calls_and_reviews() -> None:
    with receiving() as receiver:
        run_through(receiver)
        spans, metrics = {span.name: span for span in receiver.spans}, receiver.metrics
        calls = [span for span in receiver.spans if span.name == "execute_tool run_command"]

    turn, chat = spans["invoke_agent quorum"], spans["chat claude-a"]
    assert not turn.parent_span_id
    assert {span.parent_span_id for span in (chat, *calls)} == {turn.span_id}
    assert {span.trace_id for span in (chat, *calls)} == {turn.trace_id}
    assert attributes(turn) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "quorum",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-a",
        "gen_ai.conversation.id": "s-1",
        "gen_ai.usage.input_tokens": 130,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 100,
        "gen_ai.usage.cache_creation.input_tokens": 20,
        "gen_ai.usage.reasoning.output_tokens": 3,
        "quorum.run.status": "completed",
        "quorum.usage.cost_usd": 0.25,
    }
    assert attributes(chat)["gen_ai.response.finish_reasons"] == ["end_turn"]
    assert attributes(chat)["gen_ai.response.model"] == "claude-a-1"
    assert [attributes(span)["gen_ai.tool.call.id"] for span in calls] == ["call-1", "call-2"]
    assert [attributes(span)["quorum.call.outcome"] for span in calls] == ["ok", "rejected"]
    assert [event.name for event in turn.events] == ["quorum.review", "quorum.review"]
    assert attributes(turn.events[0]) == {
        "gen_ai.tool.call.id": "call-1",
        "quorum.review.digest": "d" * 64,
        "quorum.review.stage": "vote",
        "quorum.review.reviewer": "openai/b",
        "quorum.review.verdict": "approve",
        "quorum.review.confidence": 0.5,
    }
    tokens = {
        attributes(point)["gen_ai.token.type"]: point.sum for point in metrics["gen_ai.client.token.usage"]
    }
    assert tokens == {"input": 130, "output": 5}
    assert metrics["gen_ai.client.operation.duration"][0].count == 1


def test_no_text_is_sent_unless_it_is_asked_for() -> None:
    with receiving() as receiver:
        run_through(receiver)
        sent = b"".join(body for _, body in receiver.bodies)
    with receiving() as receiver:
        run_through(receiver, content=True)
        sent_with_content = b"".join(body for _, body in receiver.bodies)

    assert [text for text in SECRETS if text.encode() in sent] == []
    assert [text for text in SECRETS if text.encode() not in sent_with_content] == []


def test_what_is_open_at_a_sudden_end_is_sent_too() -> None:
    with receiving() as receiver:
        observer, _ = observe(receiver.endpoint)
        for event in EVENTS[:8]:
            observer.notify(event)
        observer.close()
        found = {span.name for span in receiver.spans}

    assert {"invoke_agent quorum", "execute_tool run_command"} <= found


def _refused() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_a_collector_that_is_not_there_changes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    observer, inner = observe(_refused(), closing_secs=0.2)
    for event in EVENTS:
        observer.notify(event)
    observer.close()

    assert inner.events == list(EVENTS)
    assert capfd.readouterr() == ("", "")


def test_a_collector_that_never_answers_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "REQUEST_SECS", 600)
    with receiving(hangs=True) as receiver:
        observer, inner = observe(receiver.endpoint, closing_secs=0.2)
        for event in EVENTS:
            observer.notify(event)
        observer.close()

    assert inner.events == list(EVENTS)


def test_a_failure_of_the_library_is_none_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> None:
        raise RuntimeError("the library is broken")

    observer, inner = observe(_refused(), closing_secs=0.1)
    monkeypatch.setattr(observer._spans, "apply", fail)
    for event in EVENTS:
        observer.notify(event)
    observer.close()

    assert inner.events == list(EVENTS)


# ---------------------------------------------------------------- only where it is asked for


def settings(**table: object) -> Settings:
    return Settings(telemetry=TelemetryTable(**table))  # type: ignore[arg-type]


def test_without_an_endpoint_there_is_none() -> None:
    inner = RecordingObserver()

    assert send_telemetry(inner, settings(content=True)) is inner


def test_without_the_extra_that_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_observers, "is_installed", lambda _module: False)
    inner = RecordingObserver()
    observer = send_telemetry(inner, settings(otlp_endpoint="http://127.0.0.1:1"))
    for event in EVENTS:
        observer.notify(event)

    assert [type(event) for event in inner.events[:2]] == [SessionStarted, NoticeGiven]
    assert render_install_command("otel") in inner.of(NoticeGiven)[0].message
    assert len(inner.events) == len(EVENTS) + 1


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (ProviderTable(type="anthropic"), "anthropic"),
        (ProviderTable(type="anthropic", client="bedrock"), "aws.bedrock"),
        (ProviderTable(type="openai-chat", base_url="http://localhost:1/v1"), "mine"),
    ],
)
def test_a_provider_is_named_by_who_serves_it(table: ProviderTable, expected: str) -> None:
    name: Callable[[str], str] = event_observers._build_provider_names({"mine": table})

    assert name("mine/model") == expected
    assert name("gone/model") == "gone"


@pytest.mark.long
def test_a_run_with_an_endpoint_is_seen_by_its_collector(tmp_path: Path) -> None:
    with receiving() as receiver:
        subprocess.run(
            [sys.executable, "-m", "quorum", "run", "list ."],
            cwd=tmp_path,
            env=environment(tmp_path / "home", QUORUM_TELEMETRY__OTLP_ENDPOINT=receiver.endpoint),
            capture_output=True,
            timeout=60,
            check=True,
        )
        found = [span.name for span in receiver.spans]

    assert found[0] == "invoke_agent quorum"
    assert "execute_tool list_directory" in found
    assert "chat offline" in found
