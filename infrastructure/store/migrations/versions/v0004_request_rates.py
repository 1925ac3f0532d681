"""The table of the request rates that all processes on one database share."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table. Processes that share a file of SQLite share no rates."""
    if op.get_bind().dialect.name == "sqlite":
        return
    op.create_table(
        "request_rates",
        sa.Column("provider", sa.Text, primary_key=True),
        sa.Column("tokens", sa.Double, nullable=False),
        sa.Column("filled_at", sa.DateTime(timezone=True), nullable=False),
    )
