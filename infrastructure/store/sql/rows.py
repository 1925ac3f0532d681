"""Rows of the database as records and summaries, and records as rows. What a damaged row holds fits nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation

from msgspec.structs import asdict

from quorum.domain.sessions.ledger_chain import ChainedRecord
from quorum.domain.sessions.past_session import SessionSummary
from quorum.domain.sessions.redaction_log import RedactionEntry
from quorum.infrastructure.store.sql.connection import Row, SqlConnection, expand
from quorum.infrastructure.store.sql.schema import ADD_REDACTION, RECORD, REDACTION, REDACTIONS, SessionRow
from quorum.infrastructure.store.sql.session_locks import SessionHolder

_LIST_RECORDS = f"SELECT {RECORD} FROM records WHERE session_id = :session_id ORDER BY rowid"
_LIST_OF_TYPES = (
    f"SELECT {RECORD} FROM records WHERE session_id = :session_id AND type IN ({{}}) ORDER BY rowid"
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
