"""The file of the database, as the settings name it. Loads nothing of the database itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from quorum.domain.errors import ConfigError, LedgerError
from quorum.infrastructure.config.paths import locate_state_folder

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
