"""The storage backend for SQLite. Loads nothing of the database until it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.domain.errors import ConfigError, LedgerError
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.storage_backend import BlobPlace, SchemaState, StorageBackend

if TYPE_CHECKING:
    from quorum.application.ports.storage import Storage


SCHEME = "sqlite:///"
_FILE_NAME = "ledger.sqlite"
_BESIDE = ("-wal", "-shm", "-lock", "-locks")


def locate_database(url: str, environ: Mapping[str, str]) -> Path:
    """The file that `[storage] url` names; empty: the one in the state folder.

    Raises ConfigError for a url that names none, and LedgerError where there is no state folder.
    """
    if not url:
        folder = locate_state_folder(environ)
        if folder is None:
            raise LedgerError("there is no home folder to keep sessions in; set HOME, or [storage] url")
        return folder / _FILE_NAME
    path = Path(url.removeprefix(SCHEME)).expanduser()
    if not url.startswith(SCHEME) or "?" in url or not path.is_absolute() or not path.name:
        raise ConfigError(
            "storage.url names no file of SQLite; expected one such as sqlite:////home/me/ledger.sqlite, or "
            "nothing for the one in the state folder"
        )
    return path


def list_database_files(path: Path) -> list[Path]:
    """The database and what lies beside it while it is in use."""
    return [path, *(path.with_name(path.name + end) for end in _BESIDE)]


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
