"""Calls in the text of an answer, read where `tool_parser` asks for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import ItemsView

import pytest

from quorum.application.ports.models import OnStreamEvent
from quorum.domain.calls.tool import ToolParser, ToolResultMessage
from quorum.domain.conversation.history import AssistantMessage, Conversation, ToolResults, UserMessage
from quorum.domain.conversation.response import (
    LlmResponse,
    ReasoningBlock,
    StopKind,
    StopReason,
    StreamedToolCall,
    StreamEvent,
    ToolUseBlock,
    Usage,
)
from quorum.domain.errors import ProviderError
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from tests.support.sse_server import Raw, Refuse, Say, SseServer

TOOL: JsonObject = {
    "name": "read_file",
    "description": "Read a file",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
}
CALL = '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>'


def _stream(*texts: str, finish: str = "stop") -> Raw:
    deltas: list[JsonObject] = [{"content": text} for text in texts]
    chunks: list[JsonObject] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    return Raw(body=f"{body}data: [DONE]\n\n".encode())


async def _send(
    server: SseServer,
    parser: ToolParser,
    tools: tuple[JsonObject, ...] = (TOOL,),
    on_event: OnStreamEvent = lambda _event: None,
) -> LlmResponse:
    settings = ProviderSettings(
        type="openai-chat",
        base_url=f"http://127.0.0.1:{server.port}/v1",
        api_key_env="",
        max_retries=0,
        tool_parser=parser,
    )
    registry = ProviderRegistry({"local": settings}, environ={})
    try:
        session = registry.open_session("local/m", Conversation(), "")
        return await session.send_with_tools("go", tools, on_event=on_event)
    finally:
        await registry.aclose()


async def _ask(
    *texts: str,
    parser: ToolParser = "hermes",
    finish: str = "stop",
    tools: tuple[JsonObject, ...] = (TOOL,),
    on_event: OnStreamEvent = lambda _event: None,
) -> LlmResponse:
    async with SseServer("chat") as server:
        server.script.append(_stream(*texts, finish=finish))
        return await _send(server, parser, tools, on_event)


async def test_calls_go_back_in_the_form_of_the_api_to_a_server_that_refuses_results_behind_text() -> None:
    refusal = "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
    async with SseServer("openai-chat") as server:
        server.script += [
            _stream("```json\n", CALL.split("\n")[1], "\n```"),
            Refuse(status=400, message=refusal),
            _stream("It is x."),
            _stream("done"),
            _stream("again"),
        ]
        settings = ProviderSettings(type="openai-chat", base_url=server.base_url, tool_parser="json")
        registry = ProviderRegistry({"local": settings}, environ={})
        try:
            session = registry.open_session("local/m", Conversation(), "")
            (call,) = (await session.send_with_tools("go", (TOOL,), on_event=lambda _event: None)).tool_calls()
            result = ToolResultMessage(tool_use_id=call.native_id, tool_name="read_file", output="x = 1")
            await session.send_tool_results((result,), on_event=lambda _event: None)
            answer = await session.send("and now?")
            await session.send("and then?")
        finally:
            await registry.aclose()

    assert answer.text_content() == "done"
    in_form = ["tool_calls" in json.dumps(body["messages"]) for body in server.bodies]
    assert in_form == [False, False, True, True, True]


async def test_a_call_in_the_text_is_a_call_with_an_id_of_its_own() -> None:
    events: list[StreamEvent] = []
    response = await _ask("I look.\n", *CALL, on_event=events.append)

    (call,) = response.tool_calls()
    assert (call.tool_name, call.arguments) == ("read_file", {"path": "a.py"})
    assert call.native_id
    assert response.text_content() == "I look.\n"
    streamed = [event for event in events if isinstance(event, StreamedToolCall)]
    assert [event.name for event in streamed] == ["read_file", None]
    assert json.loads("".join(event.arguments_delta for event in streamed)) == {"path": "a.py"}


@pytest.mark.parametrize(
    ("parser", "call", "result"),
    [
        (
            "json",
            '```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```',
            "\n\n```output\nx = 1\n```",
        ),
        ("hermes", CALL, "\n<tool_response>\nx = 1\n</tool_response>\n"),
        ("hermes", CALL, "<|im_end|>\n<|im_start|>user\n"),
        ("mistral", '[TOOL_CALLS]read_file[ARGS]{"path": "a.py"}', '[TOOL_RESULTS]{"content": "x = 1"}'),
    ],
)
async def test_an_answer_that_makes_up_a_result_is_ended_there_and_its_call_runs(
    parser: ToolParser, call: str, result: str
) -> None:
    pieces = [*call, *result, "It holds x. ", CALL.replace("a.py", "made_up.py"), "The file holds x. " * 300]
    async with SseServer("openai-chat") as server, asyncio.timeout(60):
        server.script.append(Say(pieces=pieces, ending="stall"))
        response = await _send(server, parser)
        await server.disconnected.wait()

    (only,) = response.tool_calls()
    assert (only.tool_name, only.arguments) == ("read_file", {"path": "a.py"})
    assert "holds" not in response.text_content()


async def test_a_call_with_its_result_in_thinking_that_began_in_the_prompt_does_not_run() -> None:
    response = await _ask(CALL, "\n<tool_response>\nx = 1\n", "</tool_response>\nSo I would say:</think>\n1")

    assert response.tool_calls() == ()
    assert response.text_content().strip() == "1"


async def test_several_calls_with_results_in_thinking_that_began_in_the_prompt_do_not_run() -> None:
    made_up = "\n<tool_response>\nx = 1\n</tool_response>\n"
    response = await _ask(CALL, made_up, CALL.replace("a.py", "b.py"), made_up, "I would say:</think>\n1")

    assert response.tool_calls() == ()
    assert response.text_content().strip() == "1"


async def test_several_calls_with_results_without_thinking_run_the_first() -> None:
    made_up = "\n<tool_response>\nx = 1\n</tool_response>\n"
    response = await _ask(CALL, made_up, CALL.replace("a.py", "b.py"), made_up, "It is 1.")

    assert [call.arguments for call in response.tool_calls()] == [{"path": "a.py"}]


async def test_a_model_whose_answers_do_not_begin_in_thought_is_ended_at_the_result_it_makes_up() -> None:
    async with SseServer("openai-chat") as server, asyncio.timeout(60):
        server.script += [
            _stream("It is x."),
            Say(pieces=[*CALL, "\n<tool_response>\n", "x" * 80], ending="stall"),
        ]
        settings = ProviderSettings(type="openai-chat", base_url=server.base_url, tool_parser="hermes")
        registry = ProviderRegistry({"local": settings}, environ={})
        try:
            session = registry.open_session("local/m", Conversation(), "")
            await session.send_with_tools("go", (TOOL,), on_event=lambda _event: None)
            response = await session.send_with_tools("on", (TOOL,), on_event=lambda _event: None)
        finally:
            await registry.aclose()

    assert len(response.tool_calls()) == 1


async def test_what_an_answer_used_that_was_ended_is_counted_by_the_progress_of_llama_cpp() -> None:
    progress = {"total": 1_290, "cache": 1_260, "processed": 1_290, "time_ms": 900}
    texts = (CALL, "\n<tool_response>\n", "x " * 40, CALL, "y" * 5_000)
    chunks: list[JsonObject] = [
        {"choices": [{"index": 0, "delta": {"content": None}}], "prompt_progress": progress},
        *({"choices": [{"index": 0, "delta": {"content": text}}]} for text in texts),
    ]
    async with SseServer("openai-chat") as server:
        server.script.append(Raw(body="".join(f"data: {json.dumps(each)}\n\n" for each in chunks).encode()))
        response = await _send(server, "hermes")

    assert response.usage == Usage(input=30, cache_read=1_260, output=5)


async def test_what_it_used_is_estimated_where_the_server_has_not_counted() -> None:
    usage = {"prompt_tokens": 500, "completion_tokens": 4}
    counted: JsonObject = {
        "choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}],
        "usage": usage,
    }
    async with SseServer("openai-chat") as server, asyncio.timeout(60):
        server.script += [
            Raw(body=f"data: {json.dumps(counted)}\n\ndata: [DONE]\n\n".encode()),
            Say(pieces=[CALL, "\n<tool_response>\n", "x" * 80], ending="stall"),
        ]
        settings = ProviderSettings(type="openai-chat", base_url=server.base_url, tool_parser="hermes")
        registry = ProviderRegistry({"local": settings}, environ={})
        try:
            session = registry.open_session("local/m", Conversation(), "")
            await session.send_with_tools("go", (TOOL,), on_event=lambda _event: None)
            response = await session.send_with_tools("on", (TOOL,), on_event=lambda _event: None)
        finally:
            await registry.aclose()

    assert 500 < response.usage.input < 700
    assert response.usage.output == 3


class _Watched(dict[str, JsonValue]):
    """Arguments that count how often they are written."""

    written = 0

    def items(self) -> ItemsView[str, JsonValue]:
        self.written += 1
        return super().items()


async def test_what_was_said_before_is_not_measured_anew_with_each_answer() -> None:
    arguments = _Watched(path="a.py")
    block = ToolUseBlock(id="c", name="read_file", input=arguments)
    call = AssistantMessage(LlmResponse(content=(block,), stop_reason=StopReason(StopKind.TOOL_USE)))
    result = ToolResults((ToolResultMessage(tool_use_id="c", tool_name="read_file", output="x = 1"),))
    async with SseServer("openai-chat") as server, asyncio.timeout(60):
        server.script += [Say(pieces=[said]) for said in ("It is 1.", "It still is.", "It was 1.", "It is.")]
        settings = ProviderSettings(type="openai-chat", base_url=server.base_url)
        registry = ProviderRegistry({"local": settings}, environ={})
        try:
            session = registry.open_session("local/m", Conversation((UserMessage("go"), call, result)), "")
            written = []
            for _ in range(4):
                response = await session.send_with_tools("on", (TOOL,), on_event=lambda _event: None)
                written.append(arguments.written)
        finally:
            await registry.aclose()

    assert response.usage.context > 0
    assert written[0] > 0
    assert written[1] == written[-1]  # a text that is only added to is kept from the second request on


async def test_without_the_setting_and_without_tools_it_is_text() -> None:
    assert (await _ask(CALL, parser="")).text_content() == CALL
    assert (await _ask(CALL, tools=())).text_content() == CALL


async def test_thinking_in_the_text_becomes_reasoning() -> None:
    opened = await _ask(f"<think>I need it.</think>{CALL}")
    prefilled = await _ask("I need ", f"it.</think>{CALL}")

    for response in (opened, prefilled):
        (thought,) = [block for block in response.content if isinstance(block, ReasoningBlock)]
        assert thought.text == "I need it."
        assert response.text_content() == ""
        assert len(response.tool_calls()) == 1


async def test_a_call_that_a_limit_cuts_off_does_not_run_and_is_known_as_one() -> None:
    response = await _ask(CALL[:50], finish="length")

    assert response.stop_reason.kind is StopKind.MAX_TOKENS
    assert response.tool_calls() == ()
    assert response.holds_calls


async def test_what_could_be_read_in_one_way_only_is_recorded_as_repaired() -> None:
    response = await _ask("<tool_call>{'name': 'read_file', 'arguments': {'path': 'a.py'}}</tool_call>")

    (block,) = [block for block in response.content if isinstance(block, ToolUseBlock)]
    assert block.repairs == ("the text of the call: Python's form of it was read",)


async def test_a_setting_that_the_type_of_the_provider_does_not_know_is_named() -> None:
    settings = ProviderSettings(
        type="anthropic", base_url="http://127.0.0.1:1", api_key_env="", tool_parser="hermes"
    )

    with pytest.raises(ProviderError, match=r'\[providers.local\] tool_parser is for type "openai-chat"'):
        ProviderRegistry({"local": settings}, environ={}).open_session("local/m", Conversation(), "")
