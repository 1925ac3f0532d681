"""What a model refuses of a request, and how it is asked then: over real sockets."""

from __future__ import annotations

from typing import Any

import pytest

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import (
    TOOL_USE,
    LlmResponse,
    ReasoningBlock,
    StreamEvent,
    StreamRetry,
    ToolUseBlock,
)
from quorum.domain.errors import ProviderError
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from tests.support.session_rigs import ServerRig, server_rig
from tests.support.sse_server import Dialect, Raw, Refuse, Say, ScriptedCall, SseServer

DIALECTS: list[Dialect] = ["anthropic", "openai", "openai-chat"]
VOTE: JsonObject = {"name": "vote", "description": "d", "input_schema": {"type": "object"}}
VOTED = Say(calls=(ScriptedCall("call_1", "vote", "{}"),), stop="tool_use")
REFUSALS = [
    "Thinking may not be enabled when tool_choice forces tool use.",
    "Thinking mode does not support this tool_choice",
    "tool_choice 'specified' is incompatible with thinking enabled",
    "Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
    "No endpoints found that support the provided 'tool_choice' value.",
    "toolConfig.toolChoice is not supported by this model",
]


def _choice(body: dict[str, Any]) -> str:
    choice = body["tool_choice"]
    return choice if isinstance(choice, str) else choice["type"]


async def _ask(rig: ServerRig, events: list[StreamEvent] | None = None) -> LlmResponse:
    received = events if events is not None else []
    return await rig.session.send_with_tools(
        "go", (VOTE,), tool_choice=("tool", "vote"), on_event=received.append
    )


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("message", REFUSALS)
async def test_a_model_that_refuses_to_be_made_to_call_a_tool_is_offered_it(
    dialect: Dialect, message: str
) -> None:
    status = 404 if "endpoints" in message else 400
    events: list[StreamEvent] = []
    async with server_rig(dialect, max_retries=0) as rig:
        rig.script(Refuse(status=status, message=message), VOTED)
        response = await _ask(rig, events)
        forced, free = rig.server.bodies
    assert response.has_tool_calls()
    assert (_choice(forced) in ("tool", "function"), _choice(free)) == (True, "auto")
    assert {**forced, "tool_choice": 0} == {**free, "tool_choice": 0}
    assert not any(isinstance(event, StreamRetry) for event in events)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_refusal_of_anything_else_is_reported_and_not_tried_again(dialect: Dialect) -> None:
    async with server_rig(dialect) as rig:
        rig.script(Refuse(status=400, message="tools are not supported"))
        with pytest.raises(ProviderError, match="tools are not supported"):
            await _ask(rig)
        assert rig.requests() == 1


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_model_that_refuses_even_the_free_choice_is_asked_twice_and_no_more(dialect: Dialect) -> None:
    refusal = Refuse(status=400, message="tool_choice is not supported")
    async with server_rig(dialect) as rig:
        rig.script(refusal, refusal)
        with pytest.raises(ProviderError, match="tool_choice is not supported"):
            await _ask(rig)
        assert rig.requests() == 2


async def test_what_a_model_refuses_is_remembered_for_all_its_sessions_and_for_no_other_model() -> None:
    async with SseServer("openai-chat") as server:
        server.script = [Refuse(status=400, message=REFUSALS[1]), VOTED, VOTED, VOTED]
        settings = ProviderSettings(type="openai-chat", base_url=server.base_url)
        gateway = ProviderRegistry({"p": settings}, environ={})
        for model in ("p/thinks", "p/thinks", "p/other"):
            session = gateway.open_session(model, Conversation(), "")
            await session.send_with_tools(
                "go", (VOTE,), tool_choice=("tool", "vote"), on_event=lambda _event: None
            )
        await gateway.aclose()
    assert [_choice(body) for body in server.bodies] == ["function", "auto", "auto", "function"]


MISSED = [
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
]


def _called_elsewhere(rig: ServerRig) -> None:
    """A history in which another model called a tool, and this one another."""
    foreign = ReasoningBlock(provider="other", payload={"reasoning_content": "secret"}, text="secret")
    own = ReasoningBlock(provider="scripted", payload={"reasoning_content": "hm"}, text="hm")
    rig.conversation.add_user("a")
    for number, thought in enumerate((foreign, own)):
        call = ToolUseBlock(id=f"call_{number}", name="t", input={})
        rig.conversation.add_response(LlmResponse(content=(thought, call), stop_reason=TOOL_USE))
        rig.conversation.add_results(
            [ToolResultMessage(tool_use_id=call.id, tool_name="t", output="x", is_error=False)]
        )
    rig.conversation.add_response(LlmResponse.from_text("done"))


@pytest.mark.parametrize("message", MISSED)
async def test_a_model_that_misses_reasoning_gets_a_blank_one_where_another_model_answered(
    message: str,
) -> None:
    async with server_rig("openai-chat", max_retries=0) as rig:
        _called_elsewhere(rig)
        rig.script(Refuse(status=400, message=message), Say(pieces=("ok",)), Say(pieces=("ok",)))
        await rig.session.send("b")
        await rig.session.send("c")
        bodies = rig.server.bodies
    reported = [[m.get("reasoning_content") for m in b["messages"] if m["role"] == "assistant"] for b in bodies]
    assert reported == [[None, "hm", None], [" ", "hm", " "], [" ", "hm", " ", " "]]


UNSIGNED_CALL = b"".join(
    b"data: " + line + b"\n\n"
    for line in (
        b'{"type": "message_start", "message": {"model": "m", "content": []}}',
        b'{"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}',
        b'{"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}',
        b'{"type": "content_block_stop", "index": 0}',
        b'{"type": "content_block_start", "index": 1, '
        b'"content_block": {"type": "tool_use", "id": "c", "name": "vote", "input": {}}}',
        b'{"type": "content_block_stop", "index": 1}',
        b'{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}',
        b'{"type": "message_stop"}',
    )
)


async def test_thinking_that_a_vendor_does_not_sign_goes_back_before_its_call() -> None:
    async with server_rig("anthropic") as rig:
        rig.script(Raw(body=UNSIGNED_CALL), Say(pieces=("ok",)))
        await _ask(rig)
        result = ToolResultMessage(tool_use_id="c", tool_name="vote", output="x")
        await rig.session.send_tool_results([result], on_event=lambda _event: None)
        answer = rig.last_body["messages"][1]["content"]
    assert answer == [
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "id": "c", "name": "vote", "input": {}},
    ]


async def test_thinking_that_was_cut_off_stays_away_from_any_vendor() -> None:
    body = UNSIGNED_CALL.replace(b'"stop_reason": "tool_use"', b'"stop_reason": "max_tokens"')
    async with server_rig("anthropic") as rig:
        rig.script(Raw(body=body), Say(pieces=("ok",)))
        await _ask(rig)
        await rig.session.send("go on")
        sent = rig.last_body["messages"]
    assert [message["role"] for message in sent] == ["user"]
