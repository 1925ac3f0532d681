"""A request in the form of Anthropic Messages, from the neutral conversation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, assert_never

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from quorum.domain.conversation.response import (
    ContentBlock,
    OpaqueBlock,
    ReasoningBlock,
    StopKind,
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
from quorum.infrastructure.models.shared.json_fields import (
    read_objects_field,
    read_text_field,
    replace_surrogates,
)
from quorum.infrastructure.models.shared.rendered_history import RenderedHistory
from quorum.infrastructure.models.shared.sent_attachments import select_documents, select_images

_CACHED: JsonObject = {"type": "ephemeral"}
_CACHED_USER_MESSAGES = 2
_FOREIGN_ID = re.compile(r"[^a-zA-Z0-9_-]")
_PLAIN = frozenset(("text", "tool_use"))
_THINKING = ("thinking", "redacted_thinking")
_RUN_THERE = ("server_tool_use", "mcp_tool_use")
_CONTINUE_PROMPT = "(go on)"
_BROUGHT = "brought"

Turn: TypeAlias = tuple[str, Sequence[dict[str, JsonValue]]]
"""A role and its blocks, in the form of the API."""
_OpenTurn: TypeAlias = tuple[str, list[dict[str, JsonValue]]]


def build_messages_payload(
    request: ApiRequest, *, history: RenderedHistory[Turn], max_tokens: int
) -> dict[str, JsonValue]:
    """The body of a request, with its `build_messages_history`.

    Cache marks stand after the tools, the system text and the last two user messages: what comes before
    them is the same in the next request.
    """
    answers_joined = _join_same_roles(history.render(request))
    turns = _join_same_roles(_drop_refused_blocks(answers_joined, is_paused=_is_paused(request.messages)))
    _begin_and_end_with_user(turns, request.messages)
    _mark_cached(turns)
    payload: dict[str, JsonValue] = {
        "model": request.model,
        "max_tokens": max_tokens,
        "stream": True,
        "messages": [{"role": role, "content": blocks} for role, blocks in turns],
    }
    payload.update(_build_reasoning(request))
    if request.system.strip():
        payload["system"] = [
            {"type": "text", "text": replace_surrogates(request.system), "cache_control": _CACHED}
        ]
    if request.tools:
        payload["tools"] = [*request.tools[:-1], {**request.tools[-1], "cache_control": _CACHED}]
        payload["tool_choice"] = _build_tool_choice(request)
    return payload


def _build_reasoning(request: ApiRequest) -> JsonObject:
    """What asks for the effort. A model that must call a tool may not think, and takes the effort alone."""
    match request.effort:
        case Effort.DEFAULT:
            return {}
        case Effort.NONE:
            return {"thinking": {"type": "disabled"}}
        case effort:
            output: JsonObject = {"output_config": {"effort": effort.value}}
            is_forced = bool(request.tools) and not isinstance(request.tool_choice, str)
            return output if is_forced else {"thinking": {"type": "adaptive"}, **output}


def _build_tool_choice(request: ApiRequest) -> JsonObject:
    match request.tool_choice:
        case "auto" | "none" as choice:
            return {"type": choice}
        case ("tool", name):
            return {"type": "tool", "name": name}
        case never:
            assert_never(never)


def build_messages_history(provider: str, *, needs_signatures: bool = True) -> RenderedHistory[Turn]:
    """Conversations as this provider is sent them, without reasoning and opaque blocks of others.

    Anthropic signs thinking and refuses any that is not (`needs_signatures`). Others who speak its API sign
    nothing, and some of them refuse calls that come back without the thinking before them.
    """
    return RenderedHistory(lambda: _Turns(provider, needs_signatures))


class _Turns:
    def __init__(self, provider: str, needs_signatures: bool) -> None:
        self._provider, self._needs_signatures = provider, needs_signatures
        self._ids = SentIds(odd=_FOREIGN_ID)

    def __call__(self, message: Message, request: ApiRequest) -> Iterator[Turn]:
        match message:
            case UserMessage():
                said = (*_list_attachments(message, request), _build_text(fill_empty_prompt(message.sent_text)))
                yield (
                    "user",
                    (_move_into_result(message.of_call, said, self._ids),) if message.of_call else said,
                )
            case AssistantMessage():
                content = message.response.content
                calls = any(isinstance(block, ToolUseBlock) for block in content)
                unsigned = calls and not self._needs_signatures
                yield "assistant", tuple(_answer_blocks(content, self._provider, self._ids, unsigned=unsigned))
            case ToolResults():
                yield "user", tuple(_build_result(result, self._ids) for result in message.results)
            case _:
                assert_never(message)


def _join_same_roles(turns: Iterable[Turn]) -> list[_OpenTurn]:
    """The turns with neighbours of one role joined, as the API demands that roles alternate.

    An answer that thinks cannot be joined to one that does not: thinking must come first.
    """
    joined: list[_OpenTurn] = []
    for role, blocks in turns:
        if not blocks:
            continue
        if not joined or joined[-1][0] != role:
            joined.append((role, list(blocks)))
        elif _thinks(blocks) and not _thinks(joined[-1][1][:1]):
            joined += [("user", [_build_text(_CONTINUE_PROMPT)]), (role, list(blocks))]
        else:
            joined[-1][1].extend(blocks)
    return joined


def _drop_refused_blocks(turns: list[_OpenTurn], *, is_paused: bool) -> Iterator[Turn]:
    """The turns without blocks that the API refuses.

    These are a call that the provider runs itself but that never got its result (only a paused answer at
    the very end may hold one), a result without its call, and thinking that nothing follows.
    """
    for position, (role, blocks) in enumerate(turns):
        if role == "user":
            blocks = (
                list(_nest_into_results(blocks)) if any(b.get("type") == _BROUGHT for b in blocks) else blocks
            )
        elif not all(b.get("type") in _PLAIN for b in blocks):
            called = {b.get("id") for b in blocks if b.get("type") in _RUN_THERE}
            blocks = [b for b in blocks if not _is_result(b) or b.get("tool_use_id") in called]
            if position < len(turns) - 1 or not is_paused:
                answered = {b.get("tool_use_id") for b in blocks}
                blocks = [b for b in blocks if b.get("type") not in _RUN_THERE or b.get("id") in answered]
            while blocks and _thinks(blocks[-1:]):
                blocks.pop()
        yield role, blocks


def _move_into_result(call: str, blocks: Sequence[JsonObject], ids: SentIds) -> dict[str, JsonValue]:
    """Return the content that `_nest_into_results` puts into the result of a call; never sent as it is."""
    shown = [block for block in blocks if block.get("type") in ("image", "document")]
    return {"type": _BROUGHT, "tool_use_id": ids.get_result_id(call), "content": [*(shown or blocks)]}


def _nest_into_results(blocks: Sequence[dict[str, JsonValue]]) -> Iterator[dict[str, JsonValue]]:
    """The blocks of a turn, with what its results bring inside of them. The API wants a failed result to be
    text alone, so that its attachments stand behind the results, as do those whose results are gone."""
    results = {b.get("tool_use_id") for b in blocks if b.get("type") == "tool_result" and not b.get("is_error")}
    brought: dict[JsonValue, list[dict[str, JsonValue]]] = {}
    rest: list[dict[str, JsonValue]] = []
    for block in (block for block in blocks if block.get("type") == _BROUGHT):
        parts = [dict(part) for part in read_objects_field(block, "content")]
        place = block.get("tool_use_id")
        (brought.setdefault(place, []) if place in results else rest).extend(parts)
    own = [block for block in blocks if block.get("type") not in (_BROUGHT, "tool_result")]
    for block in (block for block in blocks if block.get("type") == "tool_result"):
        if parts := brought.pop(block.get("tool_use_id"), []):
            block = {**block, "content": [_build_text(read_text_field(block, "content")), *parts]}
        yield block
    yield from (*rest, *own)


def _begin_and_end_with_user(turns: list[_OpenTurn], messages: Sequence[Message]) -> None:
    """Add a word of the person where the API wants one: first, and, but for an answer that paused, last."""
    if not turns or turns[0][0] == "assistant":
        turns.insert(0, ("user", [_build_text(_CONTINUE_PROMPT)]))
    role, blocks = turns[-1]
    if role == "user":
        return
    if not _is_paused(messages):
        turns.append(("user", [_build_text(_CONTINUE_PROMPT)]))
    elif blocks[-1].get("type") == "text":
        blocks[-1] = {**blocks[-1], "text": read_text_field(blocks[-1], "text").rstrip()}


def _is_paused(messages: Sequence[Message]) -> bool:
    last = messages[-1] if messages else None
    return isinstance(last, AssistantMessage) and last.response.stop_reason.kind is StopKind.PAUSE


def _thinks(blocks: Iterable[JsonObject]) -> bool:
    return any(block.get("type") in _THINKING for block in blocks)


def _is_result(block: JsonObject) -> bool:
    """Whether a block is the result of a call that the provider ran itself."""
    return read_text_field(block, "type").endswith("_tool_result")


def _build_text(text: str) -> dict[str, JsonValue]:
    return {"type": "text", "text": text}


def _list_attachments(message: UserMessage, request: ApiRequest) -> Iterator[dict[str, JsonValue]]:
    """Images and PDFs come before the text: so they are understood best."""
    for image, encoded in select_images(message, request):
        source: JsonObject = {"type": "base64", "media_type": image.media_type, "data": encoded}
        yield {"type": "image", "source": source}
    for document, encoded in select_documents(message, request):
        source = {"type": "base64", "media_type": document.media_type, "data": encoded}
        yield {"type": "document", "source": source, "title": document.name}


def _answer_blocks(
    content: Iterable[ContentBlock], provider: str, ids: SentIds, *, unsigned: bool
) -> Iterator[dict[str, JsonValue]]:
    for block in content:
        match block:
            case TextBlock():
                if block.text.strip():
                    yield _build_text(replace_surrogates(block.text))
            case ToolUseBlock():
                call_id, name = ids.get_call_id(block.id), clean_tool_name(block.name)
                yield {"type": "tool_use", "id": call_id, "name": name, "input": block.input}
            case ReasoningBlock() | OpaqueBlock():
                if block.provider == provider and (unsigned or _is_signed(block.payload)):
                    yield dict(block.payload)
            case _:
                assert_never(block)


def _is_signed(payload: JsonObject) -> bool:
    """Whether a block may go back: thinking that was cut off has no signature and would be refused."""
    return payload.get("type") != "thinking" or bool(read_text_field(payload, "signature"))


def _build_result(result: ToolResultMessage, ids: SentIds) -> dict[str, JsonValue]:
    failed = result.is_error or result.is_rejected
    return {
        "type": "tool_result",
        "tool_use_id": ids.get_result_id(result.tool_use_id),
        "content": fill_empty_output(result.output),
        **({"is_error": True} if failed else {}),
    }


def _mark_cached(turns: list[_OpenTurn]) -> None:
    users = [blocks for role, blocks in turns if role == "user"]
    for blocks in users[-_CACHED_USER_MESSAGES:]:
        blocks[-1] = {**blocks[-1], "cache_control": _CACHED}
