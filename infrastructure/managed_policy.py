"""What the managed policy means for a session that runs: the models it may ask, its spending, its folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path

from quorum.domain.conversation.cost import SpendCap
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.config.model_tables import ProviderTable
from quorum.infrastructure.config.policy_table import ManagedPolicy
from quorum.infrastructure.execution.sandbox.places import expand_path, list_homes
from quorum.infrastructure.files.addable_folders import AddableFolders


def build_model_check(
    policy: ManagedPolicy, providers: Mapping[str, ProviderTable]
) -> Callable[[str], str | None]:
    """Tells why "provider/model" may not be asked, None where it may; "provider/" is about the provider."""
    return lambda model: policy.explain_model_refusal(model, providers)


def build_spend_ceilings(policy: ManagedPolicy) -> Mapping[SpendCap, Decimal]:
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
