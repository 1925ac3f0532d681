"""The recorded sessions, read straight from the database.

Loading what works with the database takes longer than a completion may.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import quote

from domain.errors import ConfigError, LedgerError
from domain.subagents.session_ids import find_owner
from infrastructure.completion.known_settings import get_table
from infrastructure.store.ledger.place import locate_database

_MOST = 500
_WAIT_SECS = 0.1
_SHORTEST_ID = 8
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
    url = environ.get("QUORUM_STORAGE__URL") or get_table(settings, "storage").get("url", "")
    try:
        path = locate_database(str(url), environ)
        location = f"file:{quote(os.fspath(path))}?mode=ro"
        with closing(sqlite3.connect(location, uri=True, timeout=_WAIT_SECS)) as database:
            rows = database.execute(_SELECT, (_MOST,)).fetchall()
    except (ConfigError, LedgerError, sqlite3.Error, OSError, ValueError):
        return ()
    texts = [tuple(map(str, row)) for row in rows if find_owner(str(row[0])) is None]
    length = _distinct_length([row[0] for row in texts])
    return tuple(KnownSession(row[0], row[0][:length], *row[1:]) for row in texts)


def _distinct_length(ids: list[str]) -> int:
    """How many letters tell each id from every other."""
    shared = (_count_shared(one, other) for one, other in pairwise(sorted(set(ids))))
    return max(_SHORTEST_ID, 1 + max(shared, default=0))


def _count_shared(one: str, other: str) -> int:
    """How many letters two ids begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))
