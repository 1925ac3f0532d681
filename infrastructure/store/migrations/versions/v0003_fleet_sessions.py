"""The table of sessions that were submitted to a fleet. The library of the queue makes its own tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table. A file of SQLite has no fleet."""
    if op.get_bind().dialect.name == "sqlite":
        return
    op.create_table(
        "fleet_sessions",
        sa.Column("session_id", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("cwd", sa.Text, nullable=False),
        sa.Column("key", sa.Text, unique=True),
        sa.Column("prompt", sa.Text),
        sa.Column("submitted_by", sa.Text, nullable=False),
        sa.Column("submitted_ms", sa.BigInteger, nullable=False),
        sa.Column("updated_ms", sa.BigInteger, nullable=False),
        sa.Column("state", sa.Text),
        sa.Column("status", sa.Text, nullable=False, server_default=""),
        sa.Column("error", sa.Text, nullable=False, server_default=""),
    )
