from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.application.export.wording import format_cost
from quorum.domain.conversation.cost import LongPrompt, Price, PriceTable, Spending, compute_cost
from quorum.domain.conversation.response import Usage
from quorum.domain.events.event import UsageCounted
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.replacing import replace

PRICE = Price(input=Decimal(2), output=Decimal(10), cache_read=Decimal("0.10"), cache_write=Decimal("2.50"))
LONG = replace(
    PRICE,
    long_prompt=LongPrompt(
        above=100_000,
        price=Price(input=Decimal(4), output=Decimal(15), cache_read=Decimal("0.2"), cache_write=Decimal(5)),
    ),
)
COUNTS = st.integers(0, 10**9)
USAGES = st.builds(Usage, input=COUNTS, output=COUNTS, cache_read=COUNTS, cache_write=COUNTS, reasoning=COUNTS)


def test_each_kind_of_token_has_its_own_price():
    usage = Usage(input=1_000_000, output=100_000, cache_read=2_000_000, cache_write=400_000)

    assert compute_cost(usage, PRICE) == Decimal(2) + Decimal(1) + Decimal("0.2") + Decimal(1)


def test_reasoning_is_part_of_the_output_and_costs_nothing_more():
    assert compute_cost(Usage(output=500, reasoning=400), PRICE) == compute_cost(Usage(output=500), PRICE)


def test_the_smallest_amounts_are_exact():
    assert compute_cost(Usage(cache_read=1), PRICE) == Decimal("0.0000001")


@given(USAGES, USAGES)
def test_without_a_price_for_long_prompts_costs_add_up_exactly(one: Usage, other: Usage):
    assert compute_cost(one + other, PRICE) == compute_cost(one, PRICE) + compute_cost(other, PRICE)


@pytest.mark.parametrize(
    ("usage", "long"),
    [
        (Usage(input=100_000, output=500_000), False),
        (Usage(input=100_001), True),
        (Usage(input=1, cache_read=99_999, cache_write=1, output=7), True),
    ],
)
def test_a_long_prompt_changes_the_price_of_every_token_of_its_request(usage: Usage, long: bool):
    assert LONG.long_prompt is not None

    assert compute_cost(usage, LONG) == compute_cost(usage, LONG.long_prompt.price if long else PRICE)


@pytest.mark.parametrize(
    "model",
    ["anthropic/claude-x", "anthropic/claude-x-20261021", "anthropic/claude-x-2026-10-21"],
)
def test_a_price_is_found_by_the_name_with_or_without_a_date(model: str):
    assert PriceTable({"anthropic/claude-x": PRICE}).find_price(model) is PRICE


@pytest.mark.parametrize(
    "model",
    [
        "anthropic/claude-x-5",
        "anthropic/claude-x-latest",
        "anthropic/claude-x-20261321",
        "anthropic/claude-x-2026-1021",
        "anthropic/claude-x-20261021-fast",
        "anthropic/claude-x[1m]",
        "anthropic/Claude-X",
        "anthropic/claude",
        "proxy/claude-x",
        "claude-x",
    ],
)
def test_no_other_name_is_taken_for_the_same_model(model: str):
    table = PriceTable({"anthropic/claude-x": PRICE})

    assert table.find_price(model) is None
    assert table.compute_cost(model, Usage(input=1)) is None


def test_a_name_with_its_date_in_the_table_has_its_own_price():
    dated = replace(PRICE, input=Decimal(5))
    table = PriceTable({"openai/m": PRICE, "openai/m-2024-05-13": dated})

    assert table.find_price("openai/m-2024-05-13") is dated


def test_spending_adds_tokens_and_costs():
    usage = Usage(input=3, output=1)

    spending = Spending().with_request(usage, Decimal("0.1")).with_request(usage, Decimal("0.2"))

    assert spending.usage == Usage(input=6, output=2)
    assert spending.cost_usd == Decimal("0.3")


@pytest.mark.parametrize("order", [(None, Decimal(1)), (Decimal(1), None)])
def test_one_request_of_unknown_price_makes_the_sum_unknown(order: tuple[Decimal | None, ...]):
    spending = Spending()
    for cost_usd in order:
        spending = spending.with_request(Usage(input=1), cost_usd)

    assert spending.cost_usd is None
    assert spending.usage == Usage(input=2)


def test_a_request_that_used_nothing_leaves_the_sum_known():
    assert Spending().with_request(Usage(input=1), Decimal(1)).with_request(Usage(), None).cost_usd == Decimal(
        1
    )


def test_nothing_spent_on_nothing_is_no_cost():
    assert Spending().cost_usd is None
    assert Spending().with_request(Usage(), None).cost_usd is None


def test_what_a_plan_pays_for_counts_in_no_cost_unless_the_settings_have_a_price():
    table = PriceTable({"codex/priced": PRICE}, frozenset({"codex"}))
    used = Usage(input=1_000_000)
    by_plan = UsageCounted.of("codex/m", used, table)
    assert (by_plan.cost_usd, by_plan.by_plan) == (0, True)
    assert "by_plan" not in UsageCounted.of("codex/priced", used, table).to_json()

    alone = by_plan.add_to(Spending())
    assert (alone.cost_usd, alone.by_plan, alone.usage) == (None, True, used)
    assert by_plan.add_to(Spending().with_request(used, Decimal(1))).cost_usd == 1
    assert (format_cost(alone), format_cost(alone.with_request(used, Decimal(1)))) == (
        "by plan",
        "$1.0000, and some requests by plan",
    )


def test_a_report_names_its_cost_as_a_number_and_only_where_it_is_known():
    known = RunReport(
        session_id="s",
        status=RunStatus.COMPLETED,
        stop_reason=None,
        text="",
        turns=1,
        usage=Usage(input=1),
        cost_usd=Decimal("0.0123"),
    )

    assert known.to_json()["usage"] == {
        "input": 1,
        "output": 0,
        "cache_read": 0,
        "cache_write": 0,
        "reasoning": 0,
        "cost_usd": 0.0123,
    }
    assert "cost_usd" not in str(replace(known, cost_usd=None).to_json())


@pytest.mark.parametrize(("cost_usd", "shown"), [(Decimal("0.0000001"), 1e-7), (None, None)])
def test_an_event_tells_its_cost_as_a_number_or_null(cost_usd: Decimal | None, shown: float | None):
    assert UsageCounted(model="m", usage=Usage(), cost_usd=cost_usd).to_json()["cost_usd"] == shown
