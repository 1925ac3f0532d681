"""`quorum keys`: the keys of providers in the keyring of this machine. No key is ever printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from getpass import getpass
from pathlib import Path

from domain.errors import ConfigError
from domain.text.nearest import find_nearest_word
from infrastructure.config.provider_table import ProviderTable
from infrastructure.models.shared.stored_keys import list_key_variables
from infrastructure.provider_types import find_public_service
from infrastructure.secrets.key_ring import KeyRing
from infrastructure.settings_conversion import build_provider_settings
from quorum.errors import UsageError, complain
from quorum.options import Options
from quorum.settings import load

INTERRUPTED = 130


def print_keys(options: Options, root: Path) -> int:
    """Do what is asked about the keys; the exit code. Raises ConfigError, and UsageError without a key."""
    loaded = load(options, root, needs_project=False)
    complain([loaded.left_out] if loaded.left_out else [])
    tables = loaded.settings.providers
    ring = KeyRing()
    match options.action:
        case "list":
            return _list(tables, ring)
        case "set":
            _check_name(options.provider, tables)
            _check_use(options.provider, tables[options.provider])
            if ring.missing:  # before anybody types a key
                raise ConfigError(ring.missing)
            return _set(options.provider, ring, tables[options.provider])
        case _:
            if not ring.remove(options.provider):
                _check_name(options.provider, tables)
                raise ConfigError(f"the keyring holds no key for {options.provider}")
            print(f"removed the key for {options.provider} from the keyring")
            return 0


def _list(tables: Mapping[str, ProviderTable], ring: KeyRing) -> int:
    troubles: dict[str, None] = {}
    if ring.missing:
        complain([ring.missing])
    for name, table in tables.items():
        if table.type != "offline":
            print(f"{name}: {_render_source(name, table, ring, troubles)}")
    complain(troubles)
    return int(bool(troubles))


def _render_source(name: str, table: ProviderTable, ring: KeyRing, troubles: dict[str, None]) -> str:
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
    usual = find_public_service(table.type).key_env
    return min(list_key_variables(build_provider_settings({"one": table})["one"], usual), default="")


def _set(name: str, ring: KeyRing, table: ProviderTable) -> int:
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
    if sys.stdin is None:
        return ""
    try:
        if sys.stdin.isatty():
            return getpass(f"Key for {name} (not shown): ", stream=sys.stderr).strip()
        return sys.stdin.readline().strip()
    except (EOFError, UnicodeDecodeError):
        return ""


def _check_name(name: str, tables: Mapping[str, ProviderTable]) -> None:
    if name not in tables:
        near = find_nearest_word(name, tuple(tables))
        hint = f"did you mean {near}?" if near else f"known are {', '.join(tables)}"
        raise ConfigError(f"there is no provider {name}; {hint}")


def _check_use(name: str, table: ProviderTable) -> None:
    """A key that nobody would read is not taken in."""
    if not _find_variable(table):
        raise ConfigError(
            f"the provider {name} is set up to want no key; name the variable of one with api_key_env in "
            f"[providers.{name}], and the keyring is asked where that is not set"
        )
