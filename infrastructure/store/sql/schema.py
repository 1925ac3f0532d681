"""The tables that every SQL database of sessions has, as statements name them.

`rowid` gives the order of writing: every table of SQLite has this column, and other databases declare it.
How tables are made is in `ledger/file_format.py` for SQLite, and in `migrations` for PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class SessionRow(NamedTuple):
    """A row of `sessions`, with all that a list shows, so that listing reads no record."""

    id: Any
    cwd: Any
    title: Any
    model: Any
    started_ms: Any
    updated_ms: Any
    turns: Any
    records: Any
    cost: Any
    parent: Any
    head: Any


def build_insert(table: str, columns: Sequence[str]) -> str:
    """The statement that adds a row, given the value of each column under its name."""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(f':{each}' for each in columns)})"


SESSION = ", ".join(SessionRow._fields)
"""The columns of a SessionRow."""
_RECORD = ("seq", "at_ms", "type", "payload", "salt", "digest", "link", "redaction")
RECORD = ", ".join(_RECORD)
"""The columns that make a record of a session."""
# Made with the first redaction, as earlier versions made files without it. They can use those that have it, and
# delete sessions without looking here: so there is no foreign key.
REDACTIONS = "redactions"
_REDACTION = ("seq", "at_ms", "record_seq", "record_link", "before", "after", "link")
REDACTION = ", ".join(_REDACTION)
"""The columns that make a redaction of a session."""
# Answers from other processes. A file of an earlier version gets the table with the first of them.
REVIEW_ANSWERS = "review_answers"
_ANSWER = ("session_id", "digest", "approves", "reason", "answered_by", "at_ms")
ANSWER = ", ".join(_ANSWER)
"""The columns of an answer to a review."""
_CONTENT = ("sha256", "size", "kept_ms", "data")
CONTENT = ", ".join(_CONTENT)
"""The columns of what a file held."""

ADD_SESSION = build_insert("sessions", SessionRow._fields)
ADD_RECORD = build_insert("records", ("session_id", *_RECORD))
ADD_REDACTION = build_insert(REDACTIONS, ("session_id", *_REDACTION))
# Another process may be first: then nothing is added.
ADD_ANSWER = f"{build_insert(REVIEW_ANSWERS, _ANSWER)} ON CONFLICT (session_id, digest) DO NOTHING"
# Another process may have put the same there meanwhile: then it is needed now, too.
ADD_CONTENT = (
    f"{build_insert('contents', _CONTENT)} ON CONFLICT (sha256) DO UPDATE SET kept_ms = excluded.kept_ms"
)
FIND_SESSION = f"SELECT {SESSION} FROM sessions WHERE id = :id"
LIST_SESSIONS = f"SELECT {SESSION} FROM sessions ORDER BY updated_ms DESC, id DESC"
