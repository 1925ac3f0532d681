"""The names that shell completion offers: servers, models, providers and sessions, read without any check.

Only the person's own files and database are read. A project's file may be a stranger's, and what it names would
be offered at the prompt of a shell.
"""

from __future__ import annotations

import os
import sqlite3
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from quorum.domain.errors import ConfigError, LedgerError
from quorum.domain.sessions.session_ids import compute_id_length, find_owner
from quorum.infrastructure.config.paths import locate
from quorum.infrastructure.extras import is_installed
from quorum.infrastructure.store.ledger.place import locate_database
from quorum.infrastructure.store.postgres.address import SCHEME as _SERVER

_LARGEST_BYTES = 1_000_000


def read_own_settings(environ: Mapping[str, str], config_file: Path | None) -> Mapping[str, object]:
    """The file that `--config` or QUORUM_CONFIG names, else the person's own; empty where it cannot be read."""
    try:
        places = locate(cwd=Path("/"), environ=environ, config_file=config_file)
        file = places.named or places.user
        if file is None or not file.is_file() or file.stat().st_size > _LARGEST_BYTES:
            return {}
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (ConfigError, OSError, ValueError, RecursionError):
        return {}


def list_known_servers(settings: Mapping[str, object]) -> tuple[str, ...]:
    """The names of the MCP servers of the settings."""
    return tuple(get_table(get_table(settings, "mcp"), "servers"))


def get_table(settings: Mapping[str, object], name: str) -> Mapping[str, object]:
    """One table of the settings; empty where there is none of this name."""
    table = settings.get(name)
    return table if isinstance(table, dict) else {}


BUILT_IN_PROVIDERS = ("anthropic", "openai", "offline")
OFFLINE_MODEL = "offline/offline"


def list_known_models(settings: Mapping[str, object], used: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the settings, those that sessions used, and those with a published price, in this order."""
    published = tomllib.loads(
        resources.files("quorum.infrastructure.prices").joinpath("prices.toml").read_text(encoding="utf-8")
    )
    names = (*_list_configured(get_table(settings, "models").values()), *used, *published, OFFLINE_MODEL)
    return tuple(dict.fromkeys(name for name in names if "/" in name))


def list_known_providers(settings: Mapping[str, object]) -> tuple[str, ...]:
    """Those that come with quorum and those of the settings."""
    return tuple(dict.fromkeys((*BUILT_IN_PROVIDERS, *get_table(settings, "providers"))))


def _list_configured(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (each for each in value if isinstance(each, str))


_MOST = 500
_WAIT_SECS = 0.1
# Whoever pressed Tab waits: a server that is further away than this offers nothing.
_SERVER_WAIT_SECS = 1.0
_Row: TypeAlias = tuple[str, str, str, str]
_SELECT = "SELECT id, cwd, title, model FROM sessions ORDER BY updated_ms DESC, id DESC LIMIT ?"


@dataclass(frozen=True, slots=True)
class KnownSession:
    """A session as a completion shows it; `short_id` begins `id` and tells it from all others."""

    id: str
    short_id: str
    cwd: str
    title: str
    model: str


def list_known_sessions(settings: Mapping[str, object], environ: Mapping[str, str]) -> tuple[KnownSession, ...]:
    """The sessions used last that a person began, the latest first; none where the database cannot be read."""
    url = str(environ.get("QUORUM_STORAGE__URL") or get_table(settings, "storage").get("url", ""))
    try:
        rows = _read_server(url, environ) if url.startswith(f"{_SERVER}:") else _read_file(url, environ)
    except (ConfigError, LedgerError, sqlite3.Error, OSError, ValueError):
        return ()
    texts = [row for row in rows if find_owner(row[0]) is None]
    length = compute_id_length([row[0] for row in texts])
    return tuple(KnownSession(row[0], row[0][:length], *row[1:]) for row in texts)


def _read_file(url: str, environ: Mapping[str, str]) -> list[_Row]:
    location = f"file:{quote(os.fspath(locate_database(url, environ)))}?mode=ro"
    with closing(sqlite3.connect(location, uri=True, timeout=_WAIT_SECS)) as database:
        rows = database.execute(_SELECT, (_MOST,)).fetchall()
    return [(str(id_), str(cwd), str(title), str(model)) for id_, cwd, title, model in rows]


def _read_server(url: str, environ: Mapping[str, str]) -> list[_Row]:
    if not is_installed("psycopg"):
        return []
    from quorum.infrastructure.store.postgres.recent_sessions import read_recent_sessions

    return read_recent_sessions(url, environ, most=_MOST, wait_secs=_SERVER_WAIT_SECS)
