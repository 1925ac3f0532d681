from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorum.domain.calls.execution import Outcome, Seal, SealedFile
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.conversation.response import (
    LlmResponse,
    StopKind,
    StopReason,
    TextBlock,
    ToolUseBlock,
    Usage,
)
from quorum.domain.errors import QuorumError, UnreadableEvent
from quorum.domain.events.event import (
    CallFinished,
    Event,
    QuorumConcluded,
    ResponseCompleted,
    RetryScheduled,
    ReviewRequested,
    SessionResumed,
    TurnFinished,
    UsageCounted,
    VoteCast,
    event_from_json,
)
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import DecisionLabel
from tests.support.any_event import of_type
from tests.support.builders import a_call, a_context
from tests.support.examples import examples

KINDS = get_args(Event)


def through_text(event: Event) -> Event:
    return event_from_json(json.loads(json.dumps(event.to_json(), ensure_ascii=False)))


def as_shown(event: Event) -> Event:
    """The event without what JSON leaves out on purpose: of a call under review, what is not in its packet."""
    if not isinstance(event, ReviewRequested):
        return event
    packet = event.packet
    call = replace(packet.call, native_id=packet.context.call_id, reasoning=None, parse_error=None, repairs=())
    return replace(event, packet=replace(packet, call=call))


# ------------------------------------------------------------------ there and back


@pytest.mark.long(after=9)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
@examples(25)
def test_any_event_comes_back_from_its_json(kind: type[Event], data: st.DataObject) -> None:
    event = data.draw(of_type(kind))

    read = through_text(event)

    assert read.to_json() == event.to_json()
    assert read == as_shown(event)


@pytest.mark.long(after=9)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
@examples(10)
def test_any_event_comes_back_from_json_that_is_ascii(kind: type[Event], data: st.DataObject) -> None:
    written = json.dumps(data.draw(of_type(kind)).to_json())

    assert json.dumps(event_from_json(json.loads(written)).to_json()) == written


@given(packet=of_type(ReviewPacket))
@settings(deadline=None)
def test_a_packet_comes_back_with_its_digest(packet: ReviewPacket) -> None:
    request = ReviewRequested(context=packet.context, packet=packet, digest=packet.digest, reasons=())

    read = through_text(request)

    assert isinstance(read, ReviewRequested)
    assert read.packet.to_canonical_json() == packet.to_canonical_json()
    assert read.packet.digest == read.digest == packet.digest
    assert read.packet.call.native_id == packet.context.call_id


def test_a_packet_of_everything_keeps_all_of_it() -> None:
    packet = ReviewPacket(
        call=a_call("run_command", {"command": "make", "env": {"A": None}, "n": [1, 2.5, True]}),
        context=a_context(0),
        seal=Seal(
            cwd="/ws",
            files=(SealedFile(path="/ws/a", sha256="0" * 64), SealedFile(path="/ws/b", sha256=None)),
            diff="--- a\n",
            executables=("/usr/bin/make",),
            environment={"PATH": "/bin", "SECRET": None},
            unsealed="further effects are not sealed",
            sandbox="bubblewrap",
            projected={"/ws/a": b"later"},
        ),
    )

    read = through_text(
        ReviewRequested(context=packet.context, packet=packet, digest=packet.digest, reasons=("mode",))
    )

    assert isinstance(read, ReviewRequested)
    assert read.packet == packet
    assert read.packet.seal.projected == {}
    assert read.packet.digest == packet.digest


@pytest.mark.parametrize(
    "reason",
    [
        StopReason(StopKind.OTHER, "tool_use"),
        StopReason(StopKind.OTHER, "other"),
        StopReason(StopKind.OTHER, "other: end_turn"),
        StopReason(StopKind.OTHER, "recitation"),
        StopReason(StopKind.OTHER),
        StopReason(StopKind.TOOL_USE),
    ],
    ids=repr,
)
def test_a_providers_own_word_is_never_taken_for_a_reason_of_ours(reason: StopReason) -> None:
    call = ToolUseBlock(id="c", name="t", input={})
    response = LlmResponse(content=(call,), stop_reason=reason)

    read = through_text(ResponseCompleted(turn_index=0, response=response))

    assert isinstance(read, ResponseCompleted)
    assert read.response == response
    assert read.response.tool_calls() == response.tool_calls()


