"""The table of answers to reviews, and what finds the sessions in which a review waits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table and the index. A file of SQLite gets the table with the first answer."""
    if op.get_bind().dialect.name == "sqlite":
        return
    op.create_table(
        "review_answers",
        sa.Column("session_id", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("approves", sa.Boolean, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("answered_by", sa.Text, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
    )
    op.create_index(
        "reviews_of_session",
        "records",
        ["session_id", "rowid"],
        postgresql_where=sa.text("type IN ('review_requested', 'turn_finished')"),
    )
