"""The tables of a new file of SQLite are those that Alembic makes, from an earlier file and in PostgreSQL."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from quorum.infrastructure.store.ledger.opening import Database
from quorum.infrastructure.store.ledger.sqlite_file import LATER_TABLES, TABLE_NAMES, VERSION, name_revision
from quorum.infrastructure.store.migrations.running import upgrade_file
from quorum.infrastructure.store.postgres.address import parse_address

# What a file of the first version holds, as that was made: it stays so, whatever comes.
FIRST = """
CREATE TABLE sessions (
    id TEXT NOT NULL, cwd TEXT NOT NULL, title TEXT NOT NULL, model TEXT NOT NULL, started_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL, turns INTEGER NOT NULL, records INTEGER NOT NULL, cost TEXT, parent TEXT,
    head BLOB NOT NULL, PRIMARY KEY (id)
);
CREATE TABLE records (
    session_id TEXT NOT NULL, seq INTEGER NOT NULL, at_ms INTEGER NOT NULL, type TEXT NOT NULL,
    payload BLOB NOT NULL, salt BLOB NOT NULL, digest BLOB NOT NULL, link BLOB NOT NULL, redaction BLOB,
    FOREIGN KEY(session_id) REFERENCES sessions (id)
);
CREATE INDEX records_of_session ON records (session_id);
CREATE TABLE contents (
    sha256 BLOB NOT NULL, size INTEGER NOT NULL, kept_ms INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (sha256)
);
CREATE TABLE redactions (
    session_id TEXT NOT NULL, seq INTEGER NOT NULL, at_ms INTEGER NOT NULL, record_seq INTEGER NOT NULL,
    record_link BLOB NOT NULL, "before" BLOB NOT NULL, "after" BLOB NOT NULL, link BLOB NOT NULL
);
CREATE INDEX redactions_of_session ON redactions (session_id);
CREATE TABLE review_answers (
    session_id TEXT NOT NULL, digest TEXT NOT NULL, approves BOOLEAN NOT NULL, reason TEXT,
    answered_by TEXT NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (session_id, digest)
);
CREATE TABLE approval_signatures (
    session_id TEXT NOT NULL, digest TEXT NOT NULL, person TEXT NOT NULL, at_ms INTEGER NOT NULL,
    signature TEXT NOT NULL, PRIMARY KEY (session_id, digest, person)
);
PRAGMA user_version = 1;
"""
TYPES = {"TEXT": {"text"}, "INTEGER": {"integer", "bigint"}, "BLOB": {"bytea"}, "BOOLEAN": {"boolean"}}
COLUMNS = """
SELECT column_name, data_type, is_nullable FROM information_schema.columns
WHERE table_name = %s AND column_name <> 'rowid' ORDER BY ordinal_position
"""
KEY = """
SELECT attname FROM pg_index, pg_attribute WHERE indrelid = to_regclass(%s) AND indisprimary
AND attrelid = indrelid AND attnum = ANY(indkey) AND attname <> 'rowid' ORDER BY attnum
"""


def describe(path: Path) -> dict[str, object]:
    """The columns, keys and indexes of each table of a file, whatever the spelling of what made them."""
    with closing(sqlite3.connect(path)) as connection:
        found: dict[str, object] = {}
        for table in sorted({*TABLE_NAMES, *LATER_TABLES}):
            indexes = [row[1:] for row in connection.execute(f"PRAGMA index_list({table})")]
            found[table] = (
                connection.execute(f"PRAGMA table_info({table})").fetchall(),
                connection.execute(f"PRAGMA foreign_key_list({table})").fetchall(),
                {each: connection.execute(f"PRAGMA index_info({each[0]})").fetchall() for each in indexes},
            )
        return found


@pytest.fixture
def new(tmp_path: Path) -> Path:
    database = Database(tmp_path / "new.sqlite")
    database.close()
    return database.path


def test_a_file_of_the_first_version_becomes_what_a_new_one_is(new, tmp_path):
    earlier = tmp_path / "earlier.sqlite"
    with closing(sqlite3.connect(earlier)) as connection:
        connection.executescript(FIRST)

    upgrade_file(earlier, begun_at=name_revision(1), version=VERSION)
    with closing(sqlite3.connect(earlier)) as connection:
        for statement in (each for table in LATER_TABLES.values() for each in table):  # as with the first row
            connection.execute(statement)

    assert describe(earlier) == describe(new)
    with closing(sqlite3.connect(earlier)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)


def test_the_tables_in_postgresql_have_the_columns_and_the_keys_of_those_in_a_file(new, postgres):
    with (
        closing(sqlite3.connect(new)) as file,
        closing(postgres.connect(parse_address(postgres.new_database()).database)) as server,
    ):
        for table in (*TABLE_NAMES, *LATER_TABLES):
            expected = file.execute(f"PRAGMA table_info({table})").fetchall()
            columns = server.execute(COLUMNS, (table,)).fetchall()
            assert [name for name, _, _ in columns] == [name for _, name, *_ in expected]
            for (_, name, kind, required, *_), (_, data_type, is_nullable) in zip(
                expected, columns, strict=True
            ):
                assert data_type in TYPES[kind], (table, name)
                assert (is_nullable == "NO") == bool(required), (table, name)
            key = server.execute(KEY, (table,)).fetchall()
            assert [name for (name,) in key] == [name for _, name, *_, place in expected if place], table
