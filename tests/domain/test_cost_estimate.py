from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from quorum.application.view.wording import describe_costs, describe_total_cost
from quorum.domain.conversation.cost import Price, PriceTable
from quorum.domain.panel.cost_estimate import (
    PlannedRequests,
    QuestionSize,
    estimate_cost,
    plan_reviewed_answers,
    sum_estimates,
)
from quorum.domain.panel.panel_answer import label_participants
from tests.support.examples import examples

PRICE = Price(input=Decimal(3), output=Decimal(15), cache_read=Decimal("0.3"), cache_write=Decimal("3.75"))
PRICES = PriceTable({"p/a": PRICE, "p/mod": PRICE})


def plan_one(
    model: str, *, least: tuple[int, ...] = (1000,), most: tuple[int, ...] = (1000,)
) -> PlannedRequests:
    return PlannedRequests(label="A", model=model, least=least, most=most)


def test_the_least_is_what_the_requests_bring_and_the_most_has_the_longest_answers() -> None:
    estimate = estimate_cost(plan_one("p/a", most=(1000, 2000)), PRICES, 100)
    assert estimate.least_usd == Decimal("0.0003"), "it may all be read from a cache"
    assert estimate.most_usd == Decimal("0.01425"), "it may all be written to a cache, with 2 answers of 100"
    assert (estimate.least_requests, estimate.most_requests) == (1, 2)


def test_without_a_price_nothing_is_estimated_and_without_a_longest_answer_there_is_no_most() -> None:
    unknown = estimate_cost(plan_one("p/x"), PRICES, 100)
    assert (unknown.least_usd, unknown.most_usd) == (None, None)
    unbounded = estimate_cost(plan_one("p/a"), PRICES, None)
    assert unbounded.least_usd is not None
    assert unbounded.most_usd is None


def test_the_total_has_a_most_only_where_all_of_them_have_one() -> None:
    known, unknown = estimate_cost(plan_one("p/a"), PRICES, 100), estimate_cost(plan_one("p/x"), PRICES, 100)
    assert sum_estimates((known, known)).most_usd == known.most_usd * 2  # type: ignore[operator]
    mixed = sum_estimates((known, unknown))
    assert (mixed.least_usd, mixed.most_usd, mixed.most_requests) == (known.least_usd, None, 2)
    assert sum_estimates((unknown,)).least_usd is None


@examples(100)
@given(
    st.integers(1, 6),
    st.integers(0, 50_000),
    st.integers(0, 50_000),
    st.one_of(st.none(), st.integers(0, 200_000)),
)
def test_no_model_of_a_panel_has_more_requests_or_tokens_at_least_than_at_most(
    count: int, bare: int, more: int, longest: int | None
) -> None:
    participants = label_participants(tuple(f"p/{n}" for n in range(count)))
    size = QuestionSize(whole=bare + more, bare=bare)
    plans = plan_reviewed_answers(size, participants, "p/mod", lambda _model: longest)
    assert [each.label for each in plans] == [*(each.label for each in participants), ""]
    for each in plans:
        assert len(each.least) <= len(each.most)
        assert sum(each.least) <= sum(each.most)
    asked = sum(len(each.least) for each in plans)
    assert asked == (2 * count + 1 if count > 1 else 2)


def test_what_a_plan_pays_for_is_said_instead_of_a_cost() -> None:
    prices = PriceTable({"p/a": PRICE}, frozenset({"codex"}))
    member = estimate_cost(plan_one("codex/m"), prices, 100)
    paid = estimate_cost(plan_one("p/a"), prices, 100)
    assert describe_total_cost([member]) == "1 requests, all by plan"
    assert describe_total_cost([member, paid]).startswith("2 requests, some of them by plan, at least about $")
    assert describe_costs([member]) == ["A codex/m by plan"]
