"""The settings of this run and their files, as the app and `quorum config set` change them; and those that the
app offers to write: for a server of models on this machine, and the review mode `sandboxed`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.command_line.options import StartOptions
from quorum.domain.errors import ConfigError
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.trust import Standing
from quorum.domain.shell.sandbox import SandboxOn
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.config.config_file import ConfigFile, ConfigFileEdit
from quorum.infrastructure.config.keys import find_key
from quorum.infrastructure.config.loading import DEFAULT_ORIGIN, LoadedSettings, list_setting_values
from quorum.infrastructure.config.model_tables import ProviderTable
from quorum.infrastructure.config.paths import locate
from quorum.infrastructure.config.report import (
    SettingAccount,
    explain_project_refusal,
    format_value,
    list_accounts,
    list_writable_files,
    parse_setting_path,
    parse_typed_value,
)
from quorum.infrastructure.config.toml_file import TomlFile, escape_path
from quorum.infrastructure.config.toml_text import KeyPath, format_key, format_literal
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.provider_types import ProviderType
from quorum.settings import check_keys, load, open_own_file
from quorum.tui.agent.services import LocalServerProposal, Setting, Target, Written

if TYPE_CHECKING:
    from quorum.application.ports.people import Approver
    from quorum.infrastructure.execution.sandbox.sandbox import Sandbox


PROJECT = "the project's file"
_KEYS = ("tui", "keys")


class FileSettingsService:
    """Implements `SettingsService` for the settings of a command line. Files are read at each call."""

    def __init__(self, options: StartOptions, root: Path) -> None:
        self._options, self._root = options, root

    @property
    def targets(self) -> tuple[Target, ...]:
        """The files that can be written, the person's own first."""
        locations = locate(cwd=self._root, environ=os.environ, config_file=self._options.config_file)
        return tuple(Target(name, path) for name, path in list_writable_files(locations).items())

    async def list_settings(self) -> Sequence[Setting]:
        """All of them as they are now, those of keys with every action that has some."""
        return await asyncio.to_thread(self._list_settings)

    async def change(self, key: str, text: str | None, target: Target) -> Written:
        """Write one to a file, or take it out of it."""
        return await asyncio.to_thread(self.write, key, text, target)

    async def read_keys(self) -> Mapping[str, str | Sequence[str]]:
        """The keys that the person wants for actions."""
        return (await asyncio.to_thread(self._load)).settings.tui.keys

    def write(self, key: str, text: str | None, target: Target) -> Written:
        """What `change` does, in the thread it is called in. Raises ConfigError."""
        path = parse_setting_path(key)
        is_project = target.name == PROJECT
        if text is not None and is_project and (refusal := explain_project_refusal(path)):
            raise ConfigError(refusal)
        load_with = partial(self._load, needs_project=is_project)
        file = ConfigFile(Path(target.path), load_with, follows_links=not is_project)
        value = parse_typed_value(path, text) if text is not None else None
        loaded = file.set(path, value) if text is not None else file.unset(path)
        return _describe_change(loaded, path, value if text is not None else None, target)

    def _list_settings(self) -> Sequence[Setting]:
        loaded = self._load()
        found = [_build_setting(account) for account in list_accounts(loaded)]
        return [*(each for each in found if each.table != format_key(_KEYS)), *_list_keys(found)]

    def _load(self, instead: TomlFile | None = None, *, needs_project: bool = True) -> LoadedSettings:
        loaded = load(self._options, self._root, instead, needs_project=needs_project)
        check_keys(loaded)
        return loaded


def _describe_change(loaded: LoadedSettings, path: KeyPath, value: object, target: Target) -> Written:
    """What is to be said of a change that has been made."""
    now = dict(list_setting_values(loaded.settings)).get(path)
    wanted = tuple(value) if isinstance(value, list) else value
    place = loaded.locate(path)
    name = format_key(path)
    if value is None:
        message = f"{name} is not set in {escape_path(Path(target.path))} any more"
        if now is not None:
            message += f"; it is {format_value(find_key(path), now)} ({place})"
        return Written(message=message, value=now, counts=True)
    if now == wanted:
        return Written(
            message=f"{name} = {format_value(find_key(path), value)} ({place})", value=now, counts=True
        )
    why = f"{place} counts more"
    if target.name == PROJECT and loaded.standing is not Standing.TRUSTED:
        why = "it counts once you trust that file as it is now, which the next session asks about"
    elif target.name == PROJECT and place.startswith(target.path):
        why = f"together with what else counts it is {format_literal(now)}"
    return Written(
        message=f"{name} is written to {escape_path(Path(target.path))}; {why}", value=now, counts=False
    )


def _build_setting(account: SettingAccount) -> Setting:
    return Setting(
        key=format_key(account.path),
        table=format_key(account.path[:-1]),
        value=account.value,
        default=account.default,
        origin=account.origin,
        description=account.description,
        expected=account.expected,
        choices=account.choices,
        fixed=account.fixed,
    )


def _list_keys(found: Sequence[Setting]) -> Iterator[Setting]:
    """A setting for each action that has keys, whether or not the person has others for it."""
    from quorum.tui.keys.keymap import is_remappable, label_key, list_key_actions

    present = {each.name: each for each in found if each.table == format_key(_KEYS)}
    listed: set[str] = set()
    for key_action in list_key_actions():
        if key_action.name in listed or not is_remappable(key_action.name):
            continue
        listed.add(key_action.name)
        usual = [label_key(key) for key in key_action.keys]
        default = format_literal(usual[0] if len(usual) == 1 else usual)
        own = present.get(key_action.name)
        yield Setting(
            key=format_key((*_KEYS, key_action.name)),
            table=format_key(_KEYS),
            value=own.value if own is not None else default,
            default=default,
            origin=own.origin if own is not None else "default",
            description=f"{key_action.context.title}: {key_action.does}",
            expected='a key, such as "ctrl+g", or a list of keys',
        )


class SandboxOffer:
    """Asks where the sandbox works and nobody has chosen a mode, and keeps the answer in `service`.

    Without an answer it asks again at the next start.
    """

    def __init__(self, loaded: LoadedSettings, service: FileSettingsService) -> None:
        self._loaded, self._service = loaded, service

    async def make(self, person: Approver, sandbox: Sandbox, call: str = "") -> tuple[bool, str | None]:
        """Whether the person was asked before this call and chose the mode, and what there is to say of it."""
        review = self._loaded.settings.review
        if not review.offer_sandboxed or self._loaded.origins.get("review.mode") != DEFAULT_ORIGIN:
            return False, None
        state = await sandbox.find_state()
        if not isinstance(state, SandboxOn):
            return False, None
        from quorum.application.ports.people import SandboxQuestion

        accepts = await person.ask(SandboxQuestion(state.description, call))
        if not isinstance(accepts, bool):
            return False, None
        key, value = ("review.mode", Mode.SANDBOXED.value) if accepts else ("review.offer_sandboxed", "false")
        note = await asyncio.to_thread(self._keep, key, value)
        return accepts, note

    def _keep(self, key: str, value: str) -> str | None:
        """Write the answer to the person's own file; returns why it could not be."""
        own = next((target for target in self._service.targets if target.name != PROJECT), None)
        if own is None:
            return f"{key} = {value} counts for this session only: there is no file of your own settings"
        try:
            self._service.write(key, value, own)
        except ConfigError as error:
            return f"{key} = {value} counts for this session only: {error}"
        return None


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
