"""The version of the tables in PostgreSQL, which `migrations` makes."""

from __future__ import annotations

from quorum.infrastructure.store.postgres.connection import PostgresConnection

REVISION = "0005"
"""The revision of Alembic that this program reads and writes."""


def read_revision(connection: PostgresConnection) -> str | None:
    """The revision of the schema; None where there is no table of ours."""
    if connection.execute("SELECT to_regclass('alembic_version')").scalar_one() is None:
        return None
    found = connection.execute("SELECT version_num FROM alembic_version").scalar_one_or_none()
    return str(found) if found is not None else None
