"""What was used, by turn and by model, and how amounts of it are written."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from domain.conversation.cost import Spending
from domain.events.event import UsageCounted
from domain.text.amounts import tokens

_CENT = Decimal("0.01")


class Book:
    """Adds up a session's requests. Turns are counted from 1; `total` is what all of them used."""

    def __init__(self) -> None:
        self.turn = 0
        self.total = Spending()
        self._entries: dict[tuple[int, str], Spending] = {}

    def begin_turn(self) -> None:
        """What is counted from now on belongs to a further turn."""
        self.turn += 1

    def add(self, event: UsageCounted) -> None:
        """Count a request."""
        place = (self.turn, event.model)
        self._entries[place] = self._entries.get(place, Spending()).plus(event.usage, event.cost_usd)
        self.total = self.total.plus(event.usage, event.cost_usd)

    def by_turn(self) -> Iterator[tuple[int, str, Spending]]:
        """What each turn used of each model, oldest first."""
        for (turn, model), spending in self._entries.items():
            yield turn, model, spending

    def by_model(self) -> dict[str, Spending]:
        """What the session used of each model."""
        models: dict[str, Spending] = {}
        for (_, model), spending in self._entries.items():
            models[model] = _sum(models.get(model, Spending()), spending)
        return models


def _sum(one: Spending, other: Spending) -> Spending:
    priced = [s.priced_usd for s in (one, other) if s.priced_usd is not None]
    return Spending(
        usage=one.usage + other.usage,
        priced_usd=sum(priced, Decimal(0)) if priced else None,
        has_unpriced=one.has_unpriced or other.has_unpriced,
    )


def in_short(spending: Spending) -> str:
    """One phrase for a status bar: `12.3k in · 1.2k out · $0.04`; empty where nothing was used."""
    usage = spending.usage
    came_in = usage.input + usage.cache_read + usage.cache_write
    if not came_in and not usage.output:
        return ""
    parts = [f"{tokens(came_in)} in", f"{tokens(usage.output)} out", cost_of(spending)]
    return " · ".join(part for part in parts if part)


def cost_of(spending: Spending) -> str:
    """What is known to have been spent, as `$0.04`; `≥ $0.04` where part of it has no known price."""
    if spending.priced_usd is None:
        return ""
    return f"{'≥ ' if spending.has_unpriced else ''}{dollars(spending.priced_usd)}"


def dollars(amount: Decimal) -> str:
    """An amount to the cent; one below a cent to two digits that count."""
    if amount == 0 or amount >= _CENT:
        return f"${amount:,.2f}"
    places = -amount.adjusted() + 1
    return f"${amount:.{places}f}"
