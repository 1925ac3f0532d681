from __future__ import annotations

import json
from typing import Any

import pytest

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from quorum.domain.conversation.response import (
    Delta,
    LlmResponse,
    OpaqueBlock,
    StopKind,
    StreamedReasoning,
    StreamedToolCall,
    StreamEvent,
    TextBlock,
)
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.openai_responses.client import ResponsesAnswer
from quorum.infrastructure.models.openai_responses.payload import (
    build_responses_history,
    build_responses_payload,
)
from quorum.infrastructure.models.shared.api_client import ApiRequest
from quorum.infrastructure.models.shared.failures import Failures
from tests.support.session_rigs import server_rig
from tests.support.sse_server import Raw, Refuse, Say

FAILURES = Failures(provider="p", address="http://h", key_env=None, secret="", timeout_secs=1.0)
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": '{"a": 1}'}
SEARCH: JsonObject = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "q"}}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAA=="}


def _message(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": text}], **more}


def _added(index: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def _done(index: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def _completed(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"status": "completed", "output": output, **more}}


def _ended(response: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.completed", "response": response}


def _read(*events: dict[str, Any]) -> tuple[LlmResponse, list[StreamEvent]]:
    received: list[StreamEvent] = []
    answer = ResponsesAnswer("p", received.append, FAILURES)
    for event in events:
        answer.read_event("", json.loads(json.dumps(event)))
    return answer.build_response(), received


def _sent_back(response: LlmResponse, *after: Message) -> list[dict[str, Any]]:
    messages = (UserMessage("go"), AssistantMessage(response), *after)
    request = ApiRequest(model="m", system="s", messages=messages, tools=(), tool_choice="auto")
    body: dict[str, Any] = build_responses_payload(
        request, history=build_responses_history("p"), max_tokens=None, wants_reasoning=True
    )
    items: list[dict[str, Any]] = body["input"][1:]
    return items


def test_nothing_is_stored_and_reasoning_is_asked_for_in_a_form_that_can_go_back() -> None:
    request = ApiRequest(
        model="m", system="Be brief.", messages=(UserMessage("a"),), tools=(), tool_choice="auto"
    )
    body = build_responses_payload(
        request, history=build_responses_history("p"), max_tokens=7, wants_reasoning=True
    )
    assert body == {
        "model": "m",
        "stream": True,
        "store": False,
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": "a"}],
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 7,
    }


def test_items_go_back_in_their_order_and_unchanged() -> None:
    response, _ = _read(_completed(THOUGHT, dict(SEARCH), _message("Looking.", phase="commentary"), CALL))
    result = ToolResultMessage(tool_use_id="call_1", tool_name="f", output="")
    assert _sent_back(response, ToolResults((result,))) == [
        THOUGHT,
        SEARCH,
        {"role": "assistant", "content": "Looking.", "phase": "commentary"},
        {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "(no output)"},
    ]


def test_reasoning_that_nothing_follows_stays_at_home() -> None:
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [THOUGHT]}
    response, _ = _read({"type": "response.incomplete", "response": cut})
    assert response.stop_reason.kind is StopKind.MAX_TOKENS
    assert _sent_back(response) == []


def test_a_server_tools_item_is_kept_as_it_came() -> None:
    response, _ = _read(
        _added(0, {"type": "web_search_call", "id": "ws_1"}), _done(0, dict(SEARCH)), _completed()
    )
    assert response.content == (OpaqueBlock(provider="p", payload=SEARCH),)


def test_pieces_without_a_place_are_distinguished_by_the_id_of_their_item() -> None:
    second = {**CALL, "id": "fc_2", "call_id": "call_2", "arguments": "{}"}
    piece = {"type": "response.function_call_arguments.delta"}
    response, received = _read(
        _added(0, {**CALL, "arguments": ""}),
        _added(1, {**second, "arguments": ""}),
        {**piece, "item_id": "fc_2", "delta": "{}"},
        {**piece, "item_id": "fc_1", "delta": '{"a": 1}'},
        _done(0, CALL),
        _done(1, second),
        _completed(),
    )
    assert [(c.native_id, c.arguments) for c in response.tool_calls()] == [
        ("call_1", {"a": 1}),
        ("call_2", {}),
    ]
    pieces = [
        (e.index, e.arguments_delta) for e in received if isinstance(e, StreamedToolCall) and e.arguments_delta
    ]
    assert pieces == [(1, "{}"), (0, '{"a": 1}')]


def test_what_no_piece_brought_is_emitted_when_the_item_is_whole() -> None:
    response, received = _read(_done(0, _message("All at once.")), _done(1, CALL), _completed())
    assert received == [
        Delta("All at once."),
        StreamedToolCall(index=0, id="call_1", name="f"),
        StreamedToolCall(index=0, arguments_delta='{"a": 1}'),
    ]
    assert len(response.tool_calls()) == 1


def test_an_item_that_never_became_whole_is_taken_from_the_list_at_the_end() -> None:
    piece = {"type": "response.output_text.delta", "output_index": 0, "delta": "Hel"}
    response, received = _read(_added(0, _message("")), piece, _completed(_message("Hello"), CALL))
    assert response.text_content() == "Hello"
    assert [e.text for e in received if isinstance(e, Delta)] == ["Hel", "lo"]
    assert [call.native_id for call in response.tool_calls()] == ["call_1"]


def test_an_end_without_the_whole_of_a_call_is_damage() -> None:
    with pytest.raises(ProviderError, match="before all of the answer") as caught:
        _read(_added(0, {**CALL, "arguments": ""}), _completed())
    assert caught.value.kind is ProviderErrorKind.DAMAGED_STREAM


def test_a_call_marked_as_cut_off_never_runs() -> None:
    with pytest.raises(ProviderError, match="a call was cut off"):
        _read(_completed({**CALL, "status": "incomplete"}))


def test_a_call_that_ends_in_the_place_of_another_is_damage() -> None:
    with pytest.raises(ProviderError, match="began as another"):
        _read(_added(0, CALL), _done(0, {**CALL, "call_id": "call_2"}), _completed())


def test_a_call_has_an_id_even_where_its_beginning_was_no_call() -> None:
    response, _ = _read(_added(0, {**CALL, "type": "gunction_call"}), _done(0, CALL), _completed())
    assert [call.native_id for call in response.tool_calls()] == ["call_1"]


def test_the_done_mark_does_not_replace_the_end_of_the_answer() -> None:
    answer = ResponsesAnswer("p", lambda _event: None, FAILURES)
    answer.read_event("", _done(0, CALL))
    answer.end()
    with pytest.raises(ProviderError, match="before the answer was complete"):
        answer.build_response()


@pytest.mark.parametrize("status", ["queued", "in_progress", "cancelled"])
def test_an_answer_that_is_not_finished_holds_no_call_to_run(status: str) -> None:
    response, _ = _read(_ended({"status": status, "output": [CALL]}))
    assert str(response.stop_reason) == status
    assert response.tool_calls() == ()


def test_a_refusal_is_shown_and_distinguished() -> None:
    refusal = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
    piece = {"type": "response.refusal.delta", "output_index": 0, "delta": "No."}
    response, received = _read(_added(0, {"type": "message"}), piece, _done(0, refusal), _completed(refusal))
    assert response.stop_reason.kind is StopKind.REFUSAL
    assert response.content == (TextBlock("No."),)
    assert received == [Delta("No.")]


def test_parts_of_a_summary_are_paragraphs() -> None:
    summary = [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]
    part = {"type": "response.reasoning_summary_part.added", "output_index": 0}
    piece = {"type": "response.reasoning_summary_text.delta", "output_index": 0}
    _, received = _read(
        _added(0, THOUGHT),
        {**part, "summary_index": 0},
        {**piece, "delta": "One."},
        {**part, "summary_index": 1},
        {**piece, "delta": "Two."},
        _done(0, {**THOUGHT, "summary": summary}),
        _completed(),
    )
    assert "".join(e.text for e in received if isinstance(e, StreamedReasoning)) == "One.\n\nTwo."


def test_two_calls_of_one_id_get_two_ids() -> None:
    response, _ = _read(_done(0, CALL), _done(1, CALL), _completed())
    assert len({call.native_id for call in response.tool_calls()}) == 2


def _argued(event: str, text: str, index: int | None = 0) -> dict[str, Any]:
    place = {} if index is None else {"output_index": index}
    return {"type": f"response.function_call_arguments.{event}", **place, "delta": text, "arguments": text}


def test_the_end_of_the_arguments_makes_a_call_whole() -> None:
    response, received = _read(_added(0, {**CALL, "arguments": ""}), _argued("done", '{"a": 1}'), _completed())
    assert [call.arguments for call in response.tool_calls()] == [{"a": 1}]
    assert received[1:] == [StreamedToolCall(index=0, arguments_delta='{"a": 1}')]


def test_a_last_form_without_arguments_leaves_those_that_were_streamed() -> None:
    response, _ = _read(
        _added(0, {**CALL, "arguments": ""}),
        _argued("delta", '{"a": 1}'),
        _done(0, {**CALL, "arguments": ""}),
        _completed(),
    )
    assert [call.arguments for call in response.tool_calls()] == [{"a": 1}]


def test_a_call_that_ends_with_other_arguments_than_were_streamed_is_damage() -> None:
    with pytest.raises(ProviderError, match="other arguments"):
        _read(_added(0, {**CALL, "arguments": ""}), _argued("delta", '{"a": 2}'), _done(0, CALL), _completed())


def test_arguments_may_be_written_differently_at_the_end() -> None:
    response, _ = _read(
        _added(0, {**CALL, "arguments": ""}), _argued("delta", '{"a":1}'), _done(0, CALL), _completed()
    )
    assert [call.arguments for call in response.tool_calls()] == [{"a": 1}]


def test_arguments_may_be_an_object() -> None:
    response, _ = _read(_done(0, {**CALL, "arguments": {"a": 1}}), _completed())
    assert [call.arguments for call in response.tool_calls()] == [{"a": 1}]


def test_items_that_all_have_the_place_zero_are_distinguished_by_their_order() -> None:
    second = {**CALL, "id": "fc_2", "call_id": "call_2", "arguments": "{}"}
    response, received = _read(
        _added(0, THOUGHT),
        _done(0, THOUGHT),
        _added(0, _message("")),
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi."},
        _done(0, _message("Hi.")),
        _added(0, {**CALL, "arguments": ""}),
        _argued("delta", '{"a": 1}'),
        _done(0, CALL),
        _added(0, {**second, "arguments": ""}),
        _done(0, second),
        _completed(),
    )
    assert [e.text for e in received if isinstance(e, Delta)] == ["Hi."]
    assert response.text_content() == "Hi."
    assert [(c.native_id, c.arguments) for c in response.tool_calls()] == [("call_1", {"a": 1}), ("call_2", {})]
    assert len(response.content) == 4


def test_an_item_whose_id_changes_with_every_event_is_one_item() -> None:
    response, received = _read(
        _added(0, {**_message(""), "id": "x1"}),
        {"type": "response.output_text.delta", "output_index": 0, "item_id": "x2", "delta": "Hi."},
        _done(0, {**_message("Hi."), "id": "x3"}),
        _added(1, {**CALL, "id": "y1", "arguments": ""}),
        _done(1, {**CALL, "id": "y2"}),
        _completed({**_message("Hi."), "id": "x4"}, {**CALL, "id": "y3"}),
    )
    assert len(response.content) == 2
    assert [e.text for e in received if isinstance(e, Delta)] == ["Hi."]


def test_pieces_of_text_without_any_item_before_or_after_are_the_answer() -> None:
    piece = {"type": "response.output_text.delta"}
    response, received = _read({**piece, "delta": "Hel"}, {**piece, "delta": "lo"}, _completed())
    assert [e.text for e in received if isinstance(e, Delta)] == ["Hel", "lo"]
    assert response.text_content() == "Hello"


def test_text_that_comes_only_when_a_part_is_whole_is_reported() -> None:
    part = {"type": "response.output_text.done", "output_index": 0}
    response, received = _read(
        _added(0, _message("")),
        {**part, "content_index": 0, "text": "One. "},
        {**part, "content_index": 1, "text": "Two."},
        _completed(),
    )
    assert [e.text for e in received if isinstance(e, Delta)] == ["One. ", "Two."]
    assert response.text_content() == "One. Two."


def test_everything_may_come_with_the_end() -> None:
    response, received = _read(
        {"type": "response.queued", "response": {"status": "queued"}},
        _completed(THOUGHT, dict(SEARCH), _message("Hi."), CALL),
    )
    assert len(response.content) == 4
    assert received[0] == Delta("Hi.")
    assert [call.native_id for call in response.tool_calls()] == ["call_1"]


def test_a_shorter_list_at_the_end_under_other_ids_says_nothing_twice() -> None:
    response, received = _read(
        _done(0, THOUGHT), _done(1, _message("Hi.")), _completed({**_message("Hi."), "id": "another"})
    )
    assert [e.text for e in received if isinstance(e, Delta)] == ["Hi."]
    assert response.text_content() == "Hi."


def test_the_list_at_the_end_does_not_run_a_call_twice() -> None:
    response, _ = _read(_done(1, CALL), _completed(_message("Hi."), CALL))
    assert [call.native_id for call in response.tool_calls()] == ["call_1"]


def test_events_of_other_kinds_change_nothing() -> None:
    response, received = _read(
        {"type": "response.created", "response": {"status": "in_progress", "error": None}},
        {"type": "keepalive", "sequence_number": 3},
        {"type": "codex.rate_limits", "message": "plenty"},
        _added(0, {"type": "web_search_call", "id": "ws_1"}),
        {"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws_1"},
        _done(0, dict(SEARCH)),
        _added(1, _message("")),
        {"type": "response.content_part.added", "output_index": 1, "part": {"type": "output_text", "text": ""}},
        {"type": "response.output_text.delta", "output_index": 1, "delta": "Hi.", "logprobs": []},
        {"type": "response.output_text.annotation.added", "output_index": 1, "annotation": {"type": "url"}},
        {"type": "response.content_part.done", "output_index": 1},
        _done(1, _message("Hi.")),
        _completed(),
    )
    assert received == [Delta("Hi.")]
    assert response.content == (OpaqueBlock(provider="p", payload=SEARCH), TextBlock("Hi."))


@pytest.mark.parametrize(
    "kind",
    [
        "mcp_call",
        "mcp_list_tools",
        "image_generation_call",
        "code_interpreter_call",
        "file_search_call",
        "novelty",
    ],
)
def test_items_that_the_server_sees_to_itself_go_back_as_they_came(kind: str) -> None:
    item = {"type": kind, "id": "x_1", "status": "completed", "output": "ä", "result": None}
    response, _ = _read(_done(0, item), _done(1, _message("Done.")), _completed())
    assert response.stop_reason.kind is StopKind.END_TURN
    assert _sent_back(response)[0] == item


def test_a_call_of_a_kind_that_was_never_offered_ends_visibly_and_does_not_go_back() -> None:
    foreign = {"type": "custom_tool_call", "id": "ct_1", "call_id": "call_9", "name": "g", "input": "text"}
    response, _ = _read(_done(0, THOUGHT), _done(1, foreign), _completed())
    assert response.tool_calls() == ()
    assert str(response.stop_reason) == "custom_tool_call was not offered"
    assert _sent_back(response) == []


def test_a_call_that_the_server_answered_itself_goes_back_with_its_output() -> None:
    pair = [
        {"type": "shell_call", "id": "sh_1", "call_id": "call_9", "action": {}},
        {"type": "shell_call_output", "id": "sh_2", "call_id": "call_9", "output": []},
    ]
    response, _ = _read(_done(0, pair[0]), _done(1, pair[1]), _done(2, _message("Done.")), _completed())
    assert response.stop_reason.kind is StopKind.END_TURN
    assert _sent_back(response)[:2] == pair


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "server_error", "message": "It broke", "param": None},
        {"type": "error", "error": {"type": "server_error", "message": "It broke"}},
        {"type": "response.failed", "response": {"status": "failed", "error": {"message": "It broke"}}},
        {"type": "response.completed", "response": {"status": "failed", "error": {"message": "It broke"}}},
        {"error": {"message": "It broke"}},
        {"message": "It broke"},
    ],
)
def test_an_error_has_many_forms(event: dict[str, Any]) -> None:
    with pytest.raises(ProviderError, match="It broke") as caught:
        _read(_done(0, CALL), event)
    assert caught.value.partial


