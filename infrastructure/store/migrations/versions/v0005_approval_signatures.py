"""The table of signatures under approvals that people have to sign."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table. A file of SQLite gets it with the first signature."""
    if op.get_bind().dialect.name == "sqlite":
        return
    op.create_table(
        "approval_signatures",
        sa.Column("session_id", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("person", sa.Text, primary_key=True),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("signature", sa.Text, nullable=False),
    )
