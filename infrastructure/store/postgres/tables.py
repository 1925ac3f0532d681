"""The tables that only the ledger in PostgreSQL has, and the version of its schema."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Double,
    Identity,
    Integer,
    MetaData,
    Table,
    Text,
    inspect,
    text,
)
from sqlalchemy.engine import Connection

from infrastructure.store.sql.schema import Blob

REVISION = "0004"
"""The revision of Alembic that this program reads and writes."""
VERSION_TABLE = "alembic_version"

_metadata = MetaData()

# Who writes a session. `epoch` is the fencing token: it grows whenever the right changes hands.
leases = Table(
    "leases",
    _metadata,
    Column("session_id", Text, primary_key=True),
    Column("epoch", BigInteger, nullable=False),
    Column("owner", BigInteger, nullable=False),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("opened_ms", BigInteger, nullable=False),
    Column("renewed_at", DateTime(timezone=True), nullable=False),
)

# Large outputs, whole or not there: the entry is written with the last piece.
outputs = Table(
    "outputs",
    _metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("kept_ms", BigInteger, nullable=False),
)
output_pieces = Table(
    "output_pieces",
    _metadata,
    Column("output_id", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("data", Blob, nullable=False),
)

# Sessions that workers advance. Whether one is queued or runs is what the queue says; `state` is what came of
# it last, None before the first time. `prompt` is None once a turn has begun with it: the record has it then.
fleet_sessions = Table(
    "fleet_sessions",
    _metadata,
    Column("session_id", Text, primary_key=True),
    Column("number", BigInteger, Identity(always=True), nullable=False),
    Column("name", Text, nullable=False),
    Column("cwd", Text, nullable=False),
    Column("key", Text, unique=True),
    Column("prompt", Text),
    Column("submitted_by", Text, nullable=False),
    Column("submitted_ms", BigInteger, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    Column("state", Text),
    Column("status", Text, nullable=False),
    Column("error", Text, nullable=False),
)

# A bucket of tokens for each provider with a rate; below zero, as many requests wait for their turn.
request_rates = Table(
    "request_rates",
    _metadata,
    Column("provider", Text, primary_key=True),
    Column("tokens", Double, nullable=False),
    Column("filled_at", DateTime(timezone=True), nullable=False),
)


def read_revision(connection: Connection) -> str | None:
    """The revision of the schema; None where there is no table of ours."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar_one_or_none()
    return str(found) if found is not None else None
