"""Models that the guides and the defaults name are models that there are: the price list has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.domain.conversation.cost import strip_date
from quorum.infrastructure.config.model_choice import DEFAULT_MODELS
from quorum.infrastructure.prices.model_figures import load_published_prices

ROOT = Path(__file__).parents[2]
PLACES = [
    ROOT / "README.md",
    ROOT / "quorum.toml",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "infrastructure/config").rglob("*.py")),
]
_NAMED = re.compile(
    r"(?<![\w./-])(?:(anthropic|openai)/)?((?:claude-[a-z]+|gpt)-\d(?:[a-z0-9.-]*[a-z0-9])?)(?![\w/])"
)


def list_named(text: str) -> Iterator[str]:
    """The models of vendors with published prices that a text names, with the vendor or without."""
    for vendor, name in _NAMED.findall(text):
        yield f"{vendor or ('anthropic' if name.startswith('claude') else 'openai')}/{name}"


def test_the_default_models_are_in_the_price_list() -> None:
    assert DEFAULT_MODELS
    for provider, model in DEFAULT_MODELS.items():
        assert f"{provider}/{model.removeprefix(f'{provider}/')}" in load_published_prices()


def test_each_model_that_a_guide_or_a_setting_names_is_in_the_price_list() -> None:
    named = {path.name: set(list_named(path.read_text(encoding="utf-8"))) for path in PLACES}
    unknown = {
        name: sorted(model for model in models if strip_date(model) not in load_published_prices())
        for name, models in named.items()
    }

    assert {name: models for name, models in unknown.items() if models} == {}
    assert sum(map(len, named.values())) > 10


@pytest.mark.parametrize(
    ("text", "models"),
    [
        ('decision = "openai/gpt-9"', ["openai/gpt-9"]),
        ("such as `claude-opus-7-2`.", ["anthropic/claude-opus-7-2"]),
        ("anthropic/claude-sonnet-9-20270101", ["anthropic/claude-sonnet-9-20270101"]),
        ("us.anthropic.claude-opus-4-6-v1 and copilot/gpt-5.4", []),
    ],
)
def test_a_name_is_seen_with_its_vendor_and_without(text: str, models: list[str]) -> None:
    assert list(list_named(text)) == models
