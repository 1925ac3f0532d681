"""The version of the tables in PostgreSQL, and bringing them to the one that is needed."""

from __future__ import annotations

from collections.abc import Mapping

from quorum.infrastructure.storage_backend import SchemaState
from quorum.infrastructure.store.migrations.running import run_upgrade
from quorum.infrastructure.store.postgres.address import PostgresAddress
from quorum.infrastructure.store.postgres.connection import REVISION, can_use, read_revision
from quorum.infrastructure.store.postgres.server import PostgresServer
from quorum.infrastructure.store.sql.rows import SEEN_DECISIONS

_ALONE = 0x71756F72  # "quor": two that upgrade at once wait for each other


def read_schema_state(address: PostgresAddress, environ: Mapping[str, str]) -> SchemaState:
    """Which tables there are. Blocks. Raises LedgerError."""
    server = PostgresServer(address, environ)
    try:
        with server.translate_errors("cannot be read"), server.connect() as connection:
            found = read_revision(connection)
    finally:
        server.close()
    return _describe(server, found)


def upgrade_schema(address: PostgresAddress, environ: Mapping[str, str]) -> SchemaState:
    """Make the tables, or bring them to the newest revision, all or nothing; how they were before. Blocks.

    Raises LedgerError, also for a server or an encoding that cannot be used, and for tables of a newer quorum.
    """
    server = PostgresServer(address, environ)
    try:
        with (
            server.translate_errors("cannot be upgraded"),
            server.connect() as connection,
            connection.pooled.execution_options(isolation_level="READ COMMITTED").begin(),
        ):
            server.check_server(connection)
            connection.execute(f"SELECT pg_advisory_xact_lock({_ALONE})")
            found = read_revision(connection) or ""
            if found >= REVISION:
                server.check_revision(found)
            else:
                run_upgrade(connection.pooled)
            connection.add_table(SEEN_DECISIONS)
    finally:
        server.close()
    return _describe(server, found)


def _describe(server: PostgresServer, found: str | None) -> SchemaState:
    needed = found if found and can_use(found) else REVISION
    return SchemaState(place=server.place, found=found or "", needed=needed)
