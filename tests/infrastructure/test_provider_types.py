"""What is to be known of each type of provider stands in one place, and the guide explains each."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.infrastructure.config.model_tables import ProviderTable
from quorum.infrastructure.prices.model_figures import build_price_table, load_published_prices
from quorum.infrastructure.provider_types import PROVIDER_TYPES, ProviderType, get_traits

GUIDE = (Path(__file__).parents[2] / "docs/providers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("type_", PROVIDER_TYPES)
def test_the_guide_explains_each_type(type_: ProviderType) -> None:
    assert f"`{type_}`" in GUIDE


@pytest.mark.parametrize("type_", PROVIDER_TYPES)
def test_published_prices_hold_for_what_has_a_public_service_and_for_nothing_else(type_: ProviderType) -> None:
    public = get_traits(type_).public
    prices = build_price_table({"mine": ProviderTable(type=type_)}, {}, {})

    vendors = {model.partition("/")[0] for model in load_published_prices()}
    assert public is None or public.vendor in vendors
    assert (not prices.prices) == (public is None)
