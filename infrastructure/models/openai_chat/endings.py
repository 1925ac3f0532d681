"""How Chat Completions servers say why they stopped, and what was used: in more words than the standard has."""

from __future__ import annotations

from domain.conversation.response import END_TURN, MAX_TOKENS, REFUSAL, TOOL_USE, StopKind, StopReason, Usage
from domain.text.json_value import JsonObject
from infrastructure.models.shared.json_fields import count_of, object_of, text_of

_STOPS = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete"), END_TURN),
    **dict.fromkeys(("tool_calls", "tool_call", "tool_use", "function_call"), TOOL_USE),
    **dict.fromkeys(("length", "max_tokens", "model_length", "max_output_tokens"), MAX_TOKENS),
    **dict.fromkeys(
        (
            "content_filter",
            "content_filtered",
            "refusal",
            "safety",
            "sensitive",
            "recitation",
            "prohibited_content",
            "guardrail_intervened",
        ),
        REFUSAL,
    ),
}
_NO_WORDS = frozenset({"null", "none", "unspecified"})
_FAILURES = frozenset(
    {
        "error",
        "network_error",
        "insufficient_system_resource",
        "abort",
        "aborted",
        "cancelled",
        "canceled",
        "timeout",
    }
)


def finish_word(choice: JsonObject) -> str:
    """The word a choice stops with, or "" where it does not stop or says nothing."""
    word = text_of(choice, "finish_reason").strip()
    return "" if word.lower() in _NO_WORDS else word


def is_failure(word: str) -> bool:
    """Whether the word says that the answer was broken off by the server."""
    return word.lower() in _FAILURES


def stop_of(word: str) -> StopReason:
    """The reason to stop that a word stands for; OTHER keeps a word that is not known."""
    return _STOPS.get(word.lower(), StopReason(StopKind.OTHER, word))


def chat_usage(counts: JsonObject) -> Usage:
    """What was used; `counts` includes cached tokens in those of the prompt, as servers of this API do."""
    details = object_of(counts, "prompt_tokens_details")
    cached = (
        count_of(details, "cached_tokens")
        or count_of(counts, "prompt_cache_hit_tokens")
        or count_of(counts, "cached_tokens")
        or 0
    )
    written = count_of(details, "cache_write_tokens") or count_of(details, "cache_creation_tokens") or 0
    prompt, answer = count_of(counts, "prompt_tokens") or 0, count_of(counts, "completion_tokens") or 0
    spent = object_of(counts, "completion_tokens_details")
    reasoning = count_of(spent, "reasoning_tokens") or count_of(counts, "reasoning_tokens") or 0
    if count_of(counts, "total_tokens") == prompt + answer + reasoning:
        answer += reasoning  # xAI counts them, and takes money for them, beside the answer
    return Usage(
        input=max(0, prompt - cached - written),
        output=answer,
        cache_read=cached,
        cache_write=written,
        reasoning=reasoning,
    )
