"""A request in the form of OpenAI Chat Completions, from the neutral conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import assert_never

from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from quorum.domain.conversation.response import (
    ContentBlock,
    LlmResponse,
    OpaqueBlock,
    ReasoningBlock,
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
from quorum.infrastructure.models.shared.json_fields import (
    read_object_field,
    read_objects_field,
    read_text_field,
    replace_surrogates,
)
from quorum.infrastructure.models.shared.rendered_history import RenderedHistory
from quorum.infrastructure.models.shared.sent_attachments import build_data_url, select_documents, select_images

CALL_EXTRA = "call_extra"
"""Marks an opaque block that carries what a provider added to a call, to go back with that call."""


_RESULT_NOTE = (
    "(This is the result of your call. If the task is done, say so in words; otherwise call the next tool.)"
)
_NOTHING: JsonObject = {}


def build_chat_payload(
    request: ApiRequest,
    *,
    history: RenderedHistory[JsonObject],
    max_tokens: int | None,
    max_tokens_field: str,
    fills_reasoning: bool = False,
    joins_prompts: bool = False,
    writes_calls: bool = False,
) -> dict[str, JsonValue]:
    """The body of a request, with its `build_chat_history`.

    `fills_reasoning` gives answers that come without reasoning a blank one. `joins_prompts` makes one message
    of messages of the person that follow each other: templates of some models refuse them. `writes_calls` puts
    calls into the text of their answers.
    """
    messages = [*_list_instructions(request), *history.render(request)]
    if joins_prompts:
        messages = _join_prompts(messages)
    if writes_calls:
        messages = list(_write_calls(messages))
    payload: dict[str, JsonValue] = {
        "model": request.model,
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [_add_reasoning(message) if fills_reasoning else message for message in messages],
    }
    if request.effort is not Effort.DEFAULT:
        payload["reasoning_effort"] = request.effort.value
    if max_tokens is not None:
        payload[max_tokens_field] = max_tokens
    if request.tools:
        payload["tools"] = [_build_tool(schema) for schema in request.tools]
        payload["tool_choice"] = _build_tool_choice(request)
    return payload


def _join_prompts(messages: Sequence[JsonObject]) -> list[JsonObject]:
    joined: list[JsonObject] = []
    for message in messages:
        before = joined[-1] if joined else {}
        if message["role"] == before.get("role") == "user":
            joined[-1] = {"role": "user", "content": _join_contents(before["content"], message["content"])}
        else:
            joined.append(message)
    return joined


def _write_calls(messages: Sequence[JsonObject]) -> Iterator[JsonObject]:
    """The messages with calls in the text of their answers, as models write them that forget the form of their
    template.

    In that form they do not know them again: at the next prompt they say that all is done, without a call.
    Behind calls in a text they make the same ones again, unless the results tell what they are. Each message
    keeps its form from its first request on, as servers reuse what they have read only up to a change.
    """
    for message, following in pairwise((*messages, _NOTHING)):
        if message["role"] == "tool" and following.get("role") != "tool":
            yield {**message, "content": f"{message['content']}\n\n{_RESULT_NOTE}"}
        else:
            yield _write_calls_of(message)


def _write_calls_of(message: JsonObject) -> JsonObject:
    """An answer with its calls as text, in a form that is read again: a code fence, or words and a tag."""
    functions = [read_object_field(call, "function") for call in read_objects_field(message, "tool_calls")]
    if not functions:
        return message
    calls = [
        f'{{"name": {json.dumps(each["name"], ensure_ascii=False)}, "arguments": {each["arguments"]}}}'
        for each in functions
    ]
    written = calls[0] if len(calls) == 1 else f"[{', '.join(calls)}]"
    said = read_text_field(message, "content").strip()
    text = f"{said}\n<tool_call>\n{written}\n</tool_call>" if said else f"```json\n{written}\n```"
    return {"role": "assistant", "content": text}


def _join_contents(first: JsonValue, second: JsonValue) -> JsonValue:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    parts = (each if isinstance(each, list) else [{"type": "text", "text": each}] for each in (first, second))
    return [part for each in parts for part in each]


def _build_tool(schema: JsonObject) -> JsonObject:
    function: JsonObject = {
        "name": schema["name"],
        "description": schema["description"],
        "parameters": schema["input_schema"],
    }
    return {"type": "function", "function": function}


def _build_tool_choice(request: ApiRequest) -> JsonValue:
    match request.tool_choice:
        case "auto" | "none" as choice:
            return choice
        case ("tool", name):
            return {"type": "function", "function": {"name": name}}
        case never:
            assert_never(never)


def _list_instructions(request: ApiRequest) -> Iterator[JsonObject]:
    if request.system.strip():
        yield {"role": "system", "content": replace_surrogates(request.system)}


def build_chat_history(provider: str) -> RenderedHistory[JsonObject]:
    """Conversations as this provider is sent them, without reasoning and opaque blocks of others."""
    return RenderedHistory(lambda: _Messages(provider))


class _Messages:
    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._ids = SentIds(anew=False)
        self._after_results = False

    def __call__(self, message: Message, request: ApiRequest) -> Iterator[JsonObject]:
        match message:
            case UserMessage():
                self._after_results = self._after_results and bool(message.of_call)
                yield {"role": "user", "content": _render_content(message, request)}
            case AssistantMessage():
                yield from _answer(
                    message.response, self._provider, self._ids, after_results=self._after_results
                )
            case ToolResults():
                self._after_results = True
                for result in message.results:
                    yield {
                        "role": "tool",
                        "tool_call_id": self._ids.get_result_id(result.tool_use_id),
                        "content": fill_empty_output(result.output),
                    }
            case _:
                assert_never(message)


def _render_content(message: UserMessage, request: ApiRequest) -> JsonValue:
    """A text alone stays one: servers without images and files know nothing else."""
    text = fill_empty_prompt(message.sent_text)
    shown: list[JsonValue] = [
        {"type": "image_url", "image_url": {"url": build_data_url(image, encoded)}}
        for image, encoded in select_images(message, request)
    ]
    shown += [
        {"type": "file", "file": {"filename": document.name, "file_data": build_data_url(document, encoded)}}
        for document, encoded in select_documents(message, request)
    ]
    return [*shown, {"type": "text", "text": text}] if shown else text


def _answer(response: LlmResponse, provider: str, ids: SentIds, *, after_results: bool) -> Iterator[JsonObject]:
    said = response.text_content()
    text = replace_surrogates(said) if said.strip() else ""
    calls = [block for block in response.content if isinstance(block, ToolUseBlock)]
    # Reasoning goes back where tools were called and where their results were answered: there some servers
    # refuse to continue without it, and elsewhere others refuse to have it.
    reasoning = _build_reasoning(response.content, provider) if calls or after_results else {}
    if not calls:
        if text:
            yield {"role": "assistant", "content": text, **reasoning}
        return
    yield {
        "role": "assistant",
        "content": text or None,
        **reasoning,
        "tool_calls": [_call(block, response.content, provider, ids) for block in calls],
    }


def _add_reasoning(message: JsonObject) -> JsonObject:
    # an empty text would be as good as none
    return {"reasoning_content": " ", **message} if message["role"] == "assistant" else message


def _build_reasoning(content: tuple[ContentBlock, ...], provider: str) -> dict[str, JsonValue]:
    return {
        key: value
        for block in content
        if isinstance(block, ReasoningBlock) and block.provider == provider
        for key, value in block.payload.items()
    }


def _call(call: ToolUseBlock, content: tuple[ContentBlock, ...], provider: str, ids: SentIds) -> JsonObject:
    added = next(
        (
            read_object_field(block.payload, "fields")
            for block in content
            if isinstance(block, OpaqueBlock)
            and block.provider == provider
            and read_text_field(block.payload, "type") == CALL_EXTRA
            and read_text_field(block.payload, "id") == call.id
        ),
        {},
    )
    function = {"name": clean_tool_name(call.name), "arguments": json.dumps(call.input, ensure_ascii=False)}
    return {"id": ids.get_call_id(call.id), "type": "function", "function": function, **added}
