"""What models cost: prices per token, and the tokens of requests made into money."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct, field

from quorum.domain.conversation.response import Usage
from quorum.domain.replacing import replace

_MILLION = Decimal(1_000_000)
_DATE_AT_THE_END = re.compile(r"-20\d\d(-?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])\Z")


class Price(Struct, frozen=True, kw_only=True):
    """What a model costs, in USD per million tokens.

    `long_prompt` is what all tokens of a request cost instead, where its prompt is a long one.
    """

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal
    long_prompt: LongPrompt | None = None


class LongPrompt(Struct, frozen=True, kw_only=True):
    """The price of requests whose prompt, cached parts included, has more than `above` tokens."""

    above: int
    price: Price


_NOTHING = Price(input=Decimal(0), output=Decimal(0), cache_read=Decimal(0), cache_write=Decimal(0))


class PriceTable(Struct, frozen=True):
    """The known prices, each under "provider/model". A request to one of the providers `by_plan` costs nothing
    that is counted here."""

    prices: Mapping[str, Price] = field(default_factory=dict)
    by_plan: frozenset[str] = frozenset()

    def find_price(self, model: str) -> Price | None:
        """The price of "provider/model", or None where it is not known.

        A name that is not in the table but ends in a date, -20261021 or -2026-10-21, has the price of the
        name without it. Nothing else is taken for the same: a wrong price is worse than none.
        """
        found = self.prices.get(model, self.prices.get(strip_date(model)))
        return _NOTHING if found is None and model.partition("/")[0] in self.by_plan else found

    def compute_cost(self, model: str, usage: Usage) -> Decimal | None:
        """What one request to "provider/model" cost in USD, or None where its price is not known."""
        price = self.find_price(model)
        return None if price is None else compute_cost(usage, price)


class Spending(Struct, frozen=True, kw_only=True):
    """The tokens of any number of requests, and what they cost as far as that is known."""

    usage: Usage = field(default_factory=Usage)
    priced_usd: Decimal | None = None
    has_unpriced: bool = False

    def with_request(self, usage: Usage, cost_usd: Decimal | None) -> Spending:
        """With one more request; `cost_usd` is None where its price is not known."""
        if cost_usd is None:
            unpriced = self.has_unpriced or usage != Usage()  # what used nothing costs nothing at any price
            return replace(self, usage=self.usage + usage, has_unpriced=unpriced)
        return replace(self, usage=self.usage + usage, priced_usd=(self.priced_usd or Decimal(0)) + cost_usd)

    @property
    def cost_usd(self) -> Decimal | None:
        """The cost of all of it; None where there is nothing priced, or anything of unknown price."""
        return None if self.has_unpriced else self.priced_usd


def strip_date(model: str) -> str:
    """Return the name of a model without a date at its end."""
    return _DATE_AT_THE_END.sub("", model)


def compute_cost(usage: Usage, price: Price) -> Decimal:
    """Return the cost of one request in USD, exact to the last digit.

    Reasoning is part of the output and counts no second time. Several requests added up before are wrong
    where the price depends on the length of the prompt.
    """
    prompt = usage.input + usage.cache_read + usage.cache_write
    if price.long_prompt is not None and prompt > price.long_prompt.above:
        price = price.long_prompt.price
    return (
        usage.input * price.input
        + usage.output * price.output
        + usage.cache_read * price.cache_read
        + usage.cache_write * price.cache_write
    ) / _MILLION
