"""What requests cost, by the prices of models, and the caps on what a session and one turn of it may spend."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256

from msgspec import Struct, field

from quorum.domain.conversation.response import Usage
from quorum.domain.replacing import replace
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.pattern import compile_once

_MILLION = Decimal(1_000_000)
_DATE_AT_THE_END = r"-20\d\d(-?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])\Z"


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
        return _NOTHING if self.is_by_plan(model) else self._find_own(model)

    def is_by_plan(self, model: str) -> bool:
        """Whether a plan pays for requests to "provider/model"."""
        return model.partition("/")[0] in self.by_plan and self._find_own(model) is None

    def _find_own(self, model: str) -> Price | None:
        return self.prices.get(model, self.prices.get(strip_date(model)))

    def compute_cost(self, model: str, usage: Usage) -> Decimal | None:
        """What one request to "provider/model" cost in USD, or None where its price is not known."""
        price = self.find_price(model)
        return None if price is None else compute_cost(usage, price)


class Spending(Struct, frozen=True, kw_only=True):
    """The tokens of any number of requests, and what they cost as far as that is known. A plan paid for some of
    them where it is `by_plan`: they count in no cost."""

    usage: Usage = field(default_factory=Usage)
    priced_usd: Decimal | None = None
    has_unpriced: bool = False
    by_plan: bool = False

    def with_request(self, usage: Usage, cost_usd: Decimal | None, *, by_plan: bool = False) -> Spending:
        """With one more request; `cost_usd` is None where its price is not known."""
        if by_plan:
            return replace(self, usage=self.usage + usage, by_plan=True)
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
    return compile_once(_DATE_AT_THE_END).sub("", model)


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


class SpendCap(StrEnum):
    """The caps, by their names in `[agent]`; as the stop reason of a run, the one that ended it."""

    COST = "max_cost_usd"
    TOKENS = "max_tokens"
    TURN_COST = "max_cost_usd_per_turn"
    TURN_TOKENS = "max_tokens_per_turn"

    @property
    def is_cost(self) -> bool:
        """Whether it bounds US dollars; otherwise it bounds tokens."""
        return self in (SpendCap.COST, SpendCap.TURN_COST)

    @property
    def is_per_turn(self) -> bool:
        """Whether it bounds one turn; otherwise it bounds the session."""
        return self in (SpendCap.TURN_COST, SpendCap.TURN_TOKENS)

    def get_amount(self, spending: Spending) -> Decimal:
        """How much of what it bounds was spent; requests without a price cost nothing here."""
        return (spending.priced_usd or Decimal(0)) if self.is_cost else Decimal(spending.usage.context)

    def render(self, amount: Decimal) -> str:
        """An amount of what it bounds: `$0.04`, or `1,200 tokens`."""
        if not self.is_cost:
            return format_amount(int(amount), "token")
        return f"${amount:,.2f}" if amount == 0 or amount >= 1 else f"${amount:,.4f}"


class SpendCaps(Struct, frozen=True):
    """The caps that are set, in US dollars or tokens. One that is absent is no cap."""

    limits: Mapping[SpendCap, Decimal] = field(default_factory=dict)

    @property
    def bound_cost(self) -> bool:
        """Whether any of them bounds the cost."""
        return any(cap.is_cost for cap in self.limits)

    def raise_by(self, raises: Mapping[SpendCap, Decimal]) -> SpendCaps:
        """The caps with these amounts on top."""
        return SpendCaps({cap: limit + raises.get(cap, Decimal(0)) for cap, limit in self.limits.items()})

    def find_exceeded(self, session: Spending, turn: Spending) -> SpendCap | None:
        """The first cap that is below what the session, or the turn, would have spent."""
        for cap, limit in self.limits.items():
            if cap.get_amount(turn if cap.is_per_turn else session) > limit:
                return cap
        return None


class SpendQuestion(Struct, frozen=True, kw_only=True):
    """Whether to continue although a cap would be exceeded, or cannot be kept.

    `models` are those to be asked next. `estimate` is what the session, or the turn, is expected to have spent
    after the next request, and `raise_to` the new limit; both are None where the price of the models is not
    known, so that a cap on the cost cannot be kept for them.
    """

    cap: SpendCap
    models: tuple[str, ...]
    limit: Decimal
    spent: Decimal
    estimate: Decimal | None = None
    raise_to: Decimal | None = None

    @property
    def reason(self) -> str:
        """Why it is asked, in one sentence."""
        what = "this turn" if self.cap.is_per_turn else "this session"
        names = ", ".join(self.models)
        if self.estimate is None:
            cap = f"agent.{self.cap} = {self.cap.render(self.limit)}"
            return f"no price is known for {names}, so {cap} cannot be kept"
        return (
            f"{what} has used {self.cap.render(self.spent)}, and with the next request to {names} it would "
            f"use about {self.cap.render(self.estimate)}, more than agent.{self.cap} = "
            f"{self.cap.render(self.limit)}"
        )

    @property
    def remedy(self) -> str:
        """What helps, in one clause."""
        if self.estimate is None:
            names = " and ".join(f'[prices."{model}"]' for model in self.models)
            return f"set {names} in your quorum.toml, or take the cap out"
        return f"raise agent.{self.cap} to continue"

    @property
    def digest(self) -> str:
        """What the answer is bound to: the SHA-256 of all that is asked, in hexadecimal."""
        parts = (
            self.cap.value,
            *self.models,
            str(self.limit),
            str(self.spent),
            str(self.estimate),
            str(self.raise_to),
        )
        return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


class CapStanding(Struct, frozen=True, kw_only=True):
    """How far a cap is used up. `limit` includes what the person raised it by."""

    cap: SpendCap
    limit: Decimal
    spent: Decimal
