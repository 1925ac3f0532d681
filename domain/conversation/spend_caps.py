"""Spend caps: how many tokens and US dollars a session and one turn of it may use."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256

from msgspec import Struct, field

from quorum.domain.conversation.cost import Spending
from quorum.domain.text.amounts import format_amount


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
