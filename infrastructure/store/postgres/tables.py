"""The version of the tables in PostgreSQL, which `migrations` makes."""

from __future__ import annotations

from quorum.infrastructure.store.postgres.connection import PostgresConnection

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
