"""The storage backend for SQLite. Loads nothing of the database until it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from infrastructure.storage_backend import OpenBlobs, StorageBackend
from infrastructure.store.ledger.place import SCHEME, list_database_files, locate_database

if TYPE_CHECKING:
    from application.ports.storage import Storage


def _open(url: str, environ: Mapping[str, str], open_blobs: OpenBlobs) -> Storage:
    from infrastructure.store.ledger.opening import open_database  # it loads SQLAlchemy

    return open_database(url, environ, open_blobs=open_blobs)


def _list_files(url: str, environ: Mapping[str, str]) -> list[Path]:
    return list_database_files(locate_database(url, environ))


BACKEND = StorageBackend(
    scheme="sqlite",
    url_form="the URL of an SQLite file, sqlite:///PATH",
    accepts=lambda url: url.startswith(SCHEME),
    open=_open,
    list_files=_list_files,
)
