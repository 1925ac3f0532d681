"""The state in which a database file is found, judging by what is cheap to look at."""

from __future__ import annotations

import errno
import os
import stat
from enum import Enum, auto
from pathlib import Path

from quorum.domain.errors import DamagedLedger, LedgerError
from quorum.infrastructure.store.ledger.file_format import TABLE_NAMES, VERSION
from quorum.infrastructure.store.ledger.sqlite_file import SqliteConnection, SqliteFile
from quorum.infrastructure.store.ledger.trouble import locate_marker, translate_database_errors
from quorum.infrastructure.store.sql.schema import CONTENT, RECORD, SESSION

_HEADER_BYTES = 100
_LOOKED_AT = {"sessions": SESSION, "records": f"session_id, {RECORD}", "contents": CONTENT}


class Condition(Enum):
    """Whether there is a database that can be used."""

    MISSING = auto()
    WHOLE = auto()
    DAMAGED = auto()


def check_condition(file: SqliteFile) -> Condition:
    """Look at the file, its tables and the last rows; not at every page, which would take long.

    Raises LedgerError for a file of a newer version, for one of another program, and where it cannot be opened.
    """
    with translate_database_errors("cannot be opened", file.path):
        try:
            found = file.path.stat()
        except FileNotFoundError:
            # A log without its database tells that there was one.
            return Condition.DAMAGED if _measure_size(_locate_log(file.path)) else Condition.MISSING
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if locate_marker(file.path).exists() or found.st_size < _HEADER_BYTES:
            return Condition.DAMAGED
    try:
        with file.begin_reading() as connection:
            return _look(connection, file.path)
    except DamagedLedger:
        return Condition.DAMAGED


def _look(connection: SqliteConnection, path: Path) -> Condition:
    version = connection.read_pragma("user_version")
    tables = connection.list_tables()
    if not tables >= TABLE_NAMES:
        if tables and not tables & TABLE_NAMES:
            raise LedgerError(f"{path} is a database of another program; name another file with [storage] url")
        return Condition.DAMAGED
    if version > VERSION:
        raise LedgerError(
            f"the session ledger {path} was written by a newer quorum (format {version}, this one knows "
            f"{VERSION}); update quorum, or name another file with [storage] url"
        )
    if 0 < version < VERSION:
        raise LedgerError(
            f"the session ledger {path} was written by an earlier quorum (format {version}, this one needs "
            f"{VERSION}); run quorum db upgrade"
        )
    if version < VERSION:
        return Condition.DAMAGED
    if _is_short(connection, path):
        return Condition.DAMAGED
    for table, columns in _LOOKED_AT.items():
        connection.execute(f"SELECT {columns} FROM {table} ORDER BY rowid DESC LIMIT 1").fetchall()
    return Condition.WHOLE


def _is_short(connection: SqliteConnection, path: Path) -> bool:
    """Whether the file ends within its last page, and no log is there to complete it.

    Asked of the connection: whoever opens and closes the file takes away the locks of all connections that this
    process has to it, and another process could then take its log away.
    """
    needed = connection.read_pragma("page_size") * connection.read_pragma("page_count")
    return path.stat().st_size < needed and not _measure_size(_locate_log(path))


def _locate_log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _measure_size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
