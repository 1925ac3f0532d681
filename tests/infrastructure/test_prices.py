from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from quorum.domain.conversation.cost import Price
from quorum.domain.conversation.response import Usage
from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.model_tables import ModelPriceTable, ProviderTable, load_built_in_providers
from quorum.infrastructure.config.report import show
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.prices.model_figures import build_price_table, load_published_prices, parse_prices
from tests.support.settings_machine import Machine

ENTRY = """
["vendor/m"]
input = 1.10
output = 2
cache_read = 0.1
cache_write = 1.375
as_of = 2026-10-24
source = "the vendor's list"
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def price_of(model: str, environ: Mapping[str, str] | None = None, **tables: ProviderTable) -> Price | None:
    return build_price_table(load_built_in_providers() | tables, {}, environ or {}).find_price(model)


# ------------------------------------------------------------------ what is published


def test_every_published_price_has_a_date_and_a_source():
    for published in load_published_prices().values():
        assert date(2026, 1, 1) <= published.as_of <= date(2100, 1, 1)
        assert published.source


def test_the_models_that_are_chosen_by_default_have_a_price():
    assert {"anthropic/claude-sonnet-5-5", "openai/gpt-5.4"} <= set(load_published_prices())


def test_reading_a_cache_never_costs_more_than_input_nor_writing_one_less():
    for model, published in load_published_prices().items():
        tiers = [published.price, *([published.price.long_prompt.price] if published.price.long_prompt else [])]
        for price in tiers:
            assert price.cache_read <= price.input <= price.cache_write, model
            assert price.input < price.output, model


def test_figures_are_read_as_they_are_written():
    assert parse_prices(ENTRY)["vendor/m"].price == Price(
        input=Decimal("1.10"), output=Decimal(2), cache_read=Decimal("0.1"), cache_write=Decimal("1.375")
    )


def test_a_price_for_long_prompts_stands_in_the_entry_it_belongs_to():
    long = "long_prompt = { above = 272_000, input = 2, output = 3, cache_read = 1, cache_write = 2 }"

    price = parse_prices(ENTRY + long)["vendor/m"].price

    assert price.long_prompt is not None
    assert (price.long_prompt.above, price.long_prompt.price.output) == (272_000, Decimal(3))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a = ", "not TOML"),
        (ENTRY.replace("output = 2\n", ""), "'vendor/m' is wrong: Object missing required field `output`"),
        (ENTRY.replace("output = 2", "output = -2"), "'vendor/m' is wrong: each figure must be a number"),
        (ENTRY.replace("output = 2", "output = nan"), "'vendor/m' is wrong: each figure must be a number"),
        (ENTRY.replace("output = 2", 'output = "free"'), "'vendor/m' is wrong: "),
        (ENTRY.replace("output", "ouptut"), "'vendor/m' is wrong: "),
        (
            ENTRY.replace("as_of = 2026-10-24\n", ""),
            "'vendor/m' is wrong: Object missing required field `as_of`",
        ),
        (ENTRY.replace("the vendor's list", " "), "'vendor/m' is wrong: its source must be named"),
        (ENTRY.replace("vendor/m", "m"), "'m' is wrong: its name must be"),
        (
            ENTRY + "long_prompt = { above = 0, input = 2, output = 3, cache_read = 1, cache_write = 2 }",
            "'vendor/m' is wrong: long_prompt.above must be",
        ),
    ],
)
def test_a_wrong_entry_is_named(text: str, complaint: str):
    with pytest.raises(ConfigError) as caught:
        parse_prices(text)

    assert complaint in str(caught.value)


# ------------------------------------------------------------------ where published prices hold


def test_the_vendors_own_services_have_the_published_prices():
    assert price_of("anthropic/claude-opus-5-5") == load_published_prices()["anthropic/claude-opus-5-5"].price
    assert price_of("openai/gpt-5.4") == load_published_prices()["openai/gpt-5.4"].price


@pytest.mark.parametrize(
    "table",
    [
        ProviderTable(type="openai", base_url="https://api.openai.com/v1/"),
        ProviderTable(type="openai-chat", base_url="https://api.openai.com/v1"),
        ProviderTable(type="openai-chat"),
    ],
)
def test_a_provider_of_another_name_at_the_public_address_has_them_too(table: ProviderTable):
    assert price_of("work/gpt-5.4", work=table) == load_published_prices()["openai/gpt-5.4"].price


@pytest.mark.parametrize(
    ("model", "table"),
    [
        ("p/gpt-5.4", ProviderTable(type="openai", base_url="https://proxy.example/v1")),
        ("p/gpt-5.4", ProviderTable(type="openai", base_url="https://eu.api.openai.com/v1")),
        ("p/gpt-5.4", ProviderTable(type="openai", client="azure")),
        ("p/claude-opus-5-5", ProviderTable(type="anthropic", client="vertex")),
        ("p/claude-opus-5-5", ProviderTable(type="anthropic", client="bedrock")),
        ("p/claude-opus-5-5", ProviderTable(type="openai-chat")),
        ("p/gpt-5.4", ProviderTable(type="copilot")),
        ("p/offline", ProviderTable(type="offline")),
    ],
)
def test_another_address_or_cloud_has_no_price(model: str, table: ProviderTable):
    assert price_of(model, p=table) is None


def test_a_built_in_provider_that_is_sent_elsewhere_has_no_price():
    moved = ProviderTable(type="anthropic", base_url="http://localhost:4000")

    assert price_of("anthropic/claude-opus-5-5", anthropic=moved) is None


def test_the_address_in_the_environment_counts_where_the_settings_name_none():
    elsewhere = {"ANTHROPIC_BASE_URL": "http://localhost:4000"}

    assert price_of("anthropic/claude-opus-5-5", elsewhere) is None


# ------------------------------------------------------------------ prices of one's own


OWN = """
[prices."anthropic/claude-sonnet-5-5"]
input = 1.8
output = 9
cache_read = 0.09
cache_write = 2.25

