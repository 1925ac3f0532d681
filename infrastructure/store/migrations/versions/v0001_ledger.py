"""The tables of sessions, records, contents and redactions; in PostgreSQL also leases and large outputs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables. A file of SQLite has them from its beginning."""
    if op.get_bind().dialect.name == "sqlite":
        return
    _create_ledger()
    _create_leases()
    _create_outputs()


def _create_ledger() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("cwd", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("started_ms", sa.BigInteger, nullable=False),
        sa.Column("updated_ms", sa.BigInteger, nullable=False),
        sa.Column("turns", sa.Integer, nullable=False),
        sa.Column("records", sa.Integer, nullable=False),
        sa.Column("cost", sa.Text),
        sa.Column("parent", sa.Text),
        sa.Column("head", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "records",
        sa.Column("rowid", sa.BigInteger, sa.Identity(always=True), primary_key=True),
        sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.Column("salt", sa.LargeBinary, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("link", sa.LargeBinary, nullable=False),
        sa.Column("redaction", sa.LargeBinary),
        sa.UniqueConstraint("session_id", "seq", name="records_of_session"),
    )
    op.create_table(
        "contents",
        sa.Column("sha256", sa.LargeBinary, primary_key=True),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("kept_ms", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "redactions",
        sa.Column("rowid", sa.BigInteger, sa.Identity(always=True), primary_key=True),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("record_seq", sa.Integer, nullable=False),
        sa.Column("record_link", sa.LargeBinary, nullable=False),
        sa.Column("before", sa.LargeBinary, nullable=False),
        sa.Column("after", sa.LargeBinary, nullable=False),
        sa.Column("link", sa.LargeBinary, nullable=False),
    )
    op.create_index("redactions_of_session", "redactions", ["session_id"])


def _create_leases() -> None:
    op.execute(sa.schema.CreateSequence(sa.Sequence("lease_epochs")))
    op.create_table(
        "leases",
        sa.Column("session_id", sa.Text, primary_key=True),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("owner", sa.BigInteger, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("opened_ms", sa.BigInteger, nullable=False),
        sa.Column("renewed_at", sa.DateTime(timezone=True), nullable=False),
    )


def _create_outputs() -> None:
    op.create_table(
        "outputs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("kept_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "output_pieces",
        sa.Column("output_id", sa.Text, sa.ForeignKey("outputs.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