@pytest.mark.parametrize(
    ("why", "kind"),
    [
        ("max_output_tokens", StopKind.MAX_TOKENS),
        ("model_context_window_exceeded", StopKind.MAX_TOKENS),
        ("content_filter", StopKind.REFUSAL),
        ("solar_flare", StopKind.OTHER),
    ],
)
def test_a_whole_call_does_not_run_where_the_answer_was_cut_short(why: str, kind: StopKind) -> None:
    cut = {"status": "incomplete", "incomplete_details": {"reason": why}, "output": [CALL]}
    response, _ = _read(_done(0, CALL), {"type": "response.incomplete", "response": cut})
    assert response.stop_reason.kind is kind
    assert response.tool_calls() == ()


def test_the_end_has_another_name_with_some_servers() -> None:
    response, _ = _read(_done(0, CALL), {"type": "response.done", "response": {"output": [CALL]}})
    assert [call.native_id for call in response.tool_calls()] == ["call_1"]


def test_a_server_that_says_that_it_works_on_it_has_not_begun_to_answer() -> None:
    answer = ResponsesAnswer("p", lambda _event: None, FAILURES)
    for word in ("created", "queued", "in_progress"):
        answer.read_event("", {"type": f"response.{word}", "response": {"status": word}})
    assert not answer.started
    answer.read_event("", _added(0, _message("")))
    assert answer.started


