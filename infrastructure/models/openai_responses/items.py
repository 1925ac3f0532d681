"""The items that an answer of OpenAI Responses is made of, once they are whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from quorum.domain.conversation.response import ContentBlock, OpaqueBlock, ReasoningBlock, TextBlock
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.openai_responses.payload import MESSAGE_PHASE
from quorum.infrastructure.models.shared.call_arguments import build_call_block
from quorum.infrastructure.models.shared.json_fields import (
    make_sendable,
    read_objects_field,
    read_text_field,
    replace_surrogates,
    require_text_field,
)

PARAGRAPH = "\n\n"
"""What stands between two parts of a summary, each of which is a paragraph with a heading."""


def read_item_blocks(item: JsonObject, *, provider: str, call_id: str) -> Iterator[ContentBlock]:
    """The content blocks of one item; a call gets `call_id`."""
    match read_text_field(item, "type"):
        case "message":
            if text := read_message_text(item):
                if phase := read_text_field(item, "phase"):
                    yield OpaqueBlock(provider=provider, payload={"type": MESSAGE_PHASE, "phase": phase})
                yield TextBlock(text)
        case "reasoning":
            yield ReasoningBlock(provider=provider, payload=make_sendable(item), text=read_reasoning_text(item))
        case "function_call":
            yield build_call_block(call_id, read_text_field(item, "name"), read_arguments_text(item))
        case _:
            yield OpaqueBlock(provider=provider, payload=make_sendable(item))


def read_message_text(item: JsonObject) -> str:
    """What a message says, its refusals included."""
    parts = read_objects_field(item, "content")
    return replace_surrogates(
        "".join(read_text_field(part, "text") or read_text_field(part, "refusal") for part in parts)
    )


def read_arguments_text(item: JsonObject) -> str:
    """The arguments of a call as text; some servers send the object itself. Raises WrongKindError."""
    value = item.get("arguments")
    return (
        json.dumps(value, ensure_ascii=False)
        if isinstance(value, Mapping)
        else require_text_field(item, "arguments")
    )


def is_cut_off_call(item: JsonObject) -> bool:
    """Whether an item is a call that says of itself that it is not whole."""
    return read_text_field(item, "type") == "function_call" and read_text_field(item, "status") == "incomplete"


def is_refusal(item: JsonObject) -> bool:
    """Whether a message refuses."""
    return any(read_text_field(part, "type") == "refusal" for part in read_objects_field(item, "content"))


def read_reasoning_text(item: JsonObject) -> str:
    """What can be read of reasoning: its summary, else, where a server shows it, the reasoning itself."""
    if summary := read_objects_field(item, "summary"):
        return replace_surrogates(PARAGRAPH.join(read_text_field(part, "text") for part in summary))
    return replace_surrogates(
        "".join(read_text_field(part, "text") for part in read_objects_field(item, "content"))
    )
