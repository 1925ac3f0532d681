"""Chat Completions as its many servers speak it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import (
    END_TURN,
    REFUSAL,
    TOOL_USE,
    Delta,
    LlmResponse,
    ReasoningBlock,
    StopKind,
    StreamedReasoning,
    StreamedToolCall,
    StreamEvent,
    TextBlock,
    ToolUseBlock,
    Usage,
)
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.openai_chat.answer import ChatAnswer
from quorum.infrastructure.models.shared.api_client import ApiRequest
from quorum.infrastructure.models.shared.failures import Failures
from quorum.infrastructure.models.shared.json_fields import WrongKindError
from tests.support.session_rigs import server_rig
from tests.support.sse_server import Raw, Say

FAILURES = Failures(provider="v", address="http://h", key_env=None, secret="", timeout_secs=1.0)
COUNTS = {"prompt_tokens": 7, "completion_tokens": 4}
TOOLS = ({"name": "f", "description": "d", "input_schema": {"type": "object"}},)


def _read(
    *deltas: dict[str, Any], finish: str | None = "tool_calls", done: bool = True, names: tuple[str, ...] = ()
) -> tuple[LlmResponse, list[StreamEvent]]:
    events: list[StreamEvent] = []
    answer = ChatAnswer("v", events.append, FAILURES, names=names)
    for delta in deltas:
        answer.read_event("", {"choices": [{"index": 0, "delta": delta}]})
    answer.read_event("", {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if done:
        answer.end()
    return answer.build_response(), events


def _read_chunks(*chunks: dict[str, Any]) -> tuple[LlmResponse, list[StreamEvent]]:
    events: list[StreamEvent] = []
    answer = ChatAnswer("v", events.append, FAILURES)
    for chunk in chunks:
        answer.read_event("", chunk)
    answer.end()
    return answer.build_response(), events


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
    assert [e.id for e in events if isinstance(e, StreamedToolCall)] == [first.id, second.id]


def test_calls_that_share_an_id_are_distinguished() -> None:
    response, _ = _read(_piece("{}", index=0, id="same", name="f"), _piece("{}", index=1, id="same", name="g"))
    first, second = _calls(response)
    assert (first.id, first.name, second.name) == ("same", "f", "g")
    assert second.id != "same"


def test_calls_that_are_all_numbered_zero_are_distinguished_by_id() -> None:
    response, _ = _read(
        _piece('{"a": 1}', index=0, id="x", name="f"), _piece('{"a": 2}', index=0, id="y", name="f")
    )
    assert [(c.id, c.input) for c in _calls(response)] == [("x", {"a": 1}), ("y", {"a": 2})]


def test_an_id_and_name_repeated_with_every_piece_make_one_call() -> None:
    response, events = _read(
        _piece('{"a"', index=0, id="x", name="f"), _piece(": 1}", index=0, id="x", name="f")
    )
    assert [(c.id, c.name, c.input) for c in _calls(response)] == [("x", "f", {"a": 1})]
    assert [e.name for e in events if isinstance(e, StreamedToolCall)] == ["f", None]


def test_pieces_without_a_number_belong_to_the_call_before() -> None:
    response, _ = _read(_piece('{"a"', id="x", name="f"), _piece(": 1}"), _piece('{"a": 2}', id="y", name="f"))
    assert [(c.id, c.input) for c in _calls(response)] == [("x", {"a": 1}), ("y", {"a": 2})]


@pytest.mark.parametrize(
    "delta",
    [
        {"tool_calls": [{"index": "0", "id": 7, "function": {"name": "f", "arguments": '{"x": 1}'}}]},
        {"tool_calls": {"id": "a", "function": {"name": "f", "arguments": '{"x": 1}'}}},
        {"tool_calls": [{"id": "a", "name": "f", "arguments": {"x": 1}}]},
        {"tool_calls": [{"id": "a", "function": {"name": "f", "parameters": {"x": 1}}}]},
        _piece('{}{"x": 1}', id="a", name="f"),
        _piece('{"x": 1}{"x": 1}', id="a", name="f"),
        _piece('{"x": 1}', id="a", name="functions.f"),
        _piece('{"x": 1}', id="a", name=" f "),
    ],
)
def test_a_call_in_a_form_of_its_own_with_one_reading_is_read(delta: dict[str, Any]) -> None:
    (call,) = _calls(_read(delta)[0])

    assert (call.name, call.input, call.parse_error) == ("f", {"x": 1}, None)


def test_a_name_may_come_in_pieces_or_whole_with_every_piece() -> None:
    first = _piece(index=0, id="a", name="read_")
    second = _piece(index=0, name="file")
    last = _piece('{"x": 1}', index=0)
    for pieces in ((first, second, last), (_piece(index=0, id="a", name="read_file"),) * 2 + (last,)):
        (call,) = _calls(_read(*pieces)[0])
        assert (call.name, call.input) == ("read_file", {"x": 1})


NAMES = ("read", "read_file", "edit_file", "list")


@pytest.mark.parametrize("known", [NAMES, ()])
@pytest.mark.parametrize(
    ("pieces", "name", "id"),
    [
        ([("a", "re"), (None, "ad_"), (None, "file")], "read_file", "a"),
        ([("a", "re"), (None, "read_"), (None, "read_file")], "read_file", "a"),
        ([("a", "read_file"), ("a", "read_file")], "read_file", "a"),
        ([("call_", "read_file"), ("abc", None)], "read_file", "call_abc"),
        ([("call_", "read_file"), ("call_abc", None)], "read_file", "call_abc"),
        ([("a", "unheard"), (None, "_of")], "unheard_of", "a"),
    ],
)
def test_the_name_and_id_of_a_call_may_come_in_pieces_or_grow_and_are_told_whole(
    pieces: list[tuple[str | None, str | None]], name: str, id: str, known: tuple[str, ...]
) -> None:
    deltas = [_piece(index=0, id=one, name=other) for one, other in pieces]
    response, events = _read(*deltas, _piece('{"x": 1}', index=0), names=known)

    assert [(call.id, call.name, call.input) for call in _calls(response)] == [(id, name, {"x": 1})]
    assert events == [StreamedToolCall(index=0, id=id, name=name, arguments_delta='{"x": 1}')]


@pytest.mark.parametrize(
    ("pieces", "called"),
    [
        ([(None, None, "read_"), (None, None, "file")], ["read_file"]),
        ([(None, None, "read"), (None, None, "_file")], ["read_file"]),
        ([(0, "call_", "read_"), (0, "abc", "file")], ["read_file"]),
        ([(0, "a", "edit_"), (1, None, "file")], ["edit_file"]),
        ([(0, None, "list"), (0, None, "read")], ["list", "read"]),
        ([(None, None, "list"), (None, None, "read_file")], ["list", "read_file"]),
        ([(0, "a", "list"), (0, "b", "list")], ["list", "list"]),
    ],
)
def test_pieces_of_one_name_are_told_from_two_calls_by_the_names_of_the_tools(
    pieces: list[tuple[int | None, str | None, str]], called: list[str]
) -> None:
    deltas = [_piece(index=index, id=id, name=name) for index, id, name in pieces]
    response, _ = _read(*deltas, names=NAMES)

    assert [call.name for call in _calls(response)] == called


@pytest.mark.parametrize(
    ("pieces", "arguments"),
    [
        (['{"x"', '{"x": ', '{"x": 1}'], {"x": 1}),
        (["{", '{"x"', '{"x": 1}'], {"x": 1}),
        (['{"x":', '{"x":', "1}}"], {"x": {"x": 1}}),
    ],
)
def test_arguments_may_come_with_all_before_them_unless_they_are_one_text(
    pieces: list[str], arguments: dict[str, Any]
) -> None:
    first, *others = pieces
    response, _ = _read(_piece(first, index=0, id="a", name="f"), *(_piece(each, index=0) for each in others))

    assert [(call.input, call.parse_error) for call in _calls(response)] == [(arguments, None)]


async def test_the_names_of_the_offered_tools_are_known_to_the_reader() -> None:
    tools = tuple({"name": name, "description": "d", "input_schema": {"type": "object"}} for name in NAMES)
    chunks = [{"choices": [{"delta": _piece(name=name)}]} for name in ("read_", "file")]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    async with server_rig("openai-chat") as rig:
        rig.script(Raw(body=f"{body}data: [DONE]\n\n".encode()))
        response = await rig.session.send_with_tools("go", tools, on_event=lambda _event: None)

    assert [call.name for call in _calls(response)] == ["read_file"]


def test_arguments_that_are_said_once_more_as_a_whole_count_once() -> None:
    (call,) = _calls(_read(_piece('{"x"', index=0, id="a", name="f"), _piece('{"x": 1}', index=0, id="a"))[0])

    assert (call.input, call.parse_error) == ({"x": 1}, None)


@pytest.mark.parametrize("thought", ["hm", {"content": "hm"}, [{"type": "text", "text": "h"}, "m"]])
def test_reasoning_may_be_a_text_or_parts(thought: Any) -> None:
    response, _events = _read({"reasoning": thought}, {"content": "Hello"}, finish="stop")

    assert [block.text for block in response.content if isinstance(block, ReasoningBlock)] == ["hm"]


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


def test_calls_that_are_all_numbered_zero_and_have_no_ids_are_distinguished() -> None:
    response, _ = _read(_piece('{"a": 1}', index=0, name="f"), _piece('{"a": 2}', index=0, name="f"))
    assert [c.input for c in _calls(response)] == [{"a": 1}, {"a": 2}]


def test_a_name_repeated_with_every_piece_makes_one_call_even_without_number_and_id() -> None:
    response, _ = _read(_piece('{"a"', name="f"), _piece(": 1}", name="f"), _piece('{"a": 2}', name="f"))
    assert [c.input for c in _calls(response)] == [{"a": 1}, {"a": 2}]


def test_a_new_id_with_every_piece_makes_one_call() -> None:
    response, _ = _read(
        _piece('{"a"', index=0, id="x", name="f"),
        _piece(": 1", index=0, id="y"),
        _piece("}", index=0, id="z"),
        _piece("", index=0, id="w"),
    )
    assert [(c.id, c.input) for c in _calls(response)] == [("x", {"a": 1})]


def test_pieces_that_count_on_by_themselves_belong_to_the_call_before() -> None:
    response, _ = _read(_piece('{"a"', index=0, id="x", name="f"), _piece(": 1", index=1), _piece("}", index=2))
    assert [(c.id, c.input) for c in _calls(response)] == [("x", {"a": 1})]


def test_a_piece_of_a_call_that_never_began_does_not_run_as_part_of_another() -> None:
    with pytest.raises(ProviderError, match="mixed up"):
        _read(_piece('{"a": "b', index=0, id="x", name="f"), _piece("{}", index=1), _piece('c"}', index=0))


def test_an_object_that_is_no_call_in_place_of_the_calls_is_damage() -> None:
    with pytest.raises(WrongKindError, match="tool_calls"):
        _read(_piece('{"', index=0, id="x", name="f"), {"tool_calls": {"a": None}}, _piece('": 1}', index=0))


def test_an_id_that_comes_after_the_name_is_the_id_of_the_call() -> None:
    response, events = _read(
        _piece("", index=0, name="f"), _piece('{"a": ', index=0), _piece("1}", index=0, id="x")
    )
    assert [(c.id, c.input) for c in _calls(response)] == [("x", {"a": 1})]
    assert events == [StreamedToolCall(index=0, id="x", name="f", arguments_delta='{"a": 1}')]


def test_a_name_that_comes_after_the_arguments_began_is_the_name_of_the_call() -> None:
    response, events = _read(_piece('{"a": ', index=0, id="x"), _piece("1}", index=0, name="f"))
    assert [(c.name, c.input) for c in _calls(response)] == [("f", {"a": 1})]
    assert events == [StreamedToolCall(index=0, id="x", name="f", arguments_delta='{"a": 1}')]


def test_calls_whose_pieces_alternate_are_put_together_by_number() -> None:
    response, _ = _read(
        _piece('{"a"', index=0, id="x", name="f"),
        _piece('{"a"', index=1, id="y", name="g"),
        _piece(": 1}", index=0),
        _piece(": 2}", index=1),
    )
    assert [(c.id, c.name, c.input) for c in _calls(response)] == [("x", "f", {"a": 1}), ("y", "g", {"a": 2})]


def test_a_whole_call_that_is_said_twice_runs_once() -> None:
    piece = _piece('{"a": 1}', index=0, id="x", name="f")
    response, _ = _read(piece, piece)
    assert [(c.id, c.input) for c in _calls(response)] == [("x", {"a": 1})]


@pytest.mark.parametrize("arguments", [None, "", "  ", "null", {}, "{}"])
def test_a_call_may_have_no_arguments(arguments: Any) -> None:
    response, _ = _read(_piece(arguments, index=0, id="x", name="f"))
    assert [(c.input, c.parse_error) for c in _calls(response)] == [({}, None)]


def test_the_first_form_of_a_call_is_understood() -> None:
    response, _ = _read(
        {"function_call": {"name": "f", "arguments": '{"a"'}},
        {"function_call": {"arguments": ": 1}"}},
        finish="function_call",
    )
    assert [(c.name, c.input) for c in _calls(response)] == [("f", {"a": 1})]
    assert response.stop_reason == TOOL_USE


def test_a_call_sent_in_both_forms_runs_once() -> None:
    both = {"function_call": {"name": "f", "arguments": "{}"}}
    response, _ = _read({**_piece("{}", index=0, id="x", name="f"), **both}, both)
    assert [c.id for c in _calls(response)] == ["x"]


def test_a_whole_message_after_its_deltas_says_nothing_new() -> None:
    message = {"role": "assistant", "content": "Hello", "tool_calls": [_piece("{}", name="f")["tool_calls"][0]]}
    response, events = _read_chunks(
        {"choices": [{"delta": {"content": "Hel"}, "message": {"content": "Hel"}}]},
        {"choices": [{"delta": {"content": "lo"}, "message": {"content": "Hello"}}]},
        {"choices": [{"delta": {}, "message": message, "finish_reason": "stop"}]},
    )
    assert response.text_content() == "Hello"
    assert [e.text for e in events if isinstance(e, Delta)] == ["Hel", "lo"]
    assert [c.name for c in _calls(response)] == ["f"]


def test_parts_of_content_may_be_bare_texts_or_refusals() -> None:
    response, _ = _read({"content": ["a", {"type": "refusal", "refusal": "No."}]}, finish="stop")
    assert response.text_content() == "aNo."
    assert response.stop_reason == REFUSAL


@pytest.mark.parametrize(
    "part",
    [
        {"type": "thinking", "thinking": "hm"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
    ],
)
def test_thinking_comes_in_many_parts(part: dict[str, Any]) -> None:
    _, events = _read({"content": [part]}, {"content": "4"}, finish="stop")
    assert events == [StreamedReasoning("hm"), Delta("4")]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content", "reasoning_text", "thinking"])
def test_reasoning_comes_in_many_fields_and_goes_back_in_its_own(field: str) -> None:
    response, events = _read({field: "h"}, {field: "m", "content": ""}, {"content": "4"}, finish="stop")
    assert events == [StreamedReasoning("h"), StreamedReasoning("m"), Delta("4")]
    assert response.content[0] == ReasoningBlock(provider="v", payload={field: "hm"}, text="hm")


@pytest.mark.parametrize("ids", [("x", "y"), ("x", "x"), (None, None)])
def test_encrypted_details_of_reasoning_stay_apart(ids: tuple[str | None, str | None]) -> None:
    first = {"type": "reasoning.encrypted", "data": "a==", "id": ids[0], "index": 0}
    second = {"type": "reasoning.encrypted", "data": "b==", "id": ids[1], "index": 0}
    response, _ = _read(
        {"reasoning_details": [first]}, {"reasoning_details": [second, second]}, {"content": "4"}, finish="stop"
    )
    block = response.content[0]
    assert isinstance(block, ReasoningBlock)
    assert block.payload == {"reasoning_details": [first, second]}


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("STOP", StopKind.END_TURN),
        ("end_turn", StopKind.END_TURN),
        ("null", StopKind.END_TURN),
        ("length", StopKind.MAX_TOKENS),
        ("MAX_TOKENS", StopKind.MAX_TOKENS),
        ("model_length", StopKind.MAX_TOKENS),
        ("model_context_window_exceeded", StopKind.MAX_TOKENS),
        ("context_length_exceeded", StopKind.MAX_TOKENS),
        ("max_completion_tokens", StopKind.MAX_TOKENS),
        ("pause_turn", StopKind.MAX_TOKENS),
        ("content_filter", StopKind.REFUSAL),
        ("SAFETY", StopKind.REFUSAL),
        ("sensitive", StopKind.REFUSAL),
        ("solar_flare", StopKind.OTHER),
    ],
)
def test_a_reason_to_stop_has_many_words(word: str, kind: StopKind) -> None:
    response, _ = _read({"content": "a"}, finish=word)
    assert response.stop_reason.kind is kind


@pytest.mark.parametrize(
    ("delta", "used", "kind"),
    [
        ({"content": "and"}, 16, StopKind.MAX_TOKENS),
        ({"content": "and"}, 15, StopKind.END_TURN),
        ({"content": "and"}, 17, StopKind.END_TURN),
        (_piece('{"x": ', index=0, id="x", name="f"), 16, StopKind.MAX_TOKENS),
        (_piece("", index=0, id="x", name="f"), 16, StopKind.MAX_TOKENS),
        (_piece('{"x": 1}', index=0, id="x", name="f"), 16, StopKind.TOOL_USE),
    ],
)
async def test_an_answer_of_just_the_tokens_it_may_have_was_cut_whatever_its_server_says(
    delta: dict[str, Any], used: int, kind: StopKind
) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": used}
    chunk = {"choices": [{"delta": delta, "finish_reason": "stop"}], "usage": usage}
    async with server_rig("openai-chat", max_output_tokens=16) as rig:
        rig.script(Raw(body=f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()))
        response = await rig.session.send_with_tools("go", TOOLS, on_event=lambda _event: None)

    assert response.stop_reason.kind is kind


@pytest.mark.parametrize(
    ("window", "used", "kind"),
    [
        (4_000, 4_000, StopKind.MAX_TOKENS),
        (4_000, 3_999, StopKind.MAX_TOKENS),
        (4_000, 3_950, StopKind.END_TURN),
        (4_000, 4_100, StopKind.END_TURN),
        (4_000, 0, StopKind.END_TURN),
        (0, 0, StopKind.END_TURN),
        (None, 4_000, StopKind.END_TURN),
    ],
)
async def test_an_answer_that_reaches_the_window_was_cut_whatever_its_server_says(
    window: int | None, used: int, kind: StopKind
) -> None:
    usage = {"prompt_tokens": max(used - 100, 0), "completion_tokens": min(used, 100)}
    chunk = {"choices": [{"delta": {"content": "and"}, "finish_reason": "stop"}], "usage": usage}
    request = ApiRequest(
        model="m", system="", messages=(UserMessage("go"),), tools=(), tool_choice="auto", window=window
    )
    async with server_rig("openai-chat") as rig:
        rig.script(Raw(body=f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()))
        response = await rig.client.exchange(request, lambda _event: None)

    assert response.stop_reason.kind is kind


@pytest.mark.parametrize("word", ["length", "content_filter", "MAX_TOKENS"])
def test_a_whole_call_does_not_run_where_the_answer_was_cut_short(word: str) -> None:
    response, _ = _read(_piece("{}", index=0, id="x", name="f"), finish=word)
    assert response.tool_calls() == ()


@pytest.mark.parametrize(
    "word", ["error", "network_error", "insufficient_system_resource", "abort", "Cancelled"]
)
def test_an_answer_that_the_server_broke_off_is_an_error_and_runs_no_call(word: str) -> None:
    with pytest.raises(ProviderError, match=f"ended with {word}") as caught:
        _read(_piece("{}", index=0, id="x", name="f"), finish=word)
    assert caught.value.partial


@pytest.mark.parametrize(
    "chunk",
    [
        {
            "choices": [
                {"delta": {}, "error": {"code": 502, "message": "upstream died"}, "finish_reason": "error"}
            ]
        },
        {"choices": [], "x_groq": {"id": "r", "error": "upstream died"}},
        {"error": "upstream died"},
        {"object": "error", "message": "upstream died"},
        {"message": "upstream died", "code": 1},
        {"detail": "upstream died"},
    ],
)
def test_an_error_may_stand_anywhere_in_a_chunk(chunk: dict[str, Any]) -> None:
    call = _piece("{}", index=0, id="x", name="f")
    with pytest.raises(ProviderError, match="upstream died") as caught:
        _read_chunks({"choices": [{"delta": call}]}, chunk)
    assert caught.value.partial


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        (1002, ProviderErrorKind.RATE_LIMIT, True),
        (1004, ProviderErrorKind.AUTHENTICATION, False),
        (1008, ProviderErrorKind.PERMISSION, False),
        (1027, ProviderErrorKind.BAD_REQUEST, False),
        (1000, ProviderErrorKind.SERVER, True),
    ],
)
@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream"])
async def test_an_error_that_minimax_reports_beside_success_is_one(
    code: int, kind: ProviderErrorKind, retryable: bool, content_type: str
) -> None:
    reported = {"choices": None, "base_resp": {"status_code": code, "status_msg": "sorry"}}
    body = json.dumps(reported) if content_type == "application/json" else f"data: {json.dumps(reported)}\n\n"
    async with server_rig("openai-chat", max_retries=0) as rig:
        rig.script(Raw(body=body.encode(), content_type=content_type))
        with pytest.raises(ProviderError, match=rf"sorry \({code}\)") as caught:
            await rig.session.send("go")
    assert (caught.value.kind, caught.value.retryable) == (kind, retryable)


def test_the_success_that_minimax_reports_is_none() -> None:
    fine = {"base_resp": {"status_code": 0, "status_msg": ""}}
    response, _ = _read_chunks({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}], **fine})
    assert response.text_content() == "a"


@pytest.mark.parametrize(
    "chunks",
    [
        ({"choices": [{"delta": {"content": "a"}}]}, {"choices": [], "usage": COUNTS}),
        ({"choices": [{"delta": {"content": "a"}}], "x_groq": {"usage": COUNTS}},),
        ({"choices": [{"delta": {"content": "a"}, "usage": COUNTS}]},),
        (
            {"choices": [{"delta": {"content": "a"}}], "usage": {"prompt_tokens": 9, "completion_tokens": 1}},
            {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": COUNTS},
            {"choices": [], "usage": None},
        ),
    ],
)
def test_usage_may_stand_anywhere_and_the_last_holds(chunks: tuple[dict[str, Any], ...]) -> None:
    response, _ = _read_chunks(*chunks)
    assert response.usage == Usage(input=7, output=4)


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 2}}, Usage(input=5, output=4, cache_read=2)),
        ({"prompt_cache_hit_tokens": 2}, Usage(input=5, output=4, cache_read=2)),
        ({"cached_tokens": 2}, Usage(input=5, output=4, cache_read=2)),
        (
            {"prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 1}},
            Usage(input=4, output=4, cache_read=2, cache_write=1),
        ),
        ({"reasoning_tokens": 3}, Usage(input=7, output=4, reasoning=3)),
        (
            {"total_tokens": 11, "completion_tokens_details": {"reasoning_tokens": 3}},
            Usage(input=7, output=4, reasoning=3),
        ),
        (
            {"total_tokens": 14, "completion_tokens_details": {"reasoning_tokens": 3}},
            Usage(input=7, output=7, reasoning=3),
        ),
        ({"completion_tokens": 4.0, "prompt_tokens_details": None}, Usage(input=7, output=4)),
    ],
)
def test_cached_and_reasoning_tokens_have_many_names(counts: dict[str, Any], usage: Usage) -> None:
    chunk = {"choices": [{"delta": {"content": "a"}}], "usage": {**COUNTS, **counts}}
    assert _read_chunks(chunk)[0].usage == usage


def test_chunks_that_say_nothing_change_nothing() -> None:
    response, events = _read_chunks(
        {"choices": [], "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]},
        {"choices": None},
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": None, "tool_calls": None}}]},
        {"choices": [{"index": 0, "content_filter_offsets": {"start_offset": 0}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": None}]},
        {"choices": [{"index": 0, "delta": {"content": "ok", "tool_calls": [], "refusal": None}}]},
        {"choices": [{"index": 1, "delta": {"content": "another choice"}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    )
    assert events == [Delta("ok")]
    assert response.stop_reason == END_TURN


def test_a_stream_that_only_says_that_it_is_there_has_not_begun() -> None:
    answer = ChatAnswer("v", lambda _event: None, FAILURES)
    answer.read_event("", {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
    assert not answer.started
    answer.read_event("", {"choices": [{"index": 0, "delta": {"content": "a"}}]})
    assert answer.started


def test_a_call_cut_off_with_an_unknown_word_is_not_executed() -> None:
    response, _ = _read(_piece('{"a": ', index=0, id="x", name="f"), finish="outage")
    assert response.stop_reason.detail == "outage"
    assert response.tool_calls() == ()


def test_a_call_without_a_name_is_damage() -> None:
    with pytest.raises(ProviderError, match="without the name of a tool"):
        _read(_piece("{}", index=0, id="x"))


def test_a_stop_for_calls_without_any_call_lacks_the_call() -> None:
    response, _ = _read({"content": "hm"})
    assert response.stop_reason == TOOL_USE
    assert response.lack == "it stopped to call a tool, and called none"


def test_a_stream_without_any_end_mark_is_damage() -> None:
    with pytest.raises(ProviderError, match="before the answer was complete"):
        _read({"content": "half a sen"}, finish=None, done=False)


def test_a_refusal_in_its_own_field_is_shown_and_distinguished() -> None:
    response, events = _read({"refusal": "I will not."}, finish="stop")
    assert response.stop_reason == REFUSAL
    assert events == [Delta("I will not.")]


def test_content_in_parts_holds_text_and_thinking() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    response, events = _read({"content": [thinking, {"type": "text", "text": "4"}]}, finish="stop")
    assert events == [Delta("4"), StreamedReasoning("hm")] or events == [StreamedReasoning("hm"), Delta("4")]
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


async def test_a_chunk_of_null_says_nothing_and_the_mark_of_the_end_may_be_quoted() -> None:
    hello = json.dumps({"choices": [{"index": 0, "delta": {"content": "Hello"}}]})
    async with server_rig("openai-chat") as rig:
        rig.script(Raw(body=f'data: null\n\ndata: {hello}\n\ndata: "[DONE]"\n\n'.encode()))
        response = await rig.session.send("hi")

    assert response.text_content() == "Hello"


def test_an_answer_that_is_numbered_in_text_is_read() -> None:
    answer = ChatAnswer("p", lambda _event: None, FAILURES)
    answer.read_event("", {"choices": [{"index": "0", "delta": {"content": "so"}, "finish_reason": "stop"}]})

    assert answer.build_response().content == (TextBlock("so"),)