# ------------------------------------------------------------------ amounts and reports


@pytest.mark.parametrize("amount", ["0", "1E-7", "0.0000001", "12.30", "123456.789012345", "999999999999999"])
def test_a_cost_of_up_to_fifteen_digits_is_exact(amount: str) -> None:
    read = through_text(UsageCounted(model="m", usage=Usage(input=1), cost_usd=Decimal(amount)))

    assert isinstance(read, UsageCounted)
    assert isinstance(read.cost_usd, Decimal)
    assert read.cost_usd == Decimal(amount)


@pytest.mark.parametrize("failed", [True, False])
def test_a_report_comes_back_with_its_exit_code(failed: bool) -> None:
    report = RunReport(
        session_id="s",
        status=RunStatus.FAILED,
        stop_reason=None,
        text="",
        turns=1,
        cost_usd=Decimal("0.25"),
        error="no" if failed else None,
        provider_failed=failed,
    )
    written = TurnFinished(report=report).to_json()["report"]
    assert isinstance(written, dict)

    read = through_text(TurnFinished(report=report))

    assert read == TurnFinished(report=report)
    assert isinstance(read, TurnFinished)
    assert read.report.exit_code == report.exit_code
    assert ("provider_failed" in written) is failed


# ------------------------------------------------------------------ other versions


def test_what_an_older_version_did_not_know_takes_its_default() -> None:
    resumed = {"type": "session_resumed", "v": 1, "session_id": "s", "model": "m", "mode": "ask", "cwd": "/"}
    retried = {"type": "retry_scheduled", "v": 1, "attempt": 1, "delay_secs": 2, "reason": "busy"}

    assert event_from_json(resumed) == SessionResumed(session_id="s", model="m", mode=Mode.ASK, cwd="/")
    assert event_from_json(retried) == RetryScheduled(attempt=1, delay_secs=2.0, reason="busy")


def test_keys_that_are_not_known_are_passed_over() -> None:
    finished = CallFinished(
        context=a_context(1),
        tool="t",
        outcome=Outcome.OK,
        decision=DecisionLabel.NONE,
        output="",
        duration_secs=1.5,
    )
    written = json.loads(json.dumps(finished.to_json()))
    written["mood"] = "good"
    written["context"]["colour"] = ["red"]

    assert event_from_json(written) == finished


FINE: dict[str, Any] = {
    "type": "call_finished",
    "v": 1,
    "context": {"call_id": "c", "batch_id": "b", "call_index": 0, "turn_index": 0},
    "tool": "t",
    "outcome": "ok",
    "decision": "none",
    "output": "",
    "duration_secs": 0.5,
}
ANSWER: dict[str, Any] = {
    "type": "response_completed",
    "v": 1,
    "turn_index": 0,
    "response": {
        "content": [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "c", "name": "t", "input": {}}],
        "stop_reason": "tool_use",
        "model": "m",
        "usage": {"input": 1, "output": 1, "cache_read": 0, "cache_write": 0, "reasoning": 0},
    },
}


def changed(line: dict[str, Any], place: str, value: object) -> dict[str, Any]:
    copy: Any = json.loads(json.dumps(line))
    *way, last = place.split(".")
    inner = copy
    for step in way:
        inner = inner[int(step) if step.isdigit() else step]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return dict(copy)


@pytest.mark.parametrize(
    ("line", "place", "value"),
    [
        (FINE, "v", 2),
        (FINE, "v", "1"),
        (FINE, "v", None),
        (FINE, "tool", None),
        (FINE, "tool", 7),
        (FINE, "outcome", "splendid"),
        (FINE, "duration_secs", True),
        (FINE, "duration_secs", 10**400),
        (FINE, "context", []),
        (FINE, "context.call_index", "0"),
        (FINE, "context.call_index", True),
        (FINE, "context.turn_index", 1.0),
        (FINE, "context.batch_id", None),
        (ANSWER, "response.content", {}),
        (ANSWER, "response.content.1.input", []),
        (ANSWER, "response.content.1.id", None),
        (ANSWER, "response.content.0.type", "telepathy"),
        (ANSWER, "response.content.0.type", None),
        (ANSWER, "response.stop_reason", 3),
        (ANSWER, "response.usage.input", "many"),
    ],
)
def test_what_does_not_fit_is_an_error_that_names_its_type_and_place(
    line: dict[str, Any], place: str, value: object
) -> None:
    with pytest.raises(UnreadableEvent) as caught:
        event_from_json(changed(line, place, value))

    assert f"{line['type']} cannot be read: {place}: " in str(caught.value)
    assert isinstance(caught.value, QuorumError)


