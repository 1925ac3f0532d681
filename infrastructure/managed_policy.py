"""What the managed policy means for a session that runs: which models it may ask, and what it may spend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from quorum.domain.conversation.cost import SpendCap
from quorum.infrastructure.config.model_tables import ProviderTable
from quorum.infrastructure.config.policy_table import ManagedPolicy


def build_model_check(
    policy: ManagedPolicy, providers: Mapping[str, ProviderTable]
) -> Callable[[str], str | None]:
    """Tells why "provider/model" may not be asked, None where it may; "provider/" is about the provider."""
    return lambda model: policy.explain_model_refusal(model, providers)


def build_spend_ceilings(policy: ManagedPolicy) -> Mapping[SpendCap, Decimal]:
    """What no cap can be raised above, in US dollars or tokens."""
    return {cap: Decimal(repr(limit)) for cap, limit in policy.spend_limits.items()}
