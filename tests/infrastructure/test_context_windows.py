from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.domain.settings import ModelWindowTable
from quorum.infrastructure.config.model_tables import ProviderTable, load_built_in_providers
from quorum.infrastructure.config.report import show
from quorum.infrastructure.prices.model_figures import build_window_lookup, load_published_prices, parse_prices
from tests.support.settings_machine import Machine

ENTRY = """
["vendor/m"]
window = 100
input = 1
output = 2
cache_read = 1
cache_write = 1
as_of = 2026-10-24
source = "the vendor's list"
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def window_of(model: str, **tables: ProviderTable) -> int | None:
    return build_window_lookup(load_built_in_providers() | tables, {})(model)


def test_every_model_with_a_price_has_a_window_of_a_plausible_size():
    for model, published in load_published_prices().items():
        assert published.window is not None, model
        assert 100_000 <= published.window <= 2_000_000, model


def test_the_models_that_are_chosen_by_default_have_their_windows():
    assert window_of("anthropic/claude-sonnet-5-5") == 1_000_000
    assert window_of("anthropic/claude-haiku-4-5-20251001") == 200_000
    assert window_of("openai/gpt-5.4") == 922_000
    assert window_of("openai/gpt-5.4-mini-2026-03-17") == 272_000


def test_a_window_that_nobody_published_is_not_known():
    assert window_of("openai/gpt-2") is None
    assert window_of("nowhere/gpt-5.4") is None
    assert parse_prices(ENTRY.replace("window = 100\n", ""))["vendor/m"].window is None


@pytest.mark.parametrize("window", ["0", "-5", '"wide"', "1.5"])
def test_a_wrong_window_in_the_list_is_named(window: str):
    with pytest.raises(ConfigError, match="'vendor/m' is wrong: "):
        parse_prices(ENTRY.replace("window = 100", f"window = {window}"))


@pytest.mark.parametrize(
    ("table", "model", "window"),
    [
        (ProviderTable(type="anthropic", base_url="https://proxy.example"), "claude-opus-5", 1_000_000),
        (ProviderTable(type="openai-chat", base_url="https://proxy.example/v1"), "gpt-5.4", 922_000),
        (ProviderTable(type="openai-chat", base_url="http://localhost/v1"), "qwen3:8b", None),
        (ProviderTable(type="openai-chat"), "claude-opus-5", None),
        (ProviderTable(type="copilot"), "gpt-5.4", None),
    ],
)
def test_a_window_is_the_models_wherever_it_is_served_but_with_copilot(
    table: ProviderTable, model: str, window: int | None
):
    assert window_of(f"p/{model}", p=table) == window


def test_the_offline_interpreter_has_no_window_to_fill():
    assert window_of("offline/offline") == 0


def test_a_window_in_the_settings_counts_more(machine: Machine):
    machine.user(
        '[context_budget.models."anthropic/claude-opus-5"]\nwindow = 200_000\n'
        '[context_budget.models."ollama/qwen3:8b"]\nwindow = 32_768\n'
        '[providers.ollama]\ntype = "openai-chat"\n'
    )
    loaded = machine.load()

    window = build_window_lookup(loaded.settings.providers, loaded.settings.context_budget.models)

    assert window("anthropic/claude-opus-5") == 200_000
    assert window("anthropic/claude-opus-5-20260724") == 200_000
    assert window("ollama/qwen3:8b") == 32_768
    assert window("anthropic/claude-opus-5-5") == 1_000_000


def test_even_the_offline_interpreter_can_be_given_a_window():
    own = {"offline/offline": ModelWindowTable(window=5_000)}

    assert build_window_lookup(load_built_in_providers(), own)("offline/offline") == 5_000


def test_what_is_shown_of_the_budget_loads_as_the_same_settings(machine: Machine):
    machine.user(
        "[context_budget]\ncompact_at = 0.5\nrecent_full_count = 1\n"
        '[context_budget.models."a/b:1.5"]\nwindow = 9_000\n'
    )
    before = machine.load().settings

    machine.user(show(machine.load()))

    assert machine.load().settings == before
    assert before.context_budget.models["a/b:1.5"].window == 9_000


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("context_budget.compact_at = 2", "context_budget.compact_at must be a number from 0 to 1"),
        ("[context_budget.models.gpt]\nwindow = 5_000", '"gpt" cannot be a name in [context_budget.models]'),
        ('[context_budget.models."a/b"]', 'context_budget.models."a/b".window is missing'),
        ('[context_budget.models."a/b"]\nwindow = 5', "must be a whole number from 1000"),
    ],
)
def test_a_wrong_budget_is_reported_with_its_key(machine: Machine, text: str, sentence: str):
    machine.user(text)

    assert sentence in machine.refusal()
