"""The items that an answer of OpenAI Responses is made of, once they are whole."""

from __future__ import annotations

from collections.abc import Iterator

from domain.json_value import JsonObject
from domain.response import ContentBlock, OpaqueBlock, ReasoningBlock, TextBlock, ToolUseBlock
from infrastructure.providers.json_fields import objects_of, parsed_arguments, text_of, whole
from infrastructure.providers.responses_payload import MESSAGE_PHASE

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
            yield ReasoningBlock(provider=provider, payload=item, text=reasoning_text(item))
        case "function_call":
            arguments, problem = parsed_arguments(text_of(item, "arguments"))
            name = text_of(item, "name")
            yield ToolUseBlock(id=call_id, name=name, input=arguments, parse_error=problem)
        case _:
            yield OpaqueBlock(provider=provider, payload=item)


def message_text(item: JsonObject) -> str:
    """What a message says, its refusals included."""
    parts = objects_of(item, "content")
    return whole("".join(text_of(part, "text") or text_of(part, "refusal") for part in parts))


def is_refusal(item: JsonObject) -> bool:
    """Whether a message refuses."""
    return any(text_of(part, "type") == "refusal" for part in objects_of(item, "content"))


def reasoning_text(item: JsonObject) -> str:
    """What can be read of reasoning: its summary, else, where a server shows it, the reasoning itself."""
    if summary := objects_of(item, "summary"):
        return whole(PARAGRAPH.join(text_of(part, "text") for part in summary))
    return whole("".join(text_of(part, "text") for part in objects_of(item, "content")))
