"""Anthropic Messages as the service and the gateways to other models speak it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from quorum.domain.conversation.history import AssistantMessage, UserMessage
from quorum.domain.conversation.response import (
    END_TURN,
    MAX_TOKENS,
    PAUSE,
    REFUSAL,
    TOOL_USE,
    Delta,
    LlmResponse,
    OpaqueBlock,
    ReasoningBlock,
    StopKind,
    StopReason,
    StreamedToolCall,
    StreamEvent,
    TextBlock,
    ToolUseBlock,
    Usage,
)
from quorum.domain.errors import ProviderError
from quorum.infrastructure.models.anthropic.answer import MessagesAnswer
from quorum.infrastructure.models.anthropic.client import build_messages_history, build_messages_payload
from quorum.infrastructure.models.shared.api_client import ApiRequest
from quorum.infrastructure.models.shared.failures import Failures
from tests.support.session_rigs import server_rig
from tests.support.sse_server import Say

FAILURES = Failures(provider="p", address="http://h", key_env=None, secret="", timeout_secs=1.0)
STARTED = {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 7, "output_tokens": 1}}}
STOPPED = {"type": "message_stop"}


def _start(block: dict[str, Any], index: int | None = 0) -> dict[str, Any]:
    return _placed({"type": "content_block_start", "content_block": block}, index)


def _delta(delta: dict[str, Any], index: int | None = 0) -> dict[str, Any]:
    return _placed({"type": "content_block_delta", "delta": delta}, index)


def _stop(index: int | None = 0) -> dict[str, Any]:
    return _placed({"type": "content_block_stop"}, index)


def _placed(event: dict[str, Any], index: int | None) -> dict[str, Any]:
    return event if index is None else {**event, "index": index}


def _ended(word: str | None = "end_turn", **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": word}, "usage": {"output_tokens": 3, **usage}}


def _call(call_id: str = "a", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": given}


def _json(text: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": text}


def _says(text: str) -> dict[str, Any]:
    return {"type": "text_delta", "text": text}


TEXT = {"type": "text", "text": ""}


def _read(*events: dict[str, Any]) -> tuple[LlmResponse, list[StreamEvent]]:
    received: list[StreamEvent] = []
    answer = MessagesAnswer("p", received.append, FAILURES)
    for event in (STARTED, *events, STOPPED):
        answer.read_event("", event)
    return answer.build_response(), received


def _sent_back(response: LlmResponse) -> list[dict[str, Any]]:
    messages = (UserMessage("go"), AssistantMessage(response))
    request = ApiRequest(model="m", system="", messages=messages, tools=(), tool_choice="auto")
    body: dict[str, Any] = build_messages_payload(request, history=build_messages_history("p"), max_tokens=9)
    blocks: list[dict[str, Any]] = body["messages"][1]["content"]
    return blocks


def _inputs(response: LlmResponse) -> list[tuple[str, Any]]:
    return [(block.id, block.input) for block in response.content if isinstance(block, ToolUseBlock)]


@pytest.mark.parametrize(
    ("word", "stop"),
    [
        ("end_turn", END_TURN),
        ("stop_sequence", END_TURN),
        ("max_tokens", MAX_TOKENS),
        ("model_context_window_exceeded", MAX_TOKENS),
        ("pause_turn", PAUSE),
        ("refusal", REFUSAL),
        ("tool_use", TOOL_USE),
        ("length", MAX_TOKENS),
        ("solar_flare", StopReason(StopKind.OTHER, "solar_flare")),
    ],
)
def test_each_reason_to_stop_is_understood_or_kept(word: str, stop: StopReason) -> None:
    response, _ = _read(_start(TEXT), _delta(_says("a")), _stop(), _ended(word))
    assert response.stop_reason == stop


@pytest.mark.parametrize(
    "word", ["max_tokens", "refusal", "pause_turn", "model_context_window_exceeded", "flare"]
)
def test_a_call_runs_only_where_the_answer_stopped_for_it(word: str) -> None:
    response, _ = _read(_start(_call()), _delta(_json("{}")), _stop(), _ended(word))
    assert response.tool_calls() == ()


def test_an_end_of_turn_with_a_whole_call_runs_it() -> None:
    response, _ = _read(_start(_call()), _delta(_json("{}")), _stop(), _ended("end_turn"))
    assert response.stop_reason == TOOL_USE


@pytest.mark.parametrize("given", [{"a": 1}, '{"a": 1}'])
def test_arguments_may_come_with_the_beginning_of_a_call(given: Any) -> None:
    response, received = _read(_start({**_call(), "input": given}), _stop(), _ended("tool_use"))
    assert _inputs(response) == [("a", {"a": 1})]
    assert received == [
        StreamedToolCall(index=0, id="a", name="f"),
        StreamedToolCall(index=0, arguments_delta='{"a": 1}'),
    ]


def test_blocks_that_all_have_one_number_or_none_are_distinguished_by_their_order() -> None:
    for index in (0, None):
        response, _ = _read(
            _start(TEXT, index),
            _delta(_says("I look."), index),
            _stop(index),
            _start(_call("a"), index),
            _delta(_json('{"a": 1}'), index),
            _stop(index),
            _start(_call("b"), index),
            _delta(_json('{"b": 2}'), index),
            _stop(index),
            _ended("tool_use"),
        )
        assert response.text_content() == "I look."
        assert _inputs(response) == [("a", {"a": 1}), ("b", {"b": 2})]


def test_calls_without_ids_get_ids_of_their_own() -> None:
    response, _ = _read(
        _start(_call("")),
        _stop(),
        _start(_call(""), 1),
        _stop(1),
        _start(_call("")),
        _stop(),
        _ended("tool_use"),
    )
    assert len({call_id for call_id, _ in _inputs(response)} - {""}) == 3


@pytest.mark.parametrize(
    "events",
    [
        [_start(_call()), _delta(_json('{"a": 1}')), _ended("tool_use")],
        [_start(_call()), _start(_call()), _delta(_json("{}")), _stop(), _ended("tool_use")],
        [_start(_call()), _stop(), _start(_call()), _stop(), _ended("tool_use")],
        [_start(_call()), _stop(), _delta(_json('{"a": 1}')), _ended("tool_use")],
        [_delta(_json("{}")), _start(_call()), _stop(), _ended("tool_use")],
        [_start({**_call(), "name": ""}), _stop(), _ended("tool_use")],
        [_start(_call()), _stop(), STARTED, _ended("tool_use")],
        [_start(_call()), _stop()],
        [_start(_call()), _stop(), _ended(None)],
    ],
    ids=[
        "never ended",
        "begun twice",
        "told twice",
        "more after its end",
        "begun after its first piece",
        "without a name",
        "begun anew",
        "no reason to stop",
        "an empty reason to stop",
    ],
)
def test_a_stream_that_cannot_be_right_is_damage(events: list[dict[str, Any]]) -> None:
    with pytest.raises(ProviderError):
        _read(*events)


def test_kinds_of_events_and_pieces_that_are_not_known_change_nothing() -> None:
    response, received = _read(
        {"type": "ping"},
        {"type": "message_metadata", "container": {"id": "c"}},
        _start({**TEXT, "citations": []}),
        _delta(_says("a")),
        _delta({"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "x"}}),
        _delta({"type": "sparkle_delta", "sparkle": "*"}),
        _stop(),
        {**_ended(), "context_management": {"applied_edits": []}},
    )
    assert received == [Delta("a")]
    assert response.content == (TextBlock("a"),)


def test_empty_blocks_of_text_are_left_out() -> None:
    response, _ = _read(_start(TEXT), _stop(), _start(TEXT, 1), _delta(_says(""), 1), _stop(1), _ended())
    assert response.content == ()


def test_what_the_provider_ran_itself_goes_back_as_it_came() -> None:
    search = {
        "type": "server_tool_use",
        "id": "srv",
        "name": "web_search",
        "input": {},
        "caller": {"type": "x"},
    }
    found = {
        "type": "web_search_tool_result",
        "tool_use_id": "srv",
        "content": [{"type": "web_search_result", "encrypted_content": "e=="}],
    }
    strange = {"type": "compaction", "content": None, "encrypted": "x=="}
    response, received = _read(
        _start(search),
        _delta(_json('{"query": ')),
        _delta(_json('"ä"}')),
        _stop(),
        _start(found, 1),
        _stop(1),
        _start(strange, 2),
        _delta({"type": "compaction_delta", "content": "Sum"}, 2),
        _delta({"type": "compaction_delta", "content": "med."}, 2),
        _stop(2),
        _start(TEXT, 3),
        _delta(_says("Done."), 3),
        _stop(3),
        _ended(),
    )
    assert received == [Delta("Done.")]
    assert all(isinstance(block, OpaqueBlock) for block in response.content[:3])
    assert _sent_back(response)[:3] == [
        {**search, "input": {"query": "ä"}},
        found,
        {**strange, "content": "Summed."},
    ]


@pytest.mark.parametrize("number", [7, ["srv"], None])
def test_a_result_whose_call_is_not_named_by_text_stays_away(number: Any) -> None:
    search = {"type": "server_tool_use", "id": number, "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": number, "content": []}
    response, _ = _read(
        *(_start(search), _stop(), _start(found, 1), _stop(1), _start(TEXT, 2), _delta(_says("Done."), 2)),
        *(_stop(2), _ended()),
    )

    assert _sent_back(response) == [{"type": "text", "text": "Done."}]


def test_thinking_goes_back_signed_as_it_came_and_redacted_thinking_too() -> None:
    redacted = {"type": "redacted_thinking", "data": "e=="}
    hidden = {"type": "thinking", "thinking": "", "signature": "h=="}
    response, _ = _read(
        _start({"type": "thinking", "thinking": "", "signature": ""}),
        _delta({"type": "thinking_delta", "thinking": "hm"}),
        _delta({"type": "signature_delta", "signature": "s=="}),
        _stop(),
        _start(redacted, 1),
        _stop(1),
        _start(hidden, 2),
        _stop(2),
        _start(TEXT, 3),
        _delta(_says("4"), 3),
        _stop(3),
        _ended(),
    )
    assert isinstance(response.content[0], ReasoningBlock)
    signed = {"type": "thinking", "thinking": "hm", "signature": "s=="}
    assert _sent_back(response)[:3] == [signed, redacted, hidden]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        {"type": "error", "message": "Overloaded"},
        {"error": {"message": "Overloaded"}},
        {"error": "Overloaded"},
    ],
)
def test_an_error_in_the_stream_has_many_forms(event: dict[str, Any]) -> None:
    with pytest.raises(ProviderError, match="Overloaded") as caught:
        _read(_start(TEXT), _delta(_says("a")), event)
    assert caught.value.partial


def test_an_answer_that_has_only_been_announced_has_not_begun() -> None:
    answer = MessagesAnswer("p", lambda _event: None, FAILURES)
    answer.read_event("", STARTED)
    answer.read_event("", {"type": "ping"})
    assert not answer.started
    answer.read_event("", _start(TEXT))
    assert answer.started


@pytest.mark.parametrize(
    ("at_the_end", "usage"),
    [
        ({}, Usage(input=7, output=3)),
        ({"input_tokens": 0, "cache_read_input_tokens": 0}, Usage(input=7, output=3)),
        ({"input_tokens": 5, "cache_read_input_tokens": 2}, Usage(input=5, output=3, cache_read=2)),
        ({"cache_creation_input_tokens": 4}, Usage(input=7, output=3, cache_write=4)),
    ],
)
def test_the_last_counts_hold_where_they_count_anything(at_the_end: dict[str, int], usage: Usage) -> None:
    response, _ = _read(_start(TEXT), _delta(_says("a")), _stop(), _ended(**at_the_end))
    assert response.usage == usage


def test_an_answer_in_one_piece_is_emitted_like_a_stream() -> None:
    body = {
        "type": "message",
        "model": "m",
        "content": [{"type": "text", "text": "Hi."}, _call("a", n=1)],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 7, "output_tokens": 3},
    }
    received: list[StreamEvent] = []
    answer = MessagesAnswer("p", received.append, FAILURES)
    for event in answer.map_events(json.loads(json.dumps(body))):
        answer.read_event("", event)
    response = answer.build_response()
    assert received[0] == Delta("Hi.")
    assert _inputs(response) == [("a", {"n": 1})]
    assert response.usage == Usage(input=7, output=3)


async def test_a_paused_answer_is_sent_back_as_it_is_and_goes_on() -> None:
    async with server_rig("anthropic") as rig:
        rig.script(Say(pieces=("Searching",), stop="pause_turn"), Say(pieces=("Found.",)))
        paused = await rig.session.send_with_tools("look", (), on_event=lambda _event: None)
        resumed = await rig.session.send_with_tools(None, (), on_event=lambda _event: None)
        sent = rig.last_body["messages"]
    assert (paused.stop_reason, resumed.stop_reason) == (PAUSE, END_TURN)
    assert [message["role"] for message in sent] == ["user", "assistant"]
    assert sent[-1]["content"][0]["text"] == "Searching"
