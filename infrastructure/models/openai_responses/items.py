"""The items that an answer of OpenAI Responses is made of, once they are whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from domain.conversation.response import ContentBlock, OpaqueBlock, ReasoningBlock, TextBlock, ToolUseBlock
from domain.text.json_value import JsonObject
from infrastructure.models.openai_responses.payload import MESSAGE_PHASE
from infrastructure.models.shared.json_fields import (
    call_text,
    objects_of,
    parse_arguments,
    sendable,
    text_of,
    whole,
)

PARAGRAPH = "\n\n"
"""What stands between two parts of a summary, each of which is a paragraph with a heading."""


def item_blocks(item: JsonObject, *, provider: str, call_id: str) -> Iterator[ContentBlock]:
    """The content blocks of one item; a call gets `call_id`."""
    match text_of(item, "type"):
        case "message":
            if text := message_text(item):
                if phase := text_of(item, "phase"):
                    yield OpaqueBlock(provider=provider, payload={"type": MESSAGE_PHASE, "phase": phase})
                yield TextBlock(text)
        case "reasoning":
            yield ReasoningBlock(provider=provider, payload=sendable(item), text=reasoning_text(item))
        case "function_call":
            arguments, problem = parse_arguments(arguments_text(item))
            name = text_of(item, "name")
            yield ToolUseBlock(id=call_id, name=name, input=arguments, parse_error=problem)
        case _:
            yield OpaqueBlock(provider=provider, payload=sendable(item))


def message_text(item: JsonObject) -> str:
    """What a message says, its refusals included."""
    parts = objects_of(item, "content")
    return whole("".join(text_of(part, "text") or text_of(part, "refusal") for part in parts))


def arguments_text(item: JsonObject) -> str:
    """The arguments of a call as text; some servers send the object itself. Raises WrongKindError."""
    value = item.get("arguments")
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else call_text(item, "arguments")


def is_cut_off_call(item: JsonObject) -> bool:
    """Whether an item is a call that says of itself that it is not whole."""
    return text_of(item, "type") == "function_call" and text_of(item, "status") == "incomplete"


def is_refusal(item: JsonObject) -> bool:
    """Whether a message refuses."""
    return any(text_of(part, "type") == "refusal" for part in objects_of(item, "content"))


def reasoning_text(item: JsonObject) -> str:
    """What can be read of reasoning: its summary, else, where a server shows it, the reasoning itself."""
    if summary := objects_of(item, "summary"):
        return whole(PARAGRAPH.join(text_of(part, "text") for part in summary))
    return whole("".join(text_of(part, "text") for part in objects_of(item, "content")))
