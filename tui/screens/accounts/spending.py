"""How amounts of what was used are written."""

from __future__ import annotations

from decimal import Decimal

from quorum.domain.conversation.cost import Spending
from quorum.domain.text.amounts import format_tokens

_CENT = Decimal("0.01")


def render_spending(spending: Spending) -> str:
    """One phrase for a status bar: `12.3k in · 1.2k out · $0.04`; empty where nothing was used."""
    usage = spending.usage
    came_in = usage.input + usage.cache_read + usage.cache_write
    if not came_in and not usage.output:
        return ""
    parts = [f"{format_tokens(came_in)} in", f"{format_tokens(usage.output)} out", format_cost(spending)]
    return " · ".join(part for part in parts if part)


def format_cost(spending: Spending) -> str:
    """What is known to have been spent, as `$0.04`; `≥ $0.04` where part of it has no known price, and `by
    plan` where a plan paid for all of it."""
    if spending.priced_usd is None:
        return "by plan" if spending.by_plan and not spending.has_unpriced else ""
    return f"{'≥ ' if spending.has_unpriced else ''}{format_dollars(spending.priced_usd)}"


def format_dollars(amount: Decimal) -> str:
    """An amount to the cent; one below a cent to two digits that count."""
    if amount == 0 or amount >= _CENT:
        return f"${amount:,.2f}"
    places = -amount.adjusted() + 1
    return f"${amount:.{places}f}"
