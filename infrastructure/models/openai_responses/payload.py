"""A request in the form of OpenAI Responses, from the neutral conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import assert_never

from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from quorum.domain.conversation.response import (
    LlmResponse,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolUseBlock,
)
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.models.shared.api_client import ApiRequest
from quorum.infrastructure.models.shared.call_arguments import (
    SentIds,
    clean_tool_name,
    fill_empty_output,
    fill_empty_prompt,
)
from quorum.infrastructure.models.shared.json_fields import read_text_field, replace_surrogates
from quorum.infrastructure.models.shared.rendered_history import RenderedHistory
from quorum.infrastructure.models.shared.sent_attachments import build_data_url, select_documents, select_images

MESSAGE_PHASE = "message_phase"
"""Marks an opaque block that tells of the text after it whether it was commentary or the final answer.

OpenAI wants that back with the text, and its newer models do worse without."""


def build_responses_payload(
    request: ApiRequest,
    *,
    history: RenderedHistory[JsonObject],
    max_tokens: int | None,
    wants_reasoning: bool,
) -> dict[str, JsonValue]:
    """The body of a request, with its `build_responses_history`.

    `wants_reasoning` asks for reasoning in the encrypted form in which it can go back: nothing is stored.
    """
    payload: dict[str, JsonValue] = {
        "model": request.model,
        "stream": True,
        "store": False,
        "input": history.render(request),
    }
    if request.system.strip():
        payload["instructions"] = replace_surrogates(request.system)
    if wants_reasoning:
        payload["include"] = ["reasoning.encrypted_content"]
    if request.effort is not Effort.DEFAULT:
        payload["reasoning"] = {"effort": request.effort.value}
    if max_tokens is not None:
        payload["max_output_tokens"] = max_tokens
    if request.tools:
        payload["tools"] = [_build_tool(schema) for schema in request.tools]
        payload["tool_choice"] = _build_tool_choice(request)
    return payload


def _build_tool(schema: JsonObject) -> JsonObject:
    return {
        "type": "function",
        "name": schema["name"],
        "description": schema["description"],
        "parameters": schema["input_schema"],
        "strict": False,
    }


def _build_tool_choice(request: ApiRequest) -> JsonValue:
    match request.tool_choice:
        case "auto" | "none" as choice:
            return choice
        case ("tool", name):
            return {"type": "function", "name": name}
        case never:
            assert_never(never)


def build_responses_history(provider: str) -> RenderedHistory[JsonObject]:
    """Conversations as this provider is sent them, without reasoning and opaque blocks of others."""
    return RenderedHistory(lambda: _Items(provider))


class _Items:
    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._ids = SentIds()

    def __call__(self, message: Message, request: ApiRequest) -> Iterator[JsonObject]:
        match message:
            case UserMessage():
                yield {"role": "user", "content": _render_content(message, request)}
            case AssistantMessage():
                yield from _drop_refused_items(list(_answer(message.response, self._provider, self._ids)))
            case ToolResults():
                for result in message.results:
                    yield {
                        "type": "function_call_output",
                        "call_id": self._ids.get_result_id(result.tool_use_id),
                        "output": fill_empty_output(result.output),
                    }
            case _:
                assert_never(message)


def _render_content(message: UserMessage, request: ApiRequest) -> JsonValue:
    text = fill_empty_prompt(message.sent_text)
    shown: list[JsonValue] = [
        {"type": "input_image", "image_url": build_data_url(image, encoded), "detail": "auto"}
        for image, encoded in select_images(message, request)
    ]
    shown += [
        {"type": "input_file", "filename": document.name, "file_data": build_data_url(document, encoded)}
        for document, encoded in select_documents(message, request)
    ]
    return [*shown, {"type": "input_text", "text": text}] if shown else text


def _drop_refused_items(items: list[JsonObject]) -> list[JsonObject]:
    """The items of an answer without what the API refuses: calls that have no result, loose reasoning."""
    refused = list_open_calls(items)
    items = [item for item in items if item not in refused]
    while items and read_text_field(items[-1], "type") == "reasoning":
        items.pop()
    return items


def list_open_calls(items: Sequence[JsonObject]) -> list[JsonObject]:
    """The calls of tools that were never offered, for which no item brings a result and nobody can."""
    answered = {
        read_text_field(item, "call_id") for item in items if read_text_field(item, "type").endswith("_output")
    }
    return [
        item
        for item in items
        if read_text_field(item, "call_id") not in ("", *answered)
        and read_text_field(item, "type") != "function_call"
        and not read_text_field(item, "type").endswith("_output")
    ]


def _answer(response: LlmResponse, provider: str, ids: SentIds) -> Iterator[JsonObject]:
    phase: dict[str, JsonValue] = {}
    for block in response.content:
        match block:
            case TextBlock():
                if block.text.strip():
                    yield {"role": "assistant", "content": replace_surrogates(block.text), **phase}
                phase = {}
            case ToolUseBlock():
                yield {
                    "type": "function_call",
                    "call_id": ids.get_call_id(block.id),
                    "name": clean_tool_name(block.name),
                    "arguments": json.dumps(block.input, ensure_ascii=False),
                }
            case OpaqueBlock(provider=owner, payload=payload):
                if owner == provider and read_text_field(payload, "type") == MESSAGE_PHASE:
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
