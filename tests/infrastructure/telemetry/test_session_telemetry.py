"""What a collector sees of real sessions: their subagents, and each stage of a review."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from quorum.application.review.ballot_paper import BALLOT_TOOL
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import Event
from quorum.infrastructure.container import Container
from quorum.infrastructure.telemetry.otlp import TelemetryObserver
from tests.support.builders import calls_response
from tests.support.fake_gateway import FakeGateway
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.headless_run import environment
from tests.support.otlp_receiver import attributes, receiving
from tests.support.real_session import MODEL, SessionStage, call, says, write
from tests.support.session_parts import change_inputs
from tests.support.subagent_stage import task, task_rig


def send(events: Iterable[Event], *, content: bool = False) -> tuple[list[Span], bytes]:
    """The spans that a collector gets of these events, and all that it was sent."""
    with receiving() as receiver:
        observer = TelemetryObserver(
            RecordingObserver(),
            endpoint=receiver.endpoint,
            content=content,
            name_provider=lambda model: model.partition("/")[0],
            version="1",
        )
        for event in events:
            observer.notify(event)
        observer.close()
        return receiver.spans, b"".join(body for _path, body in receiver.bodies)


@pytest.mark.long
async def test_a_subagent_is_in_the_call_that_asked_it_and_its_own_calls_and_answers_are_in_it(tmp_path):
    stage = SessionStage(tmp_path)
    (stage.root / "a.txt").write_text("alpha\n", encoding="utf-8")
    scripts = {
        "look": [calls_response(call("read_file", path="a.txt")), says("alpha")],
        "fail": [ProviderError("down", kind=ProviderErrorKind.CONFIGURATION)],
    }
    async with task_rig(stage, scripts) as rig:
        await rig.turn((task("look"), task("fail")))
        owner = rig.id

    spans, sent = send(rig.seen.events)

    named = {(span.name, attributes(span)["gen_ai.conversation.id"]): span for span in spans}
    (turn,) = [span for span in spans if span.name == "invoke_agent quorum"]
    asked = [span for span in spans if span.name == "execute_tool task"]
    subagents = [span for span in spans if span.name == "invoke_agent subagent"]
    assert {span.parent_span_id for span in asked} == {turn.span_id}
    assert [span.parent_span_id for span in subagents] == [span.span_id for span in asked]
    assert [attributes(span)["gen_ai.conversation.id"] for span in subagents] == [f"{owner}-t1", f"{owner}-t2"]
    inner = [span for span in spans if span.parent_span_id == subagents[0].span_id]
    assert [span.name for span in inner] == ["chat model", "execute_tool read_file", "chat model"]
    assert {attributes(span)["gen_ai.conversation.id"] for span in inner} == {f"{owner}-t1"}
    assert len({span.trace_id for span in spans}) == 1
    assert all(span.end_time_unix_nano for span in spans)
    assert attributes(subagents[0])["quorum.run.status"] == "completed"
    assert attributes(subagents[1])["quorum.run.status"] == "failed"
    assert ("chat model", owner) in named
    assert b"alpha" not in sent


async def test_tokens_of_a_subagent_are_counted_once(tmp_path):
    async with task_rig(SessionStage(tmp_path), {"look": [says("found")]}) as rig:
        await rig.turn(task("look"))
    with receiving() as receiver:
        observer = TelemetryObserver(
            RecordingObserver(),
            endpoint=receiver.endpoint,
            content=False,
            name_provider=lambda _model: "fake",
            version="1",
        )
        for event in rig.seen.events:
            observer.notify(event)
        observer.close()
        points = receiver.metrics["gen_ai.client.token.usage"]

    requests = [event for event in rig.seen.events if event.type == "usage_counted"]
    counted = [point.count for point in points if attributes(point)["gen_ai.token.type"] == "input"]
    assert sum(counted) == len(requests) == 3


def ballot(verdict: str) -> LlmResponse:
    given = {
        "verdict": verdict,
        "in_scope": "yes",
        "confidence": 0.9,
        "reason": "because",
        "objection": "a.txt",
    }
    return calls_response(call(BALLOT_TOOL, **given))


async def test_each_stage_of_a_review_is_an_event_with_the_digest_of_what_was_reviewed(tmp_path):
    stage = SessionStage(
        tmp_path, more_settings='[models]\nreview = ["fake/a", "fake/b"]\n[review]\nmode = "quorum"\n'
    )
    votes = {"fake/a": [ballot("approve")], "fake/b": [ballot("reject")]}
    gateway, seen, person = FakeGateway({MODEL: [], **votes}), RecordingObserver(), FakePerson()

    def adjust(container: Container) -> None:
        change_inputs(container, gateway=gateway)

    async with stage.opened(observer=seen, person=person, adjust=adjust) as session:
        session.script = gateway.scripts[MODEL]
        await session.turn(write("a.txt", "new"))

    spans, sent = send(seen.events)

    (turn,) = [span for span in spans if span.name == "invoke_agent quorum"]
    (tool,) = [span for span in spans if span.name == "execute_tool write_file"]
    reviews = [attributes(event) for event in turn.events if event.name == "quorum.review"]
    stages = [review["quorum.review.stage"] for review in reviews]
    assert sorted(stages[:2]) == ["vote", "vote"]
    assert stages[2:] == ["counted", "requested", "decided"]
    assert len(person.requests) == 1
    assert {review["quorum.review.digest"] for review in reviews} == {person.requests[0].packet.digest}
    assert {review["gen_ai.tool.call.id"] for review in reviews} == {attributes(tool)["gen_ai.tool.call.id"]}
    assert {review.get("quorum.review.reviewer") for review in reviews[:2]} == {"fake/a", "fake/b"}
    assert reviews[-1]["quorum.review.decision"] == attributes(tool)["quorum.call.decision"]
    assert b"because" not in sent


def run(tmp_path: Path, *program: str, **environ: str) -> tuple[subprocess.CompletedProcess[str], float]:
    """A run of an agent that needs no network, and how many seconds it took."""
    (tmp_path / "work").mkdir(exist_ok=True)
    began = time.monotonic()
    done = subprocess.run(
        [*program, sys.executable, "-m", "quorum", "run", "list ."],
        cwd=tmp_path / "work",
        env=environment(tmp_path / "home", **environ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done, time.monotonic() - began


@pytest.mark.long
def test_without_the_setting_a_run_connects_to_nothing_whatever_the_variables_say(tmp_path):
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed, which shows connections")
    tried = subprocess.run([strace, "-o", "/dev/null", "true"], capture_output=True, timeout=30, check=False)
    if tried.returncode:
        pytest.skip(f"strace cannot trace here: {tried.stderr.decode().strip()}")
    log = tmp_path / "connections"
    with receiving() as receiver:
        variables = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint,
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_METRICS_EXPORTER": "otlp",
        }
        tracing = (strace, "-f", "-qq", "-o", str(log), "-e", "trace=connect,sendto,sendmsg")
        silent, _ = run(tmp_path, *tracing, **variables)
        unset = log.read_text()
        sending, _ = run(tmp_path, *tracing, QUORUM_TELEMETRY__OTLP_ENDPOINT=receiver.endpoint)

    assert (silent.returncode, sending.returncode) == (0, 0), silent.stderr + sending.stderr
    assert [line for line in unset.splitlines() if "AF_INET" in line] == []
    assert "AF_INET" in log.read_text()
    assert receiver.bodies


def hide_durations(text: str) -> str:
    return re.sub(r"\(\d+(\.\d+)? m?s\)", "(…)", text)


@pytest.fixture(scope="module")
def unwatched(tmp_path_factory) -> tuple[subprocess.CompletedProcess[str], float]:
    return run(tmp_path_factory.mktemp("unwatched"))


@pytest.mark.long
@pytest.mark.parametrize("collector", ["refuses", "never answers", "answers 503", "answers rubbish"])
def test_a_collector_in_trouble_neither_fails_a_run_nor_holds_up_its_end(tmp_path, unwatched, collector):
    plain, plain_secs = unwatched
    with receiving(hangs=collector == "never answers") as receiver:
        receiver.status = 503 if collector == "answers 503" else 200
        receiver.answer = b"<html>" * 1_000 if collector == "answers rubbish" else b""
        # Nothing listens on port 9, which is reserved.
        endpoint = "http://127.0.0.1:9" if collector == "refuses" else receiver.endpoint
        watched, watched_secs = run(tmp_path, QUORUM_TELEMETRY__OTLP_ENDPOINT=endpoint)

    assert (watched.returncode, watched.stdout) == (0, plain.stdout)
    assert hide_durations(watched.stderr) == hide_durations(plain.stderr)
    # Three seconds at its end, and what it takes to load the library on a machine that is busy.
    assert watched_secs < plain_secs + 3 + 60
