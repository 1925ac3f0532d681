from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from quorum.domain.conversation.response import (
    END_TURN,
    PAUSE,
    TOOL_USE,
    ContentBlock,
    LlmResponse,
    OpaqueBlock,
    ReasoningBlock,
    StopReason,
    TextBlock,
    ToolUseBlock,
)
from quorum.domain.text.json_value import JsonObject
from quorum.domain.textual_calls.families import get_family
from quorum.domain.textual_calls.forms import TextualCall, Tools
from quorum.domain.textual_calls.reader import TextualCallReader
from quorum.infrastructure.models.anthropic.client import build_messages_history, build_messages_payload
from quorum.infrastructure.models.openai_chat.payload import build_chat_history, build_chat_payload
from quorum.infrastructure.models.shared.api_client import ApiRequest

TOOL: JsonObject = {"name": "t", "description": "d", "input_schema": {"type": "object"}}
CALL = ToolUseBlock(id="call:1", name="t", input={"a": "ü"})
RESULT = ToolResultMessage(tool_use_id="call:1", tool_name="t", output="")
THOUGHT = ReasoningBlock(
    provider="p", payload={"type": "thinking", "thinking": "x", "signature": "s=="}, text="x"
)
SERVER_CALL = OpaqueBlock(provider="p", payload={"type": "server_tool_use", "id": "srv_1", "input": {"q": 1}})
CACHED = {"cache_control": {"type": "ephemeral"}}


def _answer(*content: ContentBlock, stop: StopReason = END_TURN) -> AssistantMessage:
    return AssistantMessage(LlmResponse(content=content, stop_reason=stop))


def _request(*messages: Message, tools: tuple[JsonObject, ...] = (), system: str = "") -> ApiRequest:
    return ApiRequest(model="m", system=system, messages=messages, tools=tools, tool_choice="auto")


def _anthropic(*messages: Message, **more: Any) -> dict[str, Any]:
    return build_messages_payload(
        _request(*messages, **more), history=build_messages_history("p"), max_tokens=9
    )


def _chat(*messages: Message, **more: Any) -> dict[str, Any]:
    request = _request(*messages, **more)
    return build_chat_payload(
        request, history=build_chat_history("p"), max_tokens=None, max_tokens_field="max_tokens"
    )


def _render_as_text(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    body = build_chat_payload(
        _request(*messages),
        history=build_chat_history("p"),
        max_tokens=None,
        max_tokens_field="max_tokens",
        writes_calls=True,
    )
    rendered: list[dict[str, Any]] = json.loads(json.dumps(body["messages"]))
    return rendered


READ_CALL = ToolUseBlock(id="1", name="read_file", input={"path": "ü"})
LIST_CALL = ToolUseBlock(id="2", name="list_directory", input={})
TURN = (
    UserMessage("a"),
    _answer(READ_CALL, stop=TOOL_USE),
    ToolResults((ToolResultMessage(tool_use_id="1", tool_name="read_file", output="x"),)),
    _answer(TextBlock("I look.\n"), READ_CALL, LIST_CALL, stop=TOOL_USE),
    ToolResults(
        (
            ToolResultMessage(tool_use_id="1", tool_name="read_file", output="y"),
            ToolResultMessage(tool_use_id="2", tool_name="list_directory", output="z"),
        )
    ),
    _answer(TextBlock("done")),
)


def test_calls_go_back_as_text_to_a_model_that_writes_them_so() -> None:
    _, alone, result, behind_words, first, second, words = _render_as_text(TURN)

    assert [_read_json_calls(each["content"]) for each in (alone, behind_words)] == [
        [("read_file", {"path": "ü"})],
        [("read_file", {"path": "ü"}), ("list_directory", {})],
    ]
    assert behind_words["content"].startswith("I look.\n")
    assert [each["role"] for each in (result, first, second)] == ["tool"] * 3
    assert first["content"] == "y"
    assert all("the result of your call" in each["content"] for each in (result, second))
    assert words == {"role": "assistant", "content": "done"}


@pytest.mark.parametrize("render", [_render_as_text, lambda messages: _chat(*messages)["messages"]])
def test_what_was_sent_once_is_sent_again_to_the_byte(
    render: Callable[[tuple[Message, ...]], list[dict[str, Any]]],
) -> None:
    whole = render((*TURN, UserMessage("b"), *TURN[1:], UserMessage("c"), UserMessage("d")))
    for number in range(1, 2 * len(TURN) + 2):
        sent = render((*TURN, UserMessage("b"), *TURN[1:], UserMessage("c"), UserMessage("d"))[:number])
        assert json.dumps(whole[: len(sent)]) == json.dumps(sent)


def _read_json_calls(text: str) -> list[tuple[str, object]]:
    tools: Tools = {name: {"type": "object"} for name in ("read_file", "list_directory")}
    reader = TextualCallReader(get_family("json"), tools)
    pieces = (*reader.feed(text), *reader.finish(is_cut=False))
    return [(each.name, json.loads(each.arguments)) for each in pieces if isinstance(each, TextualCall)]


def test_anthropic_gets_neighbours_of_one_role_as_one_message() -> None:
    answers = (_answer(TextBlock("c")), _answer(TextBlock("d")))
    body = _anthropic(UserMessage("a"), UserMessage("b"), *answers, UserMessage("e"))
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]
    assert [block["text"] for m in body["messages"] for block in m["content"]] == ["a", "b", "c", "d", "e"]


