from __future__ import annotations

import pytest

from quorum.domain.conversation.context_size import find_output_limit


@pytest.mark.parametrize(
    ("model", "most"),
    [
        ("anthropic/claude-3-haiku-20240307", 4_096),
        ("anthropic/claude-3-5-sonnet-20241022", 8_192),
        ("anthropic/claude-3-7-sonnet-20250219", 64_000),
        ("anthropic/claude-opus-4-20250514", 32_000),
        ("anthropic/claude-opus-4-1-20250805", 32_000),
        ("claude-opus-4-1", 32_000),
        ("claude-opus-4-0", 32_000),
        ("anthropic/claude-sonnet-4-20250514", 64_000),
        ("anthropic/claude-sonnet-4-5", 64_000),
        ("openrouter/anthropic/claude-sonnet-4.5", 64_000),
        ("bedrock/eu.anthropic.claude-haiku-4-5-20251001-v1:0", 64_000),
        ("anthropic/claude-opus-4-5-20251101", 64_000),
        ("anthropic/claude-opus-4-6", 128_000),
        ("openai/gpt-3.5-turbo-0125", 4_096),
        ("openai/gpt-4-turbo", 4_096),
        ("openai/gpt-4o-2024-05-13", 4_096),
        ("openai/gpt-4o-mini", 16_384),
        ("openai/gpt-4.1-nano", 32_768),
        ("openai/gpt-5", 128_000),
        ("openai/gpt-5-mini-2025-08-07", 128_000),
        ("openai/gpt-5.1-codex-max", 128_000),
        ("openai/gpt-5-chat-latest", 16_384),
        ("openai/o3", 100_000),
        ("openai/o3-2025-04-16", 100_000),
        ("openai/o4-mini-2025-04-16", 100_000),
        ("openai/o1-mini", 65_536),
    ],
)
def test_what_a_known_model_writes_at_most_is_known_by_its_name(model: str, most: int) -> None:
    assert find_output_limit(model) == most


@pytest.mark.parametrize(
    "model",
    [
        "",
        "anthropic/claude-sonnet-5-5",
        "anthropic/claude-opus-4-2",
        "anthropic/claude-opus-41",
        "anthropic/claude-sonnet-45",
        "openai/gpt-5-pro",
        "openai/gpt-5.2-pro-2025-12-11",
        "openai/gpt-6",
        "openai/gpt-50",
        "openai/o3-pro",
        "ollama/qwen3:8b",
        "ollama/my-gpt-4o",
        "local/foo1",
    ],
)
def test_of_any_other_nothing_is_claimed(model: str) -> None:
    assert find_output_limit(model) is None
