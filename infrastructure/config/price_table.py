"""The settings `[prices."provider/model"]`: what a model costs, where that is not what its vendor publishes."""

from typing import Annotated

from msgspec import Meta, Struct

from quorum.infrastructure.config.about import About, ProjectRule

_NEVER = ProjectRule.NEVER
_HIGHEST = 1_000_000

PRICES = About(
    description="The prices of models, one table per model, if they differ from what the vendor "
    "publishes: on your own server or cloud, or by contract. Such a price applies to "
    "prompts of any length.",
    project=_NEVER,
    names=r"\A[A-Za-z0-9_-]+/[!-~]+\Z",
    names_expected='"provider/model" in quotes, for example [prices."ollama/qwen3:8b"]',
    names_example="provider/model",
)


class ModelPriceTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one model costs, in USD per million tokens. All of it is given, so that nothing is assumed."""

    input: Annotated[
        float,
        Meta(ge=0, le=_HIGHEST),
        About(
            description="USD per million tokens of input that is neither read from a cache nor written to one.",
            project=_NEVER,
        ),
    ]
    output: Annotated[
        float,
        Meta(ge=0, le=_HIGHEST),
        About(description="USD per million tokens of output, reasoning included.", project=_NEVER),
    ]
    cache_read: Annotated[
        float,
        Meta(ge=0, le=_HIGHEST),
        About(
            description="USD per million tokens of input read from a cache; the same as input if "
            "there is no discount.",
            project=_NEVER,
        ),
    ]
    cache_write: Annotated[
        float,
        Meta(ge=0, le=_HIGHEST),
        About(
            description="USD per million tokens of input written to a cache; the same as input if "
            "writing costs nothing extra.",
            project=_NEVER,
        ),
    ]