[prices."ollama/qwen3:8b.q4/x"]
input = 0
output = 0
cache_read = 0
cache_write = 0
"""


def test_an_own_price_counts_more_than_the_published_one(machine: Machine):
    machine.user(OWN)
    loaded = machine.load()

    table = build_price_table(loaded.settings.providers, loaded.settings.prices, machine.environ)

    assert table.compute_cost("anthropic/claude-sonnet-5-5", Usage(input=1_000_000)) == Decimal("1.8")
    assert table.compute_cost("ollama/qwen3:8b.q4/x", Usage(input=5, output=5)) == 0
    assert table.find_price("anthropic/claude-opus-5-5") is not None


def test_an_own_price_is_exactly_what_was_written():
    own = {"p/m": ModelPriceTable(input=0.1, output=0.2, cache_read=0.3, cache_write=1e-7)}

    price = build_price_table({}, own, {}).find_price("p/m")

    assert price == Price(
        input=Decimal("0.1"), output=Decimal("0.2"), cache_read=Decimal("0.3"), cache_write=Decimal("0.0000001")
    )


def test_what_is_shown_of_own_prices_loads_as_the_same_settings(machine: Machine):
    machine.user(OWN)
    before = machine.load().settings

    shown = show(machine.load())
    machine.user(shown)

    assert 'prices."ollama/qwen3:8b.q4/x".input = 0.0' in shown
    assert machine.load().settings == before
    assert before != Settings()


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ('[prices."a/b"]\ninput = 1', 1, 'prices."a/b".output is missing; it must be a number from 0 to'),
        ('[prices."a/b"]\ninput = -1', 2, 'prices."a/b".input must be a number from 0 to 1000000, not -1'),
        ('[prices."a/b"]\ninput = nan', 2, 'prices."a/b".input must be a number from 0'),
        ('[prices."a/b"]\ninput = "1"', 2, 'prices."a/b".input must be a number from 0'),
        ('[prices."a/b"]\nimput = 1', 2, 'did you mean prices."a/b".input?'),
        (
            "[prices.gpt]\ninput = 1",
            1,
            '"gpt" cannot be a name in [prices], which takes "provider/model" in quotes',
        ),
        ("[prices]\n'a/b' = 1", 2, 'prices."a/b" must be a table, not 1'),
        ("[prices.a/b]\ninput = 1", 1, "this is not TOML"),
    ],
)
def test_a_wrong_price_is_reported_with_its_key_and_line(machine: Machine, text: str, line: int, sentence: str):
    machine.user(text)

    refusal = machine.refusal()

    assert any(
        problem.startswith(f"{machine.user_file}:{line}: ") and sentence in problem
        for problem in refusal.splitlines()
    ), refusal


def test_a_price_that_only_a_project_sets_does_not_count(machine: Machine):
    machine.project(OWN)

    loaded = machine.load()

    assert loaded.settings.prices == {}
    assert 'prices."anthropic/claude-sonnet-5-5".input' in loaded.warnings[0]