async def test_a_model_without_encrypted_reasoning_is_asked_again_without_it_once() -> None:
    refusal = Refuse(
        status=400, type="invalid_request_error", message="Encrypted content is not supported with this model."
    )
    async with server_rig("openai") as rig:
        rig.script(refusal, Say(pieces=("one",)), Say(pieces=("two",)))
        first = await rig.session.send("hi")
        second = await rig.session.send("and now?")
        asked = ["include" in body for body in rig.server.bodies]
    assert (first.text_content(), second.text_content()) == ("one", "two")
    assert asked == [True, False, False]


async def test_an_answer_in_one_piece_is_emitted_like_a_stream() -> None:
    body = json.dumps({"status": "completed", "output": [_message("Hi."), CALL]}).encode()
    events: list[StreamEvent] = []
    async with server_rig("openai") as rig:
        rig.script(Raw(body=body, content_type="application/json; charset=utf-8"))
        response = await rig.session.send_with_tools("hi", (), on_event=events.append)
    assert events[0] == Delta("Hi.")
    assert [call.native_id for call in response.tool_calls()] == ["call_1"]


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("context_length_exceeded", ProviderErrorKind.TOO_LONG, False),
        ("invalid_prompt", ProviderErrorKind.BAD_REQUEST, False),
        ("model_not_found", ProviderErrorKind.NOT_FOUND, False),
        ("insufficient_quota", ProviderErrorKind.RATE_LIMIT, False),
        ("too_many_requests", ProviderErrorKind.RATE_LIMIT, True),
        ("rate_limit_exceeded", ProviderErrorKind.RATE_LIMIT, True),
        ("server_error", ProviderErrorKind.SERVER, True),
        ("never_heard_of", ProviderErrorKind.SERVER, True),
    ],
)
@pytest.mark.parametrize("form", ["error", "nested", "failed"])
def test_the_code_of_an_error_tells_whether_it_is_worth_another_try(
    code: str, kind: ProviderErrorKind, retryable: bool, form: str
) -> None:
    message = {"code": code, "message": "why"}
    forms: dict[str, dict[str, Any]] = {
        "error": {"type": "error", "param": None, **message},
        "nested": {"type": "error", "error": {"type": code, **message}},
        "failed": {"type": "response.failed", "response": {"status": "failed", "error": message}},
    }
    with pytest.raises(ProviderError, match="why") as caught:
        _read(forms[form])
    assert (caught.value.kind, caught.value.retryable) == (kind, retryable)
