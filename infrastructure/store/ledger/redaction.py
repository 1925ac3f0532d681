"""A text taken out of the records of a session, and out of the file that holds them."""

from __future__ import annotations

from sqlalchemy import select, update
from sqlalchemy.engine import Connection

from domain.errors import LedgerError
from domain.sessions.redaction import check_redactable, redact_name, redact_records
from infrastructure.store.ledger.rows import RECORD_COLUMNS, chained, insert_redactions, redactions_of
from infrastructure.store.ledger.schema import records, rowid, sessions
from infrastructure.store.ledger.sqlite_file import transaction

_NAMED = ("cwd", "title", "model")


def redact(connection: Connection, session_id: str, text: str, *, now_ms: int) -> int:
    """Put a mark in the place of `text` in every record of a session; how many records held it.

    Each of these gets an entry in the chain of redactions. The old text is gone from the file too, its free
    pages and its log: that takes a copy of the whole file.
    Raises LedgerError where there is no such session, or something else has the file open while it is copied.
    """
    check_redactable(text)
    with transaction(connection):
        row = connection.execute(select(sessions).where(sessions.c.id == session_id)).one_or_none()
        if row is None:
            raise LedgerError(f"there is no session {session_id[:70]!a}, so nothing was redacted")
        found = _redact_records(connection, session_id, text, now_ms)
        hidden = {name: redact_name(getattr(row, name), text) for name in _NAMED}
        connection.execute(update(sessions).where(sessions.c.id == session_id).values(**hidden))
    connection.exec_driver_sql("VACUUM")
    busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]
    if busy:
        raise LedgerError(
            f"{found} records were redacted, but the old text is still in the log beside the file, because "
            "another quorum reads it; redact again when that one has ended"
        )
    return found


def _redact_records(connection: Connection, session_id: str, text: str, now_ms: int) -> int:
    query = select(rowid, *RECORD_COLUMNS).where(records.c.session_id == session_id).order_by(rowid)
    rows = connection.execute(query).all()
    chain = [chained(row[1:]) for row in rows]
    earlier = redactions_of(connection, session_id)
    changes, entries = redact_records(session_id, chain, earlier, text, at_ms=now_ms)
    for index, changed in changes:
        values = {"payload": changed.payload, "salt": changed.salt, "redaction": changed.redaction}
        connection.execute(update(records).where(rowid == rows[index][0]).values(**values))
    insert_redactions(connection, session_id, entries)
    return len(entries)
