"""A connection to PostgreSQL from the pool of SQLAlchemy, as statements that are text use it."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from types import TracebackType
from typing import Any

import psycopg
from sqlalchemy import CursorResult, text
from sqlalchemy.dialects import registry
from sqlalchemy.engine import Connection

from quorum.infrastructure.store.sql.connection import NO_VALUES, Values

_DIALECT = registry.load("postgresql.psycopg")(paramstyle="pyformat")


# Beside the tables of the revision: a quorum that does not know these goes on with the others.
_LATER_TABLES = {
    "seen_decisions": """CREATE TABLE IF NOT EXISTS seen_decisions (
    session_id text NOT NULL,
    digest text NOT NULL,
    at_ms bigint NOT NULL,
    PRIMARY KEY (session_id, digest)
)""",
}
_MAKING = 0x71756F74  # two that make a table at once wait for each other


class PostgresConnection:
    """Implements `SqlConnection`. Left as a context manager, it goes back to the pool."""

    def __init__(self, pooled: Connection) -> None:
        self.pooled = pooled
        # Of a connection that broke, SQLAlchemy gives this out no more.
        self._driven = pooled.connection.dbapi_connection

    def execute(self, statement: str, values: Values = NO_VALUES, /) -> CursorResult[*tuple[Any, ...]]:
        return self.pooled.exec_driver_sql(_spell(statement), values)

    def executemany(self, statement: str, values: list[Values], /) -> CursorResult[*tuple[Any, ...]]:
        return self.pooled.exec_driver_sql(_spell(statement), values)

    def has_table(self, name: str) -> bool:
        """Of tables of the revision, yes: that was looked at when the database was opened."""
        if name not in _LATER_TABLES:
            return True
        return self.execute("SELECT to_regclass(:name)", {"name": name}).scalar_one() is not None

    def add_table(self, name: str) -> None:
        """Nothing for tables of the revision, as there is each of them."""
        if name in _LATER_TABLES and not self.has_table(name):
            self.execute(f"SELECT pg_advisory_xact_lock({_MAKING})")
            self.execute(_LATER_TABLES[name])

    def rollback(self) -> None:
        """Undo what was done in the transaction. The server may have ended it, and the connection too."""
        with suppress(psycopg.Error):
            if self._driven is not None:
                self._driven.rollback()

    def close(self) -> None:
        """Give it back to the pool."""
        self.pooled.close()

    def __enter__(self) -> PostgresConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@lru_cache(maxsize=256)
def _spell(statement: str) -> str:
    """A statement as the driver takes it: to spell it out anew takes as long as to write an event."""
    return str(text(statement).compile(dialect=_DIALECT))


REVISION = "0005"
"""The revision of Alembic that this program reads and writes.

One that only adds to another, such as a table, is numbered below it, as 0005.01: a program that knows the
former goes on with it, so that workers need not end for an upgrade.
"""


def can_use(revision: str) -> bool:
    """Whether this program can read and write tables of this revision."""
    return revision >= REVISION and revision.partition(".")[0] == REVISION.partition(".")[0]


def read_revision(connection: PostgresConnection) -> str | None:
    """The revision of the schema; None where there is no table of ours."""
    if connection.execute("SELECT to_regclass('alembic_version')").scalar_one() is None:
        return None
    found = connection.execute("SELECT version_num FROM alembic_version").scalar_one_or_none()
    return str(found) if found is not None else None
