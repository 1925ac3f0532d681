"""How an answer of OpenAI Responses ends: why the model stopped, and what was used."""

from __future__ import annotations

from collections.abc import Sequence

from domain.conversation.response import END_TURN, MAX_TOKENS, REFUSAL, TOOL_USE, StopKind, StopReason, Usage
from domain.text.json_value import JsonObject
from infrastructure.models.openai_responses.items import is_refusal
from infrastructure.models.openai_responses.payload import open_calls
from infrastructure.models.shared.json_fields import count_of, object_of, text_of

_INCOMPLETE = {"max_output_tokens": MAX_TOKENS, "max_tokens": MAX_TOKENS, "content_filter": REFUSAL}


def response_stop(status: str, final: JsonObject, items: Sequence[JsonObject]) -> StopReason:
    """Why an answer of these whole items stopped; `final` is what the server said of it at the end."""
    if status == "incomplete":
        why = text_of(object_of(final, "incomplete_details"), "reason") or status
        return _INCOMPLETE.get(why, StopReason(StopKind.OTHER, why))
    if status != "completed":
        return StopReason(StopKind.OTHER, status)
    if any(text_of(item, "type") == "message" and is_refusal(item) for item in items):
        return REFUSAL
    if any(text_of(item, "type") == "function_call" for item in items):
        return TOOL_USE
    if foreign := open_calls(items):
        return StopReason(StopKind.OTHER, f"{text_of(foreign[0], 'type')} was not offered")
    return END_TURN


def response_usage(counts: JsonObject) -> Usage:
    """What was used; `counts` includes cached tokens in those of the input."""
    details = object_of(counts, "input_tokens_details")
    cached, written = count_of(details, "cached_tokens") or 0, count_of(details, "cache_write_tokens") or 0
    return Usage(
        input=max(0, (count_of(counts, "input_tokens") or 0) - cached - written),
        output=count_of(counts, "output_tokens") or 0,
        cache_read=cached,
        cache_write=written,
        reasoning=count_of(object_of(counts, "output_tokens_details"), "reasoning_tokens") or 0,
    )
