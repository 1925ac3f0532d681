"""Chat Completions as its many servers speak it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from domain.errors import ProviderError
from domain.response import (
    END_TURN,
    REFUSAL,
    TOOL_USE,
    LlmResponse,
    ReasoningBlock,
    StopReason,
    ToolUseBlock,
)
from domain.stream import Delta, ReasoningDelta, StreamEvent, ToolCallDelta
from domain.tool import ToolResultMessage
from infrastructure.providers.failures import Failures
from infrastructure.providers.openai_answer import ChatAnswer
from tests.support.session_rigs import server_rig
from tests.support.sse_server import Raw, Say

TOOLS = ({"name": "f", "description": "d", "input_schema": {"type": "object"}},)


def _read(
    *deltas: dict[str, Any], finish: str | None = "tool_calls", done: bool = True
) -> tuple[LlmResponse, list[StreamEvent]]:
    failures = Failures(provider="v", address="http://h", key_env=None, secret="", timeout_secs=1.0)
    events: list[StreamEvent] = []
    answer = ChatAnswer("v", events.append, failures)
    for delta in deltas:
        answer.take("", {"choices": [{"index": 0, "delta": delta}]})
    answer.take("", {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if done:
        answer.end()
    return answer.response(), events


def _piece(
    arguments: Any = "", *, index: int | None = None, id: str | None = None, name: str | None = None
) -> dict[str, Any]:
    piece: dict[str, Any] = {"function": {"name": name, "arguments": arguments}}
    if index is not None:
        piece["index"] = index
    if id is not None:
        piece["id"] = id
    return {"tool_calls": [piece]}


def _calls(response: LlmResponse) -> list[ToolUseBlock]:
    return [block for block in response.content if isinstance(block, ToolUseBlock)]


def test_calls_without_ids_get_ids_of_their_own() -> None:
    response, events = _read(_piece("{}", index=0, name="f"), _piece("{}", index=1, name="f"))
    first, second = _calls(response)
    assert first.id
    assert second.id
    assert first.id != second.id
    assert [e.id for e in events if isinstance(e, ToolCallDelta)] == [first.id, second.id]


def test_calls_that_share_an_id_are_told_apart() -> None:
    response, _ = _read(_piece("{}", index=0, id="same", name="f"), _piece("{}", index=1, id="same", name="g"))
    first, second = _calls(response)
    assert (first.id, first.name, second.name) == ("same", "f", "g")
    assert second.id != "same"


def test_calls_that_are_all_numbered_zero_are_told_apart_by_id() -> None:
    response, _ = _read(
        _piece('{"a": 1}', index=0, id="x", name="f"), _piece('{"a": 2}', index=0, id="y", name="f")
    )
    assert [(c.id, c.input) for c in _calls(response)] == [("x", {"a": 1}), ("y", {"a": 2})]


def test_an_id_and_name_repeated_with_every_piece_make_one_call() -> None:
    response, events = _read(
        _piece('{"a"', index=0, id="x", name="f"), _piece(": 1}", index=0, id="x", name="f")
    )
    assert [(c.id, c.name, c.input) for c in _calls(response)] == [("x", "f", {"a": 1})]
    assert [e.name for e in events if isinstance(e, ToolCallDelta)] == ["f", None]


def test_pieces_without_a_number_belong_to_the_call_before() -> None:
    response, _ = _read(_piece('{"a"', id="x", name="f"), _piece(": 1}"), _piece('{"a": 2}', id="y", name="f"))
    assert [(c.id, c.input) for c in _calls(response)] == [("x", {"a": 1}), ("y", {"a": 2})]


def test_arguments_sent_as_an_object_are_taken_as_they_are() -> None:
    response, _ = _read(_piece({"a": 1}, index=0, id="x", name="f"))
    assert _calls(response)[0].input == {"a": 1}


@pytest.mark.parametrize("finish", ["stop", "eos", "", None, "something_new", "function_call"])
def test_whole_calls_are_executed_whatever_the_word_for_stopping(finish: str | None) -> None:
    response, _ = _read(_piece('{"a": 1}', index=0, id="x", name="f"), finish=finish)
    assert response.stop_reason == TOOL_USE


def test_a_call_cut_off_without_any_word_is_damage() -> None:
    with pytest.raises(ProviderError, match="in the middle of a call"):
        _read(_piece('{"a": ', index=0, id="x", name="f"), finish=None)


def test_a_call_cut_off_with_an_unknown_word_is_not_executed() -> None:
    response, _ = _read(_piece('{"a": ', index=0, id="x", name="f"), finish="outage")
    assert response.stop_reason.detail == "outage"
    assert response.tool_calls() == ()


def test_a_call_without_a_name_is_damage() -> None:
    with pytest.raises(ProviderError, match="without the name of a tool"):
        _read(_piece("{}", index=0, id="x"))


def test_a_stop_for_calls_without_any_call_is_no_tool_use() -> None:
    response, _ = _read({"content": "hm"})
    assert isinstance(response.stop_reason, StopReason)
    assert not response.has_tool_calls()
    assert str(response.stop_reason) == "tool_calls without a call"


def test_a_stream_without_any_end_mark_is_damage() -> None:
    with pytest.raises(ProviderError, match="before the answer was complete"):
        _read({"content": "half a sen"}, finish=None, done=False)


def test_a_refusal_in_its_own_field_is_shown_and_told_apart() -> None:
    response, events = _read({"refusal": "I will not."}, finish="stop")
    assert response.stop_reason == REFUSAL
    assert events == [Delta("I will not.")]


def test_content_in_parts_holds_text_and_thinking() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    response, events = _read({"content": [thinking, {"type": "text", "text": "4"}]}, finish="stop")
    assert events == [Delta("4"), ReasoningDelta("hm")] or events == [ReasoningDelta("hm"), Delta("4")]
    assert response.text_content() == "4"
    assert response.stop_reason == END_TURN


def test_reasoning_details_are_put_together_for_going_back() -> None:
    response, _ = _read(
        {"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a", "index": 0}]},
        {"reasoning": "b", "reasoning_details": [{"type": "reasoning.text", "text": "b", "index": 0}]},
        {"reasoning_details": [{"type": "reasoning.text", "signature": "s==", "index": 0}]},
        {"content": "ok"},
        finish="stop",
    )
    block = response.content[0]
    assert isinstance(block, ReasoningBlock)
    assert block.text == "ab"
    assert block.payload == {
        "reasoning_details": [{"type": "reasoning.text", "text": "ab", "index": 0, "signature": "s=="}]
    }


def test_half_a_surrogate_pair_becomes_a_replacement_character() -> None:
    response, events = _read({"content": "a\ud83d"}, {"content": "\ude00"}, finish="stop")
    assert "".join(e.text for e in events if isinstance(e, Delta)).encode()
    assert response.text_content() == "a😀"


async def test_what_a_server_adds_to_a_call_goes_back_with_it() -> None:
    extra = {"google": {"thought_signature": "sig=="}}
    call = {"index": 0, "id": "x", "function": {"name": "f", "arguments": "{}"}, "extra_content": extra}
    chunk = {"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    async with server_rig("openai-chat") as rig:
        body = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()
        rig.script(Raw(body=body), Say(pieces=("ok",)))
        await rig.session.send_with_tools("go", TOOLS, on_event=lambda _event: None)
        result = ToolResultMessage(tool_use_id="x", tool_name="f", output="1")
        await rig.session.send_tool_results([result], on_event=lambda _event: None)
        sent = rig.last_body["messages"][2]["tool_calls"][0]
    assert sent == {
        "id": "x",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": extra,
    }
