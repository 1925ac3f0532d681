"""The models that can be used: what providers list, with what is known of each."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct

from quorum.domain.conversation.cost import Price
from quorum.domain.errors import ProviderError
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.model_choice import ROLES, StoredKey, choose_roles
from quorum.infrastructure.doctor.diagnosis import check_readiness
from quorum.infrastructure.managed_policy import open_registry
from quorum.infrastructure.prices.model_figures import build_price_table, build_window_lookup


class ListedModel(Struct, frozen=True, kw_only=True):
    """A model by its full name. `window` is in tokens; it and `price` are None where they are not known.
    `roles` are those that it has by the settings; `is_by_plan`: a plan pays for it."""

    name: str
    window: int | None
    price: Price | None
    roles: tuple[str, ...] = ()
    is_by_plan: bool = False


async def list_usable_models(
    loaded: LoadedSettings, environ: Mapping[str, str], stored_key: StoredKey, *, only: Sequence[str] = ()
) -> tuple[list[ListedModel], Mapping[str, ProviderError]]:
    """What the providers list, and why others could not be asked. Without `only` those are asked that have all
    that they need. Raises ConfigError."""
    settings = loaded.settings
    readiness = [] if only else await check_readiness(loaded, environ, stored_key)
    names = only or [each.provider for each in readiness if each.ready]
    gateway = open_registry(loaded, environ, stored_key)
    try:
        answers = await asyncio.gather(*(gateway.list_models(name) for name in names), return_exceptions=True)
    finally:
        await gateway.aclose()
    prices = build_price_table(settings.providers, settings.prices, environ)
    find_window = build_window_lookup(settings.providers, settings.context_budget.models)
    roles = choose_roles(loaded, environ, stored_key)
    used: dict[str, list[str]] = {}
    for role in ROLES:
        for choice in roles.get_choices(role):
            used.setdefault(choice.model, []).append(role)
    listed: list[ListedModel] = []
    failed: dict[str, ProviderError] = {}
    for name, answer in zip(names, answers, strict=True):
        if isinstance(answer, ProviderError):
            failed[name] = answer
        elif isinstance(answer, BaseException):
            raise answer
        else:
            listed += (
                ListedModel(
                    name=model,
                    window=find_window(model),
                    price=prices.find_price(model),
                    roles=tuple(used.get(model, ())),
                    is_by_plan=prices.is_by_plan(model),
                )
                for model in answer
            )
    return listed, failed
