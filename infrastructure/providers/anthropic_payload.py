"""A request in the form of Anthropic Messages, from the neutral conversation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from domain.conversation import AssistantMessage, Message, ToolResults, UserMessage
from domain.json_value import JsonObject, JsonValue
from domain.response import ContentBlock, OpaqueBlock, ReasoningBlock, TextBlock, ToolUseBlock
from domain.tool import ToolResultMessage
from infrastructure.providers.json_fields import text_of, whole
from infrastructure.providers.wire import WireRequest

_CACHED: JsonObject = {"type": "ephemeral"}
_CACHED_USER_MESSAGES = 2
_FOREIGN_ID = re.compile(r"[^a-zA-Z0-9_-]")

_Turn = tuple[str, list[dict[str, JsonValue]]]


def messages_payload(request: WireRequest, *, provider: str, max_tokens: int) -> dict[str, JsonValue]:
    """The body of a request. Reasoning and opaque blocks of other providers are left out.

    Cache marks stand after the tools, the system text and the last two user messages: what comes before
    them is the same in the next request.
    """
    answers_joined = _alternating(_turns(request.messages, provider))
    turns = _alternating(_acceptable(answers_joined))
    _mark_cached(turns)
    payload: dict[str, JsonValue] = {
        "model": request.model,
        "max_tokens": max_tokens,
        "stream": True,
        "messages": [{"role": role, "content": blocks} for role, blocks in turns],
    }
    if request.system.strip():
        payload["system"] = [{"type": "text", "text": whole(request.system), "cache_control": _CACHED}]
    if request.tools:
        payload["tools"] = [*request.tools[:-1], {**request.tools[-1], "cache_control": _CACHED}]
        payload["tool_choice"] = _tool_choice(request)
    return payload


def _tool_choice(request: WireRequest) -> JsonObject:
    match request.tool_choice:
        case "auto" | "none" as choice:
            return {"type": choice}
        case ("tool", name):
            return {"type": "tool", "name": name}
        case never:
            assert_never(never)


def _turns(messages: Sequence[Message], provider: str) -> Iterator[_Turn]:
    for message in messages:
        match message:
            case UserMessage():
                yield "user", [{"type": "text", "text": whole(message.text)}] if message.text.strip() else []
            case AssistantMessage():
                yield "assistant", list(_answer_blocks(message.response.content, provider))
            case ToolResults():
                yield "user", [_result(result) for result in message.results]
            case _:
                assert_never(message)


def _alternating(turns: Iterable[_Turn]) -> list[_Turn]:
    """The turns with neighbours of one role joined, as the API demands that roles alternate."""
    joined: list[_Turn] = []
    for role, blocks in turns:
        if joined and joined[-1][0] == role:
            joined[-1][1].extend(blocks)
        elif blocks:
            joined.append((role, list(blocks)))
    return joined


def _acceptable(turns: list[_Turn]) -> Iterator[_Turn]:
    """The turns without blocks that the API refuses.

    These are a call that the provider runs itself but that never got its result (only a paused answer at
    the very end may hold one), and reasoning that nothing follows.
    """
    for position, (role, blocks) in enumerate(turns):
        if role == "assistant" and position < len(turns) - 1:
            answered = {block.get("tool_use_id") for block in blocks}
            blocks = [b for b in blocks if b.get("type") != "server_tool_use" or b.get("id") in answered]
            while blocks and blocks[-1].get("type") in ("thinking", "redacted_thinking"):
                blocks.pop()
        yield role, blocks


def _answer_blocks(content: Iterable[ContentBlock], provider: str) -> Iterator[dict[str, JsonValue]]:
    for block in content:
        match block:
            case TextBlock():
                if block.text.strip():
                    yield {"type": "text", "text": whole(block.text)}
            case ToolUseBlock():
                yield {"type": "tool_use", "id": _fit(block.id), "name": block.name, "input": block.input}
            case ReasoningBlock() | OpaqueBlock():
                if block.provider == provider and _is_signed(block.payload):
                    yield dict(block.payload)
            case _:
                assert_never(block)


def _is_signed(payload: JsonObject) -> bool:
    """Whether a block may go back: thinking that was cut off has no signature and would be refused."""
    return payload.get("type") != "thinking" or bool(text_of(payload, "signature"))


def _result(result: ToolResultMessage) -> dict[str, JsonValue]:
    failed = result.is_error or result.is_rejected
    return {
        "type": "tool_result",
        "tool_use_id": _fit(result.tool_use_id),
        "content": whole(result.output) or "(no output)",
        **({"is_error": True} if failed else {}),
    }


def _fit(call_id: str) -> str:
    """An id of another provider in the characters that this one accepts."""
    return _FOREIGN_ID.sub("_", call_id)


def _mark_cached(turns: list[_Turn]) -> None:
    users = [blocks for role, blocks in turns if role == "user"]
    for blocks in users[-_CACHED_USER_MESSAGES:]:
        blocks[-1] = {**blocks[-1], "cache_control": _CACHED}
