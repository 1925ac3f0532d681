"""Settings for a server of models on this machine: read off the server, shown, and written after a yes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from quorum.command_line.options import StartOptions
from quorum.domain.errors import ConfigError
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.config.config_file import ConfigFileEdit
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.model_tables import ProviderTable
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.config.toml_text import KeyPath
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.provider_types import ProviderType
from quorum.settings import load, open_own_file
from quorum.tui.agent.services import LocalServerProposal

_TYPE: ProviderType = "openai-chat"
_MODEL: KeyPath = ("models", "decision")
_LISTING_SECS = 5.0
_NO_CHAT = (
    r"(?i)embed|rerank|(?:^|[/_.-])"
    r"(?:bge|e5|gte|all-minilm|paraphrase|clip|whisper|kokoro|orpheus|tts)(?:[-_:.]|$)"
)
"""Names of models for embeddings, ranking and speech, which servers list among the others."""


@dataclass(frozen=True, slots=True)
class _SettingsChange:
    """What a proposal is to write, and what it was seen to change."""

    values: Mapping[KeyPath, object]
    seen: ConfigFileEdit


class LocalServerSettings:
    """Implements `LocalServers` over the person's own file of settings, or that which --config names."""

    def __init__(self, options: StartOptions, root: Path) -> None:
        self._options, self._root = options, root
        self._changes: dict[LocalServerProposal, _SettingsChange] = {}

    async def list_models(self, port: int) -> tuple[str, ...]:
        """Ask the server on the loopback address, without a key. What seems to be no chat model comes last."""
        name = f"127.0.0.1:{port}"
        server = ProviderSettings(
            type=_TYPE, base_url=_build_address(port), api_key_env="", timeout_secs=_LISTING_SECS, max_retries=0
        )
        registry = ProviderRegistry({name: server}, environ={})
        try:
            async with asyncio.timeout(2 * _LISTING_SECS):
                listed = await registry.list_models(name)
        except TimeoutError:
            raise ConfigError(f"{name} does not finish its list of models; is it a server of models?") from None
        finally:
            await registry.aclose()
        own_names = (model.removeprefix(f"{name}/") for model in listed)
        return tuple(sorted(own_names, key=lambda own: bool(compile_once(_NO_CHAT).search(own))))

    async def propose(self, port: int, name: str, model: str) -> LocalServerProposal:
        """A table under a name that is free, or the one that leads to this server already, and the model."""
        return await asyncio.to_thread(self._propose, port, name, model)

    async def accept(self, proposal: LocalServerProposal) -> str:
        """Write both at once."""
        return await asyncio.to_thread(self._accept, proposal)

    def _propose(self, port: int, name: str, model: str) -> LocalServerProposal:
        loaded = self._load()
        provider = _find_provider(loaded.settings.providers, name, _build_address(port))
        values: dict[KeyPath, object] = {}
        if provider not in loaded.settings.providers:
            table: KeyPath = ("providers", provider)
            values |= {(*table, "type"): _TYPE, (*table, "base_url"): _build_address(port)}
        full_name = f"{provider}/{model}"
        values[_MODEL] = full_name
        file = open_own_file(self._options, self._root, loaded)
        seen = file.preview(values)
        proposal = LocalServerProposal(
            model=full_name,
            file=escape_path(file.path),
            is_new=not file.path.exists(),
            lines=seen.changed_lines,
        )
        self._changes[proposal] = _SettingsChange(values, seen)
        return proposal

    def _accept(self, proposal: LocalServerProposal) -> str:
        change = self._changes[proposal]
        loaded = (
            open_own_file(self._options, self._root, self._load())
            .set_all(change.values, seen=change.seen)
            .loaded
        )
        if (counts := loaded.settings.models.decision) == proposal.model:
            return ""
        return (
            f"it is written to {proposal.file}, but {loaded.locate(_MODEL)} counts more: the model is {counts}"
        )

    def _load(self) -> LoadedSettings:
        return load(self._options, self._root, needs_project=False)


def _build_address(port: int) -> str:
    return f"http://127.0.0.1:{port}/v1"


def _find_provider(providers: Mapping[str, ProviderTable], name: str, address: str) -> str:
    """The provider that leads to this address already, or else a name that no table has."""
    for known, table in providers.items():
        same = table.base_url.rstrip("/").replace("//localhost:", "//127.0.0.1:") == address
        if same and table.type == _TYPE and not table.client:
            return known
    wanted = name.lower().replace(" ", "-").replace(".", "-")
    number, free = 1, wanted
    while free in providers:
        number += 1
        free = f"{wanted}-{number}"
    return free
