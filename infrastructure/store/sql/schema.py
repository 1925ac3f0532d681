"""The tables that every SQL database of sessions has."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    inspect,
    literal_column,
)
from sqlalchemy.engine import Connection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.types import UserDefinedType


class Blob(UserDefinedType[bytes]):
    """Bytes, handed on as the database gives them: in a damaged file they may be anything."""

    cache_ok = True

    def get_col_spec(self, **_options: object) -> str:
        """The type in SQL."""
        return "BLOB"


@compiles(Blob, "postgresql")
def _name_bytes(_type: Blob, _compiler: object, **_options: object) -> str:
    return "BYTEA"


# Times in milliseconds and sizes need 64 bits, which an INTEGER of SQLite has.
_Wide = BigInteger().with_variant(Integer(), "sqlite")
_metadata = MetaData()

# One row a session, with all that a list shows, so that listing reads no record.
sessions = Table(
    "sessions",
    _metadata,
    Column("id", Text, primary_key=True),
    Column("cwd", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("started_ms", _Wide, nullable=False),
    Column("updated_ms", _Wide, nullable=False),
    Column("turns", Integer, nullable=False),
    Column("records", Integer, nullable=False),
    Column("cost", Text),
    Column("parent", Text),
    Column("head", Blob, nullable=False),
)

# The order of the rows is the order of writing. There is no key on `seq`: a changed one must stay readable.
records = Table(
    "records",
    _metadata,
    Column("session_id", Text, ForeignKey("sessions.id"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("at_ms", _Wide, nullable=False),
    Column("type", Text, nullable=False),
    Column("payload", Blob, nullable=False),
    Column("salt", Blob, nullable=False),
    Column("digest", Blob, nullable=False),
    Column("link", Blob, nullable=False),
    Column("redaction", Blob),
)
Index("records_of_session", records.c.session_id)

contents = Table(
    "contents",
    _metadata,
    Column("sha256", Blob, primary_key=True),
    Column("size", _Wide, nullable=False),
    Column("kept_ms", _Wide, nullable=False),
    Column("data", Blob, nullable=False),
)

TABLE_NAMES = frozenset(_metadata.tables)
"""The tables that every version has."""

# Made with the first redaction, as earlier versions made databases without it. They can use those that have it,
# and delete sessions without looking here: so there is no foreign key.
redactions = Table(
    "redactions",
    _metadata,
    Column("session_id", Text, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("at_ms", _Wide, nullable=False),
    Column("record_seq", Integer, nullable=False),
    Column("record_link", Blob, nullable=False),
    Column("before", Blob, nullable=False),
    Column("after", Blob, nullable=False),
    Column("link", Blob, nullable=False),
)
Index("redactions_of_session", redactions.c.session_id)
# Answers from other processes. A file of an earlier version gets the table with the first of them.
review_answers = Table(
    "review_answers",
    _metadata,
    Column("session_id", Text, primary_key=True),
    Column("digest", Text, primary_key=True),
    Column("approves", Boolean, nullable=False),
    Column("reason", Text),
    Column("answered_by", Text, nullable=False),
    Column("at_ms", _Wide, nullable=False),
)

# The order of writing: every table of SQLite has this column, and other databases declare it.
rowid = literal_column("rowid", _Wide)


def create_tables(connection: Connection) -> None:
    """Make the tables in a database that has none."""
    _metadata.create_all(connection)


def has_redactions(connection: Connection) -> bool:
    """Whether there is a table of redactions."""
    return inspect(connection).has_table(redactions.name)


def has_review_answers(connection: Connection) -> bool:
    """Whether there is a table of answers to reviews."""
    return inspect(connection).has_table(review_answers.name)
