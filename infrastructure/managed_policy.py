"""What the managed policy means for a session that runs: the models it may ask, its spending, its folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path

from quorum.application.event_bus import EventBus
from quorum.application.ports.people import Approver
from quorum.application.ports.storage import Storage
from quorum.application.spend_limiter import SpendLimiter
from quorum.domain.conversation.cost import PriceTable, SpendCap
from quorum.domain.errors import ConfigError
from quorum.domain.review.path_policy import PathPolicy, is_git_folder_name
from quorum.domain.text.paths import is_below_any
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.model_choice import StoredKey
from quorum.infrastructure.config.policy_table import ManagedPolicy
from quorum.infrastructure.execution.sandbox.places import expand_path, list_homes
from quorum.infrastructure.files.workspace import escape_path
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


class AddableFolders:
    """Implements `FolderCheck` for the workspace of a policy. `homes` are the home folders of the person.

    `explain_bound` says why an administrator keeps commands from writing in a canonical folder, a clause.
    """

    def __init__(
        self,
        policy: PathPolicy,
        homes: Iterable[str],
        explain_bound: Callable[[str], str | None] = lambda _folder: None,
    ) -> None:
        self._policy = policy
        self._explain_bound = explain_bound
        self._homes = tuple(map(os.path.realpath, homes))
        self._everywhere = PathPolicy(
            roots=(),
            own=policy.own,
            code=policy.code,
            protected=policy.protected,
            sensitive=policy.sensitive,
        )

    def resolve(self, path: str) -> str:
        """The folder that a path leads to, links resolved; from the working directory on, `~` expanded. Raises
        ConfigError with the reason and what to do."""
        named = escape_path(path)
        if not path.strip() or "\0" in path:
            raise ConfigError("name the folder to add, for example ../library")
        try:
            folder = os.path.realpath(os.path.join(self._policy.roots[0], self._expand_home(path)), strict=True)
            folder.encode()
        except UnicodeEncodeError as error:
            raise ConfigError(f"{named} has a name that is no text: give it another name to add it") from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise ConfigError(f"{named} cannot be added: {reason}; name a folder that exists") from error
        shown = named if folder == path else f"{named} (it leads to {escape_path(folder)})"
        if not os.path.isdir(folder):
            raise ConfigError(f"{shown} is not a folder: add the folder that it lies in")
        if not folder.isprintable():
            raise ConfigError(
                f"{shown} has a name with characters that cannot be shown: give it another name to add it"
            )
        if not is_below_any(folder, self._policy.roots) and (why := self._explain_refusal(folder)) is not None:
            raise ConfigError(f"{shown} cannot be added: {why}")
        return folder

    def _expand_home(self, path: str) -> str:
        if self._homes and (path == "~" or path.startswith("~/")):
            return self._homes[0] + path[1:]
        return path

    def _explain_refusal(self, folder: str) -> str | None:
        if folder == "/":
            return "it is the whole file system; name a folder in it"
        if any(is_below_any(home, (folder,)) for home in self._homes):
            return "it is your home folder, or holds it; name a folder in it"
        if is_below_any(self._policy.roots[0], (folder,)):
            return (
                "it holds the working directory; start quorum there instead, or name the folder beside it that "
                "is needed"
            )
        if any(map(is_git_folder_name, folder.split("/"))):
            return "it is a repository's own .git folder, or in one; add the folder around it"
        if any(is_below_any(folder, (own,)) or is_below_any(own, (folder,)) for own in self._policy.own):
            return "quorum keeps files of its own there"
        if self._everywhere.is_sensitive(folder) or self._everywhere.is_protected(folder):
            return "it is a sensitive or protected path, of which each file is asked about"
        if not os.access(folder, os.R_OK | os.X_OK):
            return "you may not read it; change its permissions first"
        return self._explain_bound(folder)
