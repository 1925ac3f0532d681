"""What the requests of a panel cost, as far as that can be known before the first of them."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from msgspec import Struct

from quorum.domain.conversation.cost import Price, PriceTable, compute_cost
from quorum.domain.conversation.response import Usage
from quorum.domain.struct_json import Amount


class PlannedRequests(Struct, frozen=True, kw_only=True):
    """The requests that one model of a panel gets: the estimated tokens that each of them brings.

    `least` are those that it gets if all goes well, with what is known to be in them; `most` all that it can
    get, with the longest texts of others that can be in them. `label` is empty for the moderator.
    """

    label: str
    model: str
    least: tuple[int, ...]
    most: tuple[int, ...]


class CostEstimate(Struct, frozen=True, kw_only=True):
    """What one model of a panel costs, in USD, by the estimated tokens of its requests.

    Both costs are None where its price is not known, `most_usd` also where the longest answer of the model is
    not known. `label` is empty for the moderator.
    """

    label: str
    model: str
    least_requests: int
    most_requests: int
    least_usd: Amount | None = None
    most_usd: Amount | None = None


class TotalEstimate(Struct, frozen=True, kw_only=True):
    """What a whole panel costs. `least_usd` is of the models whose price is known, and None where there is
    none; `most_usd` is None where that of any model is not known."""

    least_requests: int
    most_requests: int
    least_usd: Decimal | None
    most_usd: Decimal | None


def estimate_cost(planned: PlannedRequests, prices: PriceTable, longest_answer: int | None) -> CostEstimate:
    """Estimate what these requests cost. `longest_answer` is in tokens; None where that is not known."""
    estimate = CostEstimate(
        label=planned.label,
        model=planned.model,
        least_requests=len(planned.least),
        most_requests=len(planned.most),
    )
    price = prices.find_price(planned.model)
    if price is None:
        return estimate
    least = sum((_compute_least_cost(tokens, price) for tokens in planned.least), Decimal(0))
    most = (
        sum((_compute_most_cost(tokens, longest_answer, price) for tokens in planned.most), Decimal(0))
        if longest_answer is not None
        else None
    )
    return CostEstimate(
        label=planned.label,
        model=planned.model,
        least_requests=len(planned.least),
        most_requests=len(planned.most),
        least_usd=least,
        most_usd=most,
    )


def sum_estimates(estimates: Iterable[CostEstimate]) -> TotalEstimate:
    """What all of them come to."""
    each = tuple(estimates)
    least = [one.least_usd for one in each if one.least_usd is not None]
    most = [one.most_usd for one in each if one.most_usd is not None]
    return TotalEstimate(
        least_requests=sum(one.least_requests for one in each),
        most_requests=sum(one.most_requests for one in each),
        least_usd=sum(least, Decimal(0)) if least else None,
        most_usd=sum(most, Decimal(0)) if most and len(most) == len(each) else None,
    )


def _compute_least_cost(tokens: int, price: Price) -> Decimal:
    """A request that is read from a cache where that is cheaper, and has no answer."""
    costs = (compute_cost(usage, price) for usage in (Usage(input=tokens), Usage(cache_read=tokens)))
    return min(costs)


def _compute_most_cost(tokens: int, answer: int, price: Price) -> Decimal:
    """A request that is written to a cache where that is dearer, with the longest answer."""
    usages = (Usage(input=tokens, output=answer), Usage(cache_write=tokens, output=answer))
    return max(compute_cost(usage, price) for usage in usages)
