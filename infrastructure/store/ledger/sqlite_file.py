"""One database file: connections to it, transactions on them, and what SQLite does in its own way."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, event, insert
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.pool import NullPool

from infrastructure.files.held_files import hold
from infrastructure.store.ledger.trouble import translate_database_errors
from infrastructure.store.sql.schema import contents
from infrastructure.store.sql.statements import compile_statements

BUSY_SECS = 5.0
_PRAGMAS = (
    "foreign_keys = ON",
    "synchronous = NORMAL",
    "cell_size_check = ON",  # damage is found where it is, not where it leads to
    "secure_delete = ON",  # what is taken out is not left in free space
)
# A file that ends too early is read up to there, and a page for what it holds; nothing is looked at before.
_LENIENT = ("writable_schema = ON",)
_STATEMENTS = compile_statements(dialect(paramstyle="named"))
_ADD_CONTENTS = insert(contents)


class SqliteFile:
    """Opens connections to one file. A transaction that meets another process's waits for `busy_secs`.

    `lenient`: what is damaged is read as far as it can be.
    """

    def __init__(self, path: Path, busy_secs: float = BUSY_SECS, *, lenient: bool = False) -> None:
        self.path = path
        self.place = str(path)
        self.statements = _STATEMENTS
        self.add_contents = _ADD_CONTENTS
        hold(path)
        url = URL.create("sqlite+pysqlite", database=str(path))
        # Transactions are begun and ended here in so many words: the driver's own begin too late.
        self._engine = create_engine(
            url, poolclass=NullPool, connect_args={"timeout": busy_secs}, isolation_level="AUTOCOMMIT"
        )
        pragmas = _LENIENT if lenient else _PRAGMAS
        event.listen(self._engine, "connect", lambda connection, _record: _prepare(connection, pragmas))

    def connect(self) -> Connection:
        """A new connection, for the thread that asks."""
        return self._engine.connect()

    def is_alive(self, _connection: Connection) -> bool:
        """Always: nothing lies between us and the file."""
        return True

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one state of the database. Raises LedgerError."""
        with (
            translate_database_errors("cannot be read", self.path),
            self.connect() as connection,
            transaction(connection, "BEGIN"),
        ):
            yield connection

    def transaction(self, connection: Connection) -> AbstractContextManager[None]:
        """All of what is written inside, or nothing of it; nobody else writes meanwhile."""
        return transaction(connection)

    @contextmanager
    def synchronous(self, connection: Connection, *, full: bool) -> Iterator[None]:
        """With `full`, what is committed inside, and all before it, outlives a loss of power."""
        if full:
            connection.exec_driver_sql("PRAGMA synchronous = FULL")
        yield
        if full:
            connection.exec_driver_sql("PRAGMA synchronous = NORMAL")

    def translate_errors(self, what: str) -> AbstractContextManager[None]:
        """Turn what database or disk refuse into a LedgerError; `what` failed, such as "cannot be read"."""
        return translate_database_errors(what, self.path)

    def is_broken(self, error: BaseException) -> bool:
        """Whether the connection on which this was raised is not to be used again."""
        return isinstance(error, DBAPIError | sqlite3.Error)

    def lock_contents(self, _connection: Connection, *, alone: bool) -> None:
        """Nothing: in a transaction nobody else writes."""

    def erase_removed(self, connection: Connection) -> bool:
        """Take what was removed out of the free pages of the file and out of its log; False while others read.

        That takes a copy of the whole file.
        """
        connection.exec_driver_sql("VACUUM")
        return not connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]

    def give_back(self, connection: Connection) -> None:
        """Make the file smaller; without room for the copy, or while others read, it stays as it is."""
        with suppress(OperationalError):
            self.erase_removed(connection)


@contextmanager
def transaction(connection: Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """All of what is done inside, or nothing of it."""
    driver = connection.connection.cursor()
    driver.execute(begin)
    try:
        yield
        driver.execute("COMMIT")
    except BaseException:
        # The database may have ended it already; then this does nothing.
        connection.connection.rollback()
        raise
    finally:
        driver.close()


def _prepare(connection: Any, pragmas: Sequence[str]) -> None:
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
