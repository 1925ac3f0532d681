"""`quorum keys`: the keys of providers in the keyring of this machine. No key is ever printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.command_line.command import CliCommand, CommandGroup, argument
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import PLACES
from quorum.errors import UsageError, complain

if TYPE_CHECKING:
    from quorum.infrastructure.config.model_tables import ProviderTable
    from quorum.infrastructure.secrets.key_ring import KeyRing

INTERRUPTED = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyOptions(StartOptions):
    """The provider of the key."""

    provider: str = ""


def _open(options: StartOptions, root: Path) -> tuple[Mapping[str, ProviderTable], KeyRing]:
    from quorum.infrastructure.secrets.key_ring import KeyRing
    from quorum.settings import load

    loaded = load(options, root, needs_project=False)
    complain([loaded.left_out] if loaded.left_out else [])
    return loaded.settings.providers, KeyRing()


def _list_keys(options: StartOptions, root: Path) -> int:
    tables, ring = _open(options, root)
    troubles: dict[str, None] = {}
    if ring.missing:
        complain([ring.missing])
    for name, table in tables.items():
        if table.type != "offline":
            print(f"{name}: {_render_source(name, table, ring, troubles)}")
    complain(troubles)
    return int(bool(troubles))


def _set_key(options: KeyOptions, root: Path) -> int:
    from quorum.domain.errors import ConfigError

    tables, ring = _open(options, root)
    _check_name(options.provider, tables)
    _check_use(options.provider, tables[options.provider])
    if ring.missing:  # before anybody types a key
        raise ConfigError(ring.missing)
    return _keep_key(options.provider, ring, tables[options.provider])


def _remove_key(options: KeyOptions, root: Path) -> int:
    from quorum.domain.errors import ConfigError

    tables, ring = _open(options, root)
    if not ring.remove(options.provider):
        _check_name(options.provider, tables)
        raise ConfigError(f"the keyring holds no key for {options.provider}")
    print(f"removed the key for {options.provider} from the keyring")
    return 0


def _render_source(name: str, table: ProviderTable, ring: KeyRing, troubles: dict[str, None]) -> str:
    from quorum.domain.errors import ConfigError

    variable = _find_variable(table)
    if variable and os.environ.get(variable, "").strip():
        return f"environment variable {variable}"
    if not variable:
        return "set up to want no key"
    try:
        stored = ring.get_key(name) is not None
    except ConfigError as trouble:
        troubles[str(trouble)] = None
        return f"{variable} is not set, and the keyring could not be read"
    if stored:
        return "keyring"
    return f"no key: {variable} is not set" + ("" if ring.missing else ", and the keyring has none")


def _find_variable(table: ProviderTable) -> str:
    """The environment variable of a provider's key; "" where there is none."""
    from quorum.infrastructure.models.shared.stored_keys import list_key_variables
    from quorum.infrastructure.provider_types import find_public_service
    from quorum.infrastructure.settings_conversion import build_provider_settings

    usual = find_public_service(table.type).key_env
    return min(list_key_variables(build_provider_settings({"one": table})["one"], usual), default="")


def _keep_key(name: str, ring: KeyRing, table: ProviderTable) -> int:
    try:
        key = _read_key(name)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return INTERRUPTED
    if not key:
        raise UsageError("no key was given; type it, or give it as one line on stdin")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise UsageError("that holds characters that no key has; copy the key again")
    ring.keep(name, key)
    print(f"stored the key for {name} in the keyring")
    if os.environ.get(_find_variable(table), "").strip():
        complain([f"{_find_variable(table)} is set as well, and the environment counts"])
    return 0


def _read_key(name: str) -> str:
    from getpass import getpass

    if sys.stdin is None:
        return ""
    try:
        if sys.stdin.isatty():
            return getpass(f"Key for {name} (not shown): ", stream=sys.stderr).strip()
        return sys.stdin.readline().strip()
    except (EOFError, UnicodeDecodeError):
        return ""


def _check_name(name: str, tables: Mapping[str, ProviderTable]) -> None:
    from quorum.domain.errors import ConfigError
    from quorum.domain.text.fuzzy import find_nearest_word

    if name not in tables:
        near = find_nearest_word(name, tuple(tables))
        hint = f"did you mean {near}?" if near else f"known are {', '.join(tables)}"
        raise ConfigError(f"there is no provider {name}; {hint}")


def _check_use(name: str, table: ProviderTable) -> None:
    """A key that nobody would read is not taken in."""
    from quorum.domain.errors import ConfigError

    if not _find_variable(table):
        raise ConfigError(
            f"the provider {name} is set up to want no key; name the variable of one with api_key_env in "
            f"[providers.{name}], and the keyring is asked where that is not set"
        )


_PROVIDER = argument("provider", metavar="PROVIDER", help="the provider, as in quorum.toml")
_SET = ("quorum keys set openai", "asks for the key; it is not shown")
COMMAND = CommandGroup(
    {
        "set": CliCommand(
            KeyOptions,
            _set_key,
            summary="Keep the key of a provider in the keyring of this machine.",
            arguments=(*PLACES, _PROVIDER),
            examples=(
                _SET,
                ("pass show openai | quorum keys set openai", "the key from stdin, as one line"),
            ),
        ),
        "list": CliCommand(
            StartOptions,
            _list_keys,
            summary="Print for which providers there is a key, and where it comes from; never the key.",
            arguments=PLACES,
        ),
        "remove": CliCommand(
            KeyOptions,
            _remove_key,
            summary="Remove the key of a provider from the keyring.",
            arguments=(*PLACES, _PROVIDER),
        ),
    },
    example=_SET,
)
