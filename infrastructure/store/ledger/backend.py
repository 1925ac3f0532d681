"""The storage backend for SQLite. Loads nothing of the database until it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.infrastructure.storage_backend import BlobPlace, SchemaState, StorageBackend
from quorum.infrastructure.store.ledger.place import SCHEME, list_database_files, locate_database

if TYPE_CHECKING:
    from quorum.application.ports.storage import Storage


def _open(url: str, environ: Mapping[str, str], blobs: BlobPlace) -> Storage:
    from quorum.infrastructure.store.ledger.opening import open_database

    return open_database(url, environ, open_blobs=blobs.open, objects=blobs.contents)


def _read_state(url: str, environ: Mapping[str, str]) -> SchemaState:
    from quorum.infrastructure.store.ledger.upgrading import read_schema_state

    return read_schema_state(locate_database(url, environ))


def _upgrade(url: str, environ: Mapping[str, str]) -> SchemaState:
    from quorum.infrastructure.store.ledger.upgrading import upgrade_schema

    return upgrade_schema(locate_database(url, environ))


def _list_files(url: str, environ: Mapping[str, str]) -> list[Path]:
    return list_database_files(locate_database(url, environ))


BACKEND = StorageBackend(
    scheme="sqlite",
    url_form="the URL of an SQLite file, sqlite:///PATH",
    accepts=lambda url: url.startswith(SCHEME),
    open=_open,
    list_files=_list_files,
    read_state=_read_state,
    upgrade=_upgrade,
)
