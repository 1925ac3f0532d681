"""One database file: connections to it, transactions on them, and what SQLite does in its own way."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path

from quorum.infrastructure.files.held_files import hold
from quorum.infrastructure.store.ledger.file_format import LATER_TABLES
from quorum.infrastructure.store.ledger.trouble import translate_database_errors
from quorum.infrastructure.store.sql.connection import SqlConnection

BUSY_SECS = 5.0
_PRAGMAS = (
    "foreign_keys = ON",
    "synchronous = NORMAL",
    "cell_size_check = ON",  # damage is found where it is, not where it leads to
    "secure_delete = ON",  # what is taken out is not left in free space
)
# A file that ends too early is read up to there, and a page for what it holds; nothing is looked at before.
_LENIENT = ("writable_schema = ON",)


class SqliteConnection(sqlite3.Connection):
    """Implements `SqlConnection`. To end it takes `close`: as a context manager, it would only commit."""

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
        """A new connection, for the thread that asks."""
        # Transactions are begun and ended here in so many words: the driver's own begin too late.
        connection = sqlite3.connect(
            self.path, timeout=self._busy_secs, isolation_level=None, factory=SqliteConnection
        )
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

    def begin_transaction(self, connection: SqlConnection) -> AbstractContextManager[None]:
        """All of what is written inside, or nothing of it; nobody else writes meanwhile."""
        return begin_transaction(connection)

    @contextmanager
    def set_synchronous(self, connection: SqlConnection, *, full: bool) -> Iterator[None]:
        if full:
            connection.execute("PRAGMA synchronous = FULL")
        yield
        if full:
            connection.execute("PRAGMA synchronous = NORMAL")

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
