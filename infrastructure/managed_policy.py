"""What the managed policy means for a session that runs: the models it may ask, its spending, its folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path

from quorum.application.event_bus import EventBus
from quorum.application.ports.people import Approver
from quorum.application.ports.storage import Storage
from quorum.application.spend_limiter import SpendLimiter
from quorum.domain.conversation.cost import PriceTable, SpendCap
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.model_choice import StoredKey
from quorum.infrastructure.config.policy_table import ManagedPolicy
from quorum.infrastructure.execution.sandbox.places import expand_path, list_homes
from quorum.infrastructure.files.addable_folders import AddableFolders
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.settings_conversion import (
    build_free_model_test,
    build_provider_settings,
    build_spend_caps,
)


def open_registry(
    loaded: LoadedSettings,
    environ: Mapping[str, str],
    stored_key: StoredKey,
    storage: Storage | None = None,
    adjust: Callable[[ProviderSettings], ProviderSettings] = lambda settings: settings,
) -> ProviderRegistry:
    """The providers of the settings, as far as the policy lets them be asked. A storage keeps the images of
    conversations and the pace of requests."""
    tables = loaded.settings.providers
    return ProviderRegistry(
        {name: adjust(one) for name, one in build_provider_settings(tables).items()},
        environ=environ,
        stored_key=stored_key,
        contents=storage.contents if storage is not None else None,
        pacer=storage.pacer if storage is not None else None,
        explain_refusal=lambda model: loaded.policy.explain_model_refusal(model, tables),
    )


def build_spend_limiter(
    loaded: LoadedSettings, *, prices: PriceTable, approver: Approver, events: EventBus
) -> SpendLimiter:
    """What holds the requests of a session to the caps of the settings, and those to the policy."""
    settings = loaded.settings
    return SpendLimiter(
        build_spend_caps(settings),
        prices=prices,
        approver=approver,
        events=events,
        always_asked=settings.models.review,
        is_free=build_free_model_test(settings.providers),
        ceilings=_build_spend_ceilings(loaded.policy),
    )


def _build_spend_ceilings(policy: ManagedPolicy) -> Mapping[SpendCap, Decimal]:
    """What no cap can be raised above, in US dollars or tokens."""
    return {cap: Decimal(repr(limit)) for cap, limit in policy.spend_limits.items()}


def build_folder_check(paths: PathPolicy, policy: ManagedPolicy, environ: Mapping[str, str]) -> AddableFolders:
    """Which folders may be added to a workspace: commands write in them. To one in a layer, none."""
    root = Path(paths.roots[0])

    def explain(folder: str) -> str | None:
        if paths.is_layered:
            return "this session works in a layer, which holds the workspace alone"
        return policy.explain_folder_refusal(
            folder, lambda path: os.path.realpath(expand_path(path, environ, root))
        )

    return AddableFolders(paths, list_homes(environ), explain)