@pytest.mark.parametrize(
    ("place", "value"),
    [("outcome", "\ud800"), ("decision", "\udfff"), ("tool\ud800", "t"), ("context.\ud800", 1)],
)
def test_half_of_a_surrogate_pair_in_a_word_or_a_key_is_an_error(place: str, value: object) -> None:
    with pytest.raises(UnreadableEvent, match=r"call_finished cannot be read: .* surrogate pair"):
        event_from_json(changed(FINE, place, value))


@pytest.mark.parametrize("cost", [10**400, float("inf"), float("nan"), True, "1"])
def test_an_amount_that_is_no_finite_number_is_an_error_that_names_its_place(cost: object) -> None:
    line = {"type": "usage_counted", "v": 1, "model": "m", "usage": {}, "cost_usd": cost}

    with pytest.raises(UnreadableEvent, match="usage_counted cannot be read: cost_usd: "):
        event_from_json(line)


@pytest.mark.parametrize("line", [{"type": "tomorrow", "v": 1}, {"v": 1}, {"type": 3, "v": 1}, {}])
def test_an_unknown_type_is_an_error_that_names_it(line: dict[str, Any]) -> None:
    with pytest.raises(
        UnreadableEvent, match="tomorrow" if line.get("type") == "tomorrow" else "without a type"
    ):
        event_from_json(line)


def test_a_message_is_identified_by_its_tag_even_where_its_fields_would_fit_another() -> None:
    line = {"type": "message_added", "v": 1, "message": {"type": "assistant", "text": "hello"}}

    with pytest.raises(UnreadableEvent, match=r"message_added cannot be read: message\.type: .*'assistant'"):
        event_from_json(line)
    with pytest.raises(UnreadableEvent, match="message_added cannot be read: message: expected an object"):
        event_from_json({**line, "message": "hello"})


def test_a_packet_of_a_later_version_is_not_guessed_at() -> None:
    packet = ReviewPacket(call=a_call("t"), context=a_context(0), seal=Seal(cwd="/"))
    line = json.loads(
        json.dumps(
            ReviewRequested(context=packet.context, packet=packet, digest=packet.digest, reasons=()).to_json()
        )
    )
    line["packet"]["version"] = 2

    with pytest.raises(UnreadableEvent, match=r"packet\.version: it is 2"):
        event_from_json(line)


def test_blocks_are_distinguished_by_their_tag() -> None:
    read = event_from_json(ANSWER)

    assert isinstance(read, ResponseCompleted)
    assert read.response.content == (TextBlock("a"), ToolUseBlock(id="c", name="t", input={}))


def test_a_record_of_votes_of_version_1_is_read_and_each_vote_counts_as_it_stands() -> None:
    context = {"call_id": "c1", "batch_id": "b1", "call_index": 0, "turn_index": 0}
    vote = {"model": "p/m", "verdict": "approve", "reasoning": "fine", "confidence": 0.9, "objection": None}
    written = {
        **{"type": "quorum_result", "v": 1, "timestamp": "2026-01-01T00:00:00.000Z", "topic": "action_review"},
        **{
            "target": {"tool": "t", "call_id": "c1"},
            "approved": True,
            "verdict": "approved",
            "rule": "majority",
        },
        **{"votes": [vote], "feedback": None, "context": context, "digest": "d", "api_version": 1},
    }
    read = event_from_json(json.loads(json.dumps(written)))
    assert isinstance(read, QuorumConcluded)
    assert read.api_version == 1
    assert (read.votes[0].in_scope, read.votes[0].counts_as) == (None, None)
    cast = {
        **{"type": "vote_cast", "v": 1, "context": context, "digest": "d", "reviewer": "p/m"},
        **{"verdict": "approve", "confidence": 0.9, "reason": "fine", "objection": None},
    }
    older = event_from_json(json.loads(json.dumps(cast)))
    assert isinstance(older, VoteCast)
    assert older.in_scope is None
