"""The settings `[context_budget]`: how a conversation is kept within its model's window."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct, field

from quorum.infrastructure.config.about import About, ProjectRule

_NEVER = ProjectRule.NEVER
_MOST_BYTES = 100_000_000
_MOST_TOKENS = 1_000_000_000


class ModelWindowTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    window: Annotated[
        int,
        Meta(ge=1000, le=_MOST_TOKENS),
        About(description="The maximum number of tokens in a request to this model.", project=_NEVER),
    ]


class ContextTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    "How a conversation is kept within the context window of its model."

    compact_at: Annotated[
        float,
        Meta(ge=0, le=1),
        About(
            description="The part of the window at which the conversation is compacted before a "
            "request: first summaries replace old tool outputs, then a summary that the"
            " model writes replaces the past. 0: only with /compact.",
            project=_NEVER,
        ),
    ] = 0.8
    recent_full_count: Annotated[
        int,
        Meta(ge=0, le=1000),
        About(
            description="The outputs of this many of the last rounds of calls stay complete.",
            project=_NEVER,
        ),
    ] = 3
    max_entry_bytes: Annotated[
        int,
        Meta(ge=1000, le=_MOST_BYTES),
        About(
            description="How many bytes of one older output may stay after compaction; never more "
            "than a sixteenth of the window.",
            project=_NEVER,
        ),
    ] = 20_000
    max_total_bytes: Annotated[
        int,
        Meta(ge=1000, le=_MOST_BYTES),
        About(
            description="How many bytes of all older outputs may stay after compaction, newest "
            "first; never more than a quarter of the window.",
            project=_NEVER,
        ),
    ] = 60_000
    window_tokens: Annotated[
        int,
        Meta(ge=1000, le=_MOST_TOKENS),
        About(
            description="The assumed window in tokens of a model whose window is not known, such as"
            " one on your own server.",
            project=_NEVER,
        ),
    ] = 128_000
    models: Annotated[
        Mapping[str, ModelWindowTable],
        About(
            description="The windows of single models, one table per model, if they are not known "
            "or differ from the vendor's: the value the server was started with, or "
            "less, to stay below a higher price.",
            project=_NEVER,
            names=r"\A[A-Za-z0-9_-]+/[!-~]+\Z",
            names_expected='"provider/model" in quotes, for example [context_budget.models."ollama/qwen3:8b"]',
            names_example="provider/model",
        ),
    ] = field(default_factory=dict)
