"""A database made, or mended: what can be read of a damaged one goes into a new file, and the old is kept."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from quorum.infrastructure.store.ledger.file_format import make_tables
from quorum.infrastructure.store.ledger.sqlite_file import SqliteFile
from quorum.infrastructure.store.ledger.trouble import locate_marker, translate_database_errors

_BESIDE = ("-wal", "-shm")


def create_database(path: Path) -> None:
    """Make an empty database, private to the person, for the one who is alone there. Raises LedgerError."""
    with translate_database_errors("cannot be made", path):
        made = _create_empty(path.with_name(f"{path.name}-new"))
        made.path.rename(path)


def mend_database(path: Path) -> str:
    """Save what can be read, and put the damaged file aside; what came of it, in sentences.

    For the one who is alone with the file. The damaged file stays in its place until all is saved.
    Raises LedgerError, and then nothing has changed.
    """
    with translate_database_errors("is damaged, and cannot be mended", path):
        mended = _name_mended(path)
        if was_interrupted(path):
            saved = "What could be read of it was saved before"
        else:
            from quorum.infrastructure.store.ledger.salvage import salvage

            made = _create_empty(mended)
            saved = salvage(path, made).summarise() if _has_content(path) else "It was empty"
        aside = _choose_name_aside(path)
        # The log goes first: without it the rest would be read as something else.
        for end in ("-wal", "-shm", ""):
            _move(path.with_name(path.name + end), aside.with_name(aside.name + end))
        mended.rename(path)
        locate_marker(path).unlink(missing_ok=True)
    return f"The session ledger {path} was damaged. {saved}. The damaged file is kept as {aside}."


def was_interrupted(path: Path) -> bool:
    """Whether a mending was killed between taking the damaged file away and putting the new one there."""
    return not path.exists() and _name_mended(path).exists()


def _name_mended(path: Path) -> Path:
    return path.with_name(f"{path.name}-mended")


def _create_empty(path: Path) -> SqliteFile:
    for end in ("", *_BESIDE):
        path.with_name(path.name + end).unlink(missing_ok=True)
    # The files beside it take their permissions from this one.
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    file = SqliteFile(path)
    with closing(file.connect()) as connection:
        make_tables(connection)
    return file


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _choose_name_aside(path: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for number in range(1000):
        aside = path.with_name(f"{path.name}-damaged-{stamp}" + (f"-{number}" if number else ""))
        if not aside.exists():
            return aside
    return path.with_name(f"{path.name}-damaged-{stamp}-{os.getpid()}")


def _move(path: Path, to: Path) -> None:
    with suppress(FileNotFoundError):
        path.rename(to)
