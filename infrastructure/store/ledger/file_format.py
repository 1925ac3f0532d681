"""What makes a file of SQLite a database of ours, and how a new one is made."""

from __future__ import annotations

import sqlite3
from typing import Final

# The version that this program reads and writes, kept in the file as its user_version.
VERSION = 1
# Tells our files from other people's databases: "quor", kept as the application_id.
APPLICATION = 0x71756F72
# The order of the rows is the order of writing. There is no key on `seq`: a changed one must stay readable.
_FIRST_TABLES: Final = {
    "sessions": (
        """CREATE TABLE sessions (
    id TEXT NOT NULL,
    cwd TEXT NOT NULL,
    title TEXT NOT NULL,
    model TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    records INTEGER NOT NULL,
    cost TEXT,
    parent TEXT,
    head BLOB NOT NULL,
    PRIMARY KEY (id)
)""",
    ),
    "records": (
        """CREATE TABLE records (
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    type TEXT NOT NULL,
    payload BLOB NOT NULL,
    salt BLOB NOT NULL,
    digest BLOB NOT NULL,
    link BLOB NOT NULL,
    redaction BLOB,
    FOREIGN KEY (session_id) REFERENCES sessions (id)
)""",
        "CREATE INDEX records_of_session ON records (session_id)",
    ),
    "contents": (
        """CREATE TABLE contents (
    sha256 BLOB NOT NULL,
    size INTEGER NOT NULL,
    kept_ms INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (sha256)
)""",
    ),
}
LATER_TABLES: Final = {
    "redactions": (
        """CREATE TABLE IF NOT EXISTS redactions (
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    record_seq INTEGER NOT NULL,
    record_link BLOB NOT NULL,
    before BLOB NOT NULL,
    after BLOB NOT NULL,
    link BLOB NOT NULL
)""",
        "CREATE INDEX IF NOT EXISTS redactions_of_session ON redactions (session_id)",
    ),
    "review_answers": (
        """CREATE TABLE IF NOT EXISTS review_answers (
    session_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    approves BOOLEAN NOT NULL,
    reason TEXT,
    answered_by TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (session_id, digest)
)""",
    ),
}
"""Makes the tables that a file of an earlier program may lack: it gets each with the first row."""
TABLE_NAMES = frozenset(_FIRST_TABLES)
"""The tables that every file has."""


def name_revision(version: int) -> str:
    """The revision of Alembic that a version of the file is."""
    return f"{version:04}"


def make_tables(connection: sqlite3.Connection) -> None:
    """Make an empty file a database of ours, in the mode in which readers do not wait for writers."""
    connection.execute("PRAGMA journal_mode = WAL")
    for statements in (*_FIRST_TABLES.values(), *LATER_TABLES.values()):
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
