"""The settings of this run and their files, as the app and `quorum config set` change them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from quorum.command_line.options import StartOptions
from quorum.domain.errors import ConfigError
from quorum.domain.sessions.trust import Standing
from quorum.infrastructure.config.account import (
    SettingAccount,
    explain_project_refusal,
    format_value,
    list_accounts,
    list_writable_files,
    parse_setting_path,
    parse_typed_value,
)
from quorum.infrastructure.config.config_file import ConfigFile
from quorum.infrastructure.config.keys import find_key
from quorum.infrastructure.config.loading import LoadedSettings, list_setting_values
from quorum.infrastructure.config.paths import locate
from quorum.infrastructure.config.toml_file import TomlFile, escape_path
from quorum.infrastructure.config.toml_text import KeyPath, format_key, format_literal
from quorum.settings import check_keys, load
from quorum.tui.agent.services import Setting, Target, Written

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