def test_anthropic_gets_results_before_what_the_person_said_next() -> None:
    results = ToolResults((RESULT,))
    body = _anthropic(UserMessage("a"), _answer(CALL, stop=TOOL_USE), results, UserMessage("b"))
    assert [block["type"] for block in body["messages"][-1]["content"]] == ["tool_result", "text"]


def test_anthropic_gets_ids_of_other_providers_in_characters_it_accepts() -> None:
    body = _anthropic(UserMessage("a"), _answer(CALL, stop=TOOL_USE), ToolResults((RESULT,)))
    assert body["messages"][1]["content"][0]["id"] == "call_1"
    assert body["messages"][2]["content"][0]["tool_use_id"] == "call_1"


def test_anthropic_caches_tools_system_and_the_last_two_user_messages() -> None:
    talk = [message for n in range(3) for message in (UserMessage(f"u{n}"), _answer(TextBlock(f"a{n}")))]
    body = _anthropic(*talk, UserMessage("now"), tools=(TOOL, TOOL), system="be brief")
    assert [tool.get("cache_control") is not None for tool in body["tools"]] == [False, True]
    assert body["system"] == [{"type": "text", "text": "be brief", **CACHED}]
    marked = [block["text"] for m in body["messages"] for block in m["content"] if "cache_control" in block]
    assert marked == ["u2", "now"]


def test_anthropic_reasoning_goes_back_unchanged() -> None:
    body = _anthropic(UserMessage("a"), _answer(THOUGHT, CALL, stop=TOOL_USE), ToolResults((RESULT,)))
    assert body["messages"][1]["content"][0] == THOUGHT.payload


def test_blocks_of_another_provider_are_left_out() -> None:
    foreign = ReasoningBlock(provider="other", payload={"type": "thinking", "signature": "s"}, text="x")
    opaque = OpaqueBlock(provider="other", payload={"type": "secret"})
    body = _anthropic(UserMessage("a"), _answer(foreign, opaque, TextBlock("b")), UserMessage("c"))
    assert body["messages"][1]["content"] == [{"type": "text", "text": "b"}]


def test_reasoning_that_was_cut_off_or_stands_alone_is_left_out() -> None:
    unsigned = ReasoningBlock(
        provider="p", payload={"type": "thinking", "thinking": "x", "signature": ""}, text="x"
    )
    body = _anthropic(UserMessage("a"), _answer(unsigned), _answer(THOUGHT), UserMessage("b"))
    assert [m["role"] for m in body["messages"]] == ["user"]


def test_a_paused_answer_is_sent_back_whole_and_an_abandoned_one_without_its_open_call() -> None:
    paused = _answer(TextBlock("searching"), SERVER_CALL, stop=PAUSE)
    resumed = _anthropic(UserMessage("a"), paused)
    abandoned = _anthropic(UserMessage("a"), paused, UserMessage("never mind"))
    assert resumed["messages"][-1]["content"][-1] == SERVER_CALL.payload
    assert [block["type"] for block in abandoned["messages"][1]["content"]] == ["text"]


def test_half_a_surrogate_pair_does_not_make_a_request_unsendable() -> None:
    body = _anthropic(UserMessage("x\udce4"), system="\ud83d")
    json.dumps(body, ensure_ascii=False).encode()


def test_an_empty_system_text_and_empty_messages_are_not_sent_to_anthropic() -> None:
    body = _anthropic(UserMessage("a"), _answer(TextBlock(" \n")), UserMessage("b"), system=" ")
    assert "system" not in body
    assert len(body["messages"]) == 1


def test_chat_messages_take_their_documented_form() -> None:
    body = _chat(
        UserMessage("a"),
        _answer(TextBlock("b"), CALL, stop=TOOL_USE),
        ToolResults((RESULT,)),
        tools=(TOOL,),
        system="s",
    )
    assert body["messages"] == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "a"},
        {
            "role": "assistant",
            "content": "b",
            "tool_calls": [
                {"id": "call:1", "type": "function", "function": {"name": "t", "arguments": '{"a": "ü"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "call:1", "content": "(no output)"},
    ]
    assert body["tools"][0]["function"] == {
        "name": "t",
        "description": "d",
        "parameters": {"type": "object"},
    }
    assert "max_tokens" not in body


def test_chat_reasoning_goes_back_only_where_a_tool_was_called_and_where_its_result_was_answered() -> None:
    thought = ReasoningBlock(provider="p", payload={"reasoning_content": "hm"}, text="hm")
    body = _chat(
        UserMessage("a"),
        _answer(thought, CALL, stop=TOOL_USE),
        ToolResults((RESULT,)),
        _answer(thought, TextBlock("b")),
        UserMessage("c"),
        _answer(thought, TextBlock("d")),
        UserMessage("e"),
    )
    answers = [message for message in body["messages"] if message["role"] == "assistant"]
    assert [answer.get("reasoning_content") for answer in answers] == ["hm", "hm", None]


def test_chat_answers_without_text_or_calls_are_not_sent() -> None:
    thought = ReasoningBlock(provider="p", payload={"reasoning": "hm"}, text="hm")
    assert len(_chat(UserMessage("a"), _answer(thought), UserMessage("b"))["messages"]) == 2
