"""One database file: its state, its connections and transactions, and what SQLite does in its own way.

Errors are sentences that name the file and the remedy. The state is judged by what is cheap to look at.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from enum import Enum, auto
from pathlib import Path
from typing import Final, TypeVar

from quorum.domain.errors import DamagedLedger, LedgerError
from quorum.infrastructure.files.opened_path import hold
from quorum.infrastructure.store.sql.connection import SqlConnection
from quorum.infrastructure.store.sql.rows import CONTENT, RECORD, SESSION

_Result = TypeVar("_Result")
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_ELSEWHERE = "or name another file with [storage] url"
_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; make room and continue",
    sqlite3.SQLITE_READONLY: f"it or its folder is read-only; make both writable, {_ELSEWHERE}",
    sqlite3.SQLITE_PERM: f"access is denied; make it readable and writable for you, {_ELSEWHERE}",
    sqlite3.SQLITE_BUSY: "another process keeps it locked; end that process, or try again when it is done",
    sqlite3.SQLITE_CANTOPEN: f"it cannot be opened; make it and its folder writable for you, {_ELSEWHERE}",
    sqlite3.SQLITE_IOERR: f"the disk refused it; look whether it is full or failing, {_ELSEWHERE}",
    sqlite3.SQLITE_TOOBIG: "what was to be kept is larger than 1 GB",
}
_GONE = "it was removed or replaced while it was used, and is not written any more; start quorum again"
_FOLDER_REASONS = {
    errno.ENOENT: _GONE,
    errno.ESTALE: _GONE,
    errno.ENOSPC: "the disk is full; make room and try again",
    errno.EDQUOT: "the disk quota is used up; make room and try again",
    errno.EROFS: f"the disk is read-only; make it writable, {_ELSEWHERE}",
    errno.EACCES: f"access is denied; make its folder writable for you, {_ELSEWHERE}",
    errno.EPERM: f"access is denied; make its folder writable for you, {_ELSEWHERE}",
    errno.ENOTDIR: f"a file is in the place of its folder; move that away, {_ELSEWHERE}",
    errno.EISDIR: f"a folder is in its place; move that away, {_ELSEWHERE}",
    errno.EEXIST: f"a file is in the place of its folder; move that away, {_ELSEWHERE}",
    errno.ENOLCK: f"nothing can be locked on this disk; {_ELSEWHERE.removeprefix('or ')}",
    errno.EOPNOTSUPP: f"nothing can be locked on this disk; {_ELSEWHERE.removeprefix('or ')}",
}


@contextmanager
def translate_database_errors(what: str, path: Path) -> Iterator[None]:
    """Turn what database or disk refuse into a LedgerError; `what` failed, such as "cannot be read"."""
    try:
        yield
    except sqlite3.Error as error:
        raise _build_database_error(what, path, error) from error
    except OSError as error:
        reason = (
            _FOLDER_REASONS.get(error.errno or 0) or f"{error.strerror or error}; see to that, {_ELSEWHERE}"
        )
        raise LedgerError(f"the session ledger {path} {what}: {reason}") from error


def locate_marker(path: Path) -> Path:
    """The file that tells the next opening that damage was found, wherever in the database it was."""
    return path.with_name(f"{path.name}-damaged")


def _build_database_error(what: str, path: Path, error: sqlite3.Error) -> LedgerError:
    # The lowest byte is the kind of error; what is above tells variants apart.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGE:
        with suppress(OSError):
            locate_marker(path).touch(mode=0o600)
        return DamagedLedger(
            f"the session ledger {path} {what}: the file is damaged ({error}); "
            "end every quorum and start it again, and what can be read is saved"
        )
    return LedgerError(f"the session ledger {path} {what}: {_REASONS.get(code) or error}")


# The version that this program reads and writes, kept in the file as its user_version.
VERSION = 1
# Tells our files from other people's databases: "quor", kept as the application_id.
APPLICATION = 0x71756F72
# The order of the rows is the order of writing. There is no key on `seq`: a changed one must stay readable.
_FIRST_TABLES: Final = {
    "sessions": (
        """CREATE TABLE sessions (
    id TEXT NOT NULL,
    cwd TEXT NOT NULL,
    title TEXT NOT NULL,
    model TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    records INTEGER NOT NULL,
    cost TEXT,
    parent TEXT,
    head BLOB NOT NULL,
    PRIMARY KEY (id)
)""",
    ),
    "records": (
        """CREATE TABLE records (
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    type TEXT NOT NULL,
    payload BLOB NOT NULL,
    salt BLOB NOT NULL,
    digest BLOB NOT NULL,
    link BLOB NOT NULL,
    redaction BLOB,
    FOREIGN KEY (session_id) REFERENCES sessions (id)
)""",
        "CREATE INDEX records_of_session ON records (session_id)",
    ),
    "contents": (
        """CREATE TABLE contents (
    sha256 BLOB NOT NULL,
    size INTEGER NOT NULL,
    kept_ms INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (sha256)
)""",
    ),
}
LATER_TABLES: Final = {
    "redactions": (
        """CREATE TABLE IF NOT EXISTS redactions (
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    record_seq INTEGER NOT NULL,
    record_link BLOB NOT NULL,
    before BLOB NOT NULL,
    after BLOB NOT NULL,
    link BLOB NOT NULL
)""",
        "CREATE INDEX IF NOT EXISTS redactions_of_session ON redactions (session_id)",
    ),
    "review_answers": (
        """CREATE TABLE IF NOT EXISTS review_answers (
    session_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    approves BOOLEAN NOT NULL,
    reason TEXT,
    answered_by TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (session_id, digest)
)""",
    ),
    "approval_signatures": (
        """CREATE TABLE IF NOT EXISTS approval_signatures (
    session_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    person TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    signature TEXT NOT NULL,
    PRIMARY KEY (session_id, digest, person)
)""",
    ),
    "seen_decisions": (
        """CREATE TABLE IF NOT EXISTS seen_decisions (
    session_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (session_id, digest)
)""",
    ),
}
"""Makes the tables that a file of an earlier program may lack: it gets each with the first row."""
TABLE_NAMES = frozenset(_FIRST_TABLES)
"""The tables that every file has."""


def name_revision(version: int) -> str:
    """The revision of Alembic that a version of the file is."""
    return f"{version:04}"


def make_tables(connection: sqlite3.Connection) -> None:
    """Make an empty file a database of ours, in the mode in which readers do not wait for writers."""
    connection.execute("PRAGMA journal_mode = WAL")
    for statements in (*_FIRST_TABLES.values(), *LATER_TABLES.values()):
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


BUSY_SECS = 5.0
_PRAGMAS = (
    "foreign_keys = ON",
    "synchronous = NORMAL",
    "cell_size_check = ON",  # damage is found where it is, not where it leads to
    "secure_delete = ON",  # what is taken out is not left in free space
)
_PAGES_OF_BULK = 16_000  # 64 MB of log: each time that it goes into the file, the disk is waited for
# A file that ends too early is read up to there, and a page for what it holds; nothing is looked at before.
_LENIENT = ("writable_schema = ON",)


class SqliteConnection(sqlite3.Connection):
    """Implements `SqlConnection`. To end it takes `close`: as a context manager, it would only commit.

    `identity` is that of the file that it was opened for.
    """

    identity = (0, 0)

    def has_table(self, name: str) -> bool:
        """Whether there is this table, which earlier versions made no file with."""
        return name in self.list_tables()

    def add_table(self, name: str) -> None:
        for statement in LATER_TABLES[name]:
            self.execute(statement)

    def list_tables(self) -> set[str]:
        return {name for (name,) in self.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def read_pragma(self, name: str) -> int:
        """The value of a pragma that is a number."""
        (value,) = self.execute(f"PRAGMA {name}").fetchone()
        return int(value)


class SqliteFile:
    """Opens connections to one file. A transaction that meets another process's waits for `busy_secs`.

    `lenient`: what is damaged is read as far as it can be.
    """

    def __init__(self, path: Path, busy_secs: float = BUSY_SECS, *, lenient: bool = False) -> None:
        self.path = path
        self.place = str(path)
        self._busy_secs = busy_secs
        self._pragmas = _LENIENT if lenient else _PRAGMAS
        hold(path)

    def connect(self) -> SqliteConnection:
        """A connection, for the thread that asks. Raises OSError where no file is: SQLite would make one."""
        _identify(self.path)
        # Transactions are begun and ended here in so many words: the driver's own begin too late.
        connection = sqlite3.connect(
            self.path, timeout=self._busy_secs, isolation_level=None, factory=SqliteConnection
        )
        connection.identity = _identify(self.path)
        _prepare(connection, self._pragmas)
        return connection

    def is_alive(self, _connection: SqlConnection) -> bool:
        """Always: nothing lies between us and the file."""
        return True

    @contextmanager
    def begin_reading(self) -> Iterator[SqliteConnection]:
        with (
            translate_database_errors("cannot be read", self.path),
            closing(self.connect()) as connection,
            begin_transaction(connection, "BEGIN"),
        ):
            yield connection

    def read(self, work: Callable[[SqlConnection], _Result]) -> _Result:
        with self.begin_reading() as connection:
            return work(connection)

    def outlast(self, work: Callable[[], _Result]) -> _Result:
        """Do it, once: a file is there or not."""
        return work()

    def begin_transaction(self, connection: SqlConnection) -> AbstractContextManager[None]:
        """All of what is written inside, or nothing of it; nobody else writes meanwhile.

        Raises OSError where the file is not in its place any more: SQLite would write where nobody reads.
        """
        assert isinstance(connection, SqliteConnection)
        if _identify(self.path) != connection.identity:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return begin_transaction(connection)

    @contextmanager
    def set_synchronous(self, connection: SqlConnection, *, full: bool) -> Iterator[None]:
        if full:
            connection.execute("PRAGMA synchronous = FULL")
        yield
        if full:
            connection.execute("PRAGMA synchronous = NORMAL")

    def expect_bulk(self, connection: SqlConnection) -> None:
        connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_OF_BULK}")

    def translate_errors(self, what: str) -> AbstractContextManager[None]:
        """Turn what database or disk refuse into a LedgerError; `what` failed, such as "cannot be read"."""
        return translate_database_errors(what, self.path)

    def is_broken(self, error: BaseException) -> bool:
        return isinstance(error, sqlite3.Error)

    def lock_contents(self, _connection: SqlConnection, *, alone: bool) -> None:
        """Nothing: in a transaction nobody else writes."""

    def erase_removed(self, connection: SqlConnection) -> bool:
        """Take what was removed out of the free pages of the file and out of its log; False while others read.

        That takes a copy of the whole file.
        """
        connection.execute("VACUUM")
        is_busy, *_pages = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (1,)
        return not is_busy

    def give_back(self, connection: SqlConnection) -> None:
        """Make the file smaller; without room for the copy, or while others read, it stays as it is."""
        with suppress(sqlite3.OperationalError):
            self.erase_removed(connection)


@contextmanager
def begin_transaction(connection: SqlConnection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """All of what is done inside, or nothing of it."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _identify(path: Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _prepare(connection: sqlite3.Connection, pragmas: Sequence[str]) -> None:
    connection.text_factory = _decode_text
    try:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()  # nobody else has it yet
        raise


def _decode_text(data: bytes) -> str:
    """Text as it stands there, also where a damaged file holds what is not UTF-8."""
    return data.decode("utf-8", "surrogateescape")


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
