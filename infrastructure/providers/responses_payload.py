"""A request in the form of OpenAI Responses, from the neutral conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import assert_never

from domain.conversation import AssistantMessage, ToolResults, UserMessage
from domain.json_value import JsonObject, JsonValue
from domain.response import LlmResponse, OpaqueBlock, ReasoningBlock, TextBlock, ToolUseBlock
from infrastructure.providers.json_fields import text_of, whole
from infrastructure.providers.wire import WireRequest

MESSAGE_PHASE = "message_phase"
"""Marks an opaque block that tells of the text after it whether it was commentary or the final answer.

OpenAI wants that back with the text, and its newer models do worse without."""


def responses_payload(
    request: WireRequest, *, provider: str, max_tokens: int | None, wants_reasoning: bool
) -> dict[str, JsonValue]:
    """The body of a request. Reasoning and opaque blocks of other providers are left out.

    `wants_reasoning` asks for reasoning in the encrypted form in which it can go back: nothing is stored.
    """
    payload: dict[str, JsonValue] = {
        "model": request.model,
        "stream": True,
        "store": False,
        "input": list(_items(request, provider)),
    }
    if request.system.strip():
        payload["instructions"] = whole(request.system)
    if wants_reasoning:
        payload["include"] = ["reasoning.encrypted_content"]
    if max_tokens is not None:
        payload["max_output_tokens"] = max_tokens
    if request.tools:
        payload["tools"] = [_tool(schema) for schema in request.tools]
        payload["tool_choice"] = _tool_choice(request)
    return payload


def _tool(schema: JsonObject) -> JsonObject:
    return {
        "type": "function",
        "name": schema["name"],
        "description": schema["description"],
        "parameters": schema["input_schema"],
        "strict": False,
    }


def _tool_choice(request: WireRequest) -> JsonValue:
    match request.tool_choice:
        case "auto" | "none" as choice:
            return choice
        case ("tool", name):
            return {"type": "function", "name": name}
        case never:
            assert_never(never)


def _items(request: WireRequest, provider: str) -> Iterator[JsonObject]:
    for message in request.messages:
        match message:
            case UserMessage():
                yield {"role": "user", "content": whole(message.text)}
            case AssistantMessage():
                yield from _without_loose_reasoning(list(_answer(message.response, provider)))
            case ToolResults():
                for result in message.results:
                    yield {
                        "type": "function_call_output",
                        "call_id": result.tool_use_id,
                        "output": whole(result.output) or "(no output)",
                    }
            case _:
                assert_never(message)


def _without_loose_reasoning(items: list[JsonObject]) -> list[JsonObject]:
    """The items of an answer without reasoning that nothing follows: the API refuses that."""
    while items and text_of(items[-1], "type") == "reasoning":
        items.pop()
    return items


def _answer(response: LlmResponse, provider: str) -> Iterator[JsonObject]:
    phase: dict[str, JsonValue] = {}
    for block in response.content:
        match block:
            case TextBlock():
                if block.text:
                    yield {"role": "assistant", "content": whole(block.text), **phase}
                phase = {}
            case ToolUseBlock():
                yield {
                    "type": "function_call",
                    "call_id": block.id,
                    "name": block.name,
                    "arguments": json.dumps(block.input, ensure_ascii=False),
                }
            case OpaqueBlock(provider=owner, payload=payload):
                if owner == provider and text_of(payload, "type") == MESSAGE_PHASE:
                    phase = {"phase": payload.get("phase")}
                elif owner == provider:
                    yield payload
            case ReasoningBlock():
                if block.provider == provider and _can_go_back(block.payload):
                    yield block.payload
            case _:
                assert_never(block)


def _can_go_back(item: JsonObject) -> bool:
    """Whether an item of reasoning says anything itself: the server stored nothing it could look up."""
    return any(item.get(key) for key in ("encrypted_content", "content", "summary"))
