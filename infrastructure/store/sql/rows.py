"""The tables that every SQL database of sessions has, and their rows as records and summaries.

What a damaged row holds fits nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from msgspec.structs import asdict

from quorum.domain.sessions.ledger_chain import ChainedRecord, RedactionEntry
from quorum.domain.sessions.session_summary import SessionSummary
from quorum.infrastructure.store.sql.connection import Row, SqlConnection, expand
from quorum.infrastructure.store.sql.session_locks import SessionHolder


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
# Signatures of people under approvals. A file of an earlier version gets the table with the first of them.
APPROVAL_SIGNATURES = "approval_signatures"
_SIGNATURE = ("session_id", "digest", "person", "at_ms", "signature")
SIGNATURE = ", ".join(_SIGNATURE)
"""The columns of a signature under an approval."""
# Which decisions somebody has opened, for whoever would be told of them next. A database of an earlier version
# gets the table with the first of them, and that version goes on beside it.
SEEN_DECISIONS = "seen_decisions"
_CONTENT = ("sha256", "size", "kept_ms", "data")
CONTENT = ", ".join(_CONTENT)
"""The columns of what a file held."""

ADD_SESSION = build_insert("sessions", SessionRow._fields)
# Another process may have brought the same from elsewhere: then it stays as it is.
ADD_NEW_SESSION = f"{ADD_SESSION} ON CONFLICT (id) DO NOTHING"
ADD_RECORD = build_insert("records", ("session_id", *_RECORD))
ADD_REDACTION = build_insert(REDACTIONS, ("session_id", *_REDACTION))
# Another process may be first: then nothing is added.
ADD_ANSWER = f"{build_insert(REVIEW_ANSWERS, _ANSWER)} ON CONFLICT (session_id, digest) DO NOTHING"
# Who signs again does it because the former one does not count any more, as after a change of keys.
ADD_SIGNATURE = (
    f"{build_insert(APPROVAL_SIGNATURES, _SIGNATURE)} ON CONFLICT (session_id, digest, person) "
    "DO UPDATE SET at_ms = excluded.at_ms, signature = excluded.signature"
)
ADD_SEEN = (
    f"{build_insert(SEEN_DECISIONS, ('session_id', 'digest', 'at_ms'))} ON CONFLICT (session_id, digest) "
    "DO UPDATE SET at_ms = excluded.at_ms"
)
ADD_CONTENT = build_insert("contents", _CONTENT)
FIND_SESSION = f"SELECT {SESSION} FROM sessions WHERE id = :id"
LIST_SESSIONS = f"SELECT {SESSION} FROM sessions ORDER BY updated_ms DESC, id DESC"


_LIST_RECORDS = f"SELECT {RECORD} FROM records WHERE session_id = :session_id ORDER BY rowid"
_LIST_OF_TYPES = (
    f"SELECT {RECORD} FROM records WHERE session_id = :session_id AND type IN ({{}}) ORDER BY rowid"
)
LIST_OF_TYPE = (
    f"SELECT session_id, {RECORD} FROM records WHERE type = :type AND at_ms >= :since_ms ORDER BY rowid"
)
_LIST_REDACTIONS = f"SELECT {REDACTION} FROM {REDACTIONS} WHERE session_id = :session_id ORDER BY rowid"


def read_records(
    connection: SqlConnection, session_id: str, types: Sequence[str] = ()
) -> Iterator[ChainedRecord]:
    """The records of a session in the order they were written; only those of `types`, where any are named."""
    places, values = expand("type", types)
    statement = _LIST_OF_TYPES.format(places) if types else _LIST_RECORDS
    for row in connection.execute(statement, {**values, "session_id": session_id}):
        yield read_chained_record(row)


def read_chained_record(row: Row) -> ChainedRecord:
    """What stands in the columns of RECORD."""
    seq, at_ms, event_type, payload, salt, digest, link, redaction = row
    return ChainedRecord(
        seq=_read_integer(seq),
        at_ms=_read_integer(at_ms),
        type=_read_text(event_type),
        payload=_read_bytes(payload),
        salt=_read_bytes(salt),
        digest=_read_bytes(digest),
        link=_read_bytes(link),
        redaction=None if redaction is None else _read_bytes(redaction),
    )


def read_redactions(connection: SqlConnection, session_id: str) -> tuple[RedactionEntry, ...]:
    """The redactions of a session in the order they were made."""
    if not connection.has_table(REDACTIONS):
        return ()
    found = connection.execute(_LIST_REDACTIONS, {"session_id": session_id})
    return tuple(build_redaction_entry(row) for row in found)


def build_redaction_entry(row: Row) -> RedactionEntry:
    """What stands in the columns of REDACTION."""
    seq, at_ms, record_seq, *digests = row
    record_link, before, after, link = map(_read_bytes, digests)
    return RedactionEntry(
        seq=_read_integer(seq),
        at_ms=_read_integer(at_ms),
        record_seq=_read_integer(record_seq),
        record_link=record_link,
        before=before,
        after=after,
        link=link,
    )


def insert_redactions(connection: SqlConnection, session_id: str, entries: Sequence[RedactionEntry]) -> None:
    """Add entries of a session, and the table for them where there is none yet."""
    if entries:
        connection.add_table(REDACTIONS)
        connection.executemany(
            ADD_REDACTION, [{"session_id": session_id, **asdict(entry)} for entry in entries]
        )


def build_row(record: ChainedRecord, session_id: str) -> dict[str, object]:
    """A record as the values of a row."""
    return {
        "session_id": session_id,
        "seq": record.seq,
        "at_ms": record.at_ms,
        "type": record.type,
        "payload": record.payload,
        "salt": record.salt,
        "digest": record.digest,
        "link": record.link,
        "redaction": record.redaction,
    }


def build_summary(row: SessionRow, holder: SessionHolder | None) -> SessionSummary:
    """A row of the sessions as what a list shows."""
    return SessionSummary(
        id=_read_text(row.id),
        title=_read_text(row.title),
        cwd=_read_text(row.cwd),
        model=_read_text(row.model),
        started_ms=_read_integer(row.started_ms),
        updated_ms=_read_integer(row.updated_ms),
        turns=_read_integer(row.turns),
        records=_read_integer(row.records),
        cost_usd=parse_cost(row.cost),
        parent=_read_text(row.parent) or None,
        open_in=None if holder is None else holder.pid,
        host="" if holder is None else holder.host,
    )


def parse_cost(value: object) -> Decimal | None:
    """A cost as it is kept: text, or nothing."""
    try:
        return Decimal(value) if isinstance(value, str) else None
    except InvalidOperation:
        return None


def _read_integer(value: object) -> int:
    return value if isinstance(value, int) else -1


def _read_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _read_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""
