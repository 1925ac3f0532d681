"""A text taken out of the records of a session, and out of the file that holds them."""

from __future__ import annotations

import json
import re
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.engine import Connection

from domain.errors import LedgerError, UnreadableEvent
from domain.events.reading import event_from_json
from domain.sessions.chain_hash import NO_LINK
from domain.sessions.ledger_chain import FIXED, FREE, payload_of, redacted, redaction_of
from domain.sessions.redaction_log import RedactionEntry
from infrastructure.store.ledger.rows import RECORD_COLUMNS, chained, insert_redactions, redactions_of
from infrastructure.store.ledger.schema import records, rowid, sessions
from infrastructure.store.ledger.session_facts import storable
from infrastructure.store.ledger.sqlite_file import transaction

MARK = "[redacted]"
_SHORTEST = 4
_KEPT = frozenset({"type", "v", *FIXED})
_NAMED = ("cwd", "title", "model")
# They lead to stored contents, and hold parts of a short text by chance.
_HASHES = frozenset({"sha256", "manifest", "blob_id", "digest"})
_HASH = re.compile(r"[0-9a-f]{64}")


def redact(connection: Connection, session_id: str, text: str, *, now_ms: int) -> int:
    """Put MARK in the place of `text` in every record of a session; how many records held it.

    Each of these gets an entry in the chain of redactions. The old text is gone from the file too, its free
    pages and its log: that takes a copy of the whole file.
    Raises LedgerError where there is no such session, or something else has the file open while it is copied.
    """
    if len(text) < _SHORTEST:
        raise LedgerError(f"only texts of {_SHORTEST} characters and more can be redacted")
    with transaction(connection):
        row = connection.execute(select(sessions).where(sessions.c.id == session_id)).one_or_none()
        if row is None:
            raise LedgerError(f"there is no session {session_id[:70]!a}, so nothing was redacted")
        found = _redact_records(connection, session_id, text, now_ms)
        hidden = {name: getattr(row, name).replace(storable(text), MARK) for name in _NAMED}
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
    earlier = redactions_of(connection, session_id)
    previous = earlier[-1].link if earlier else NO_LINK
    entries: list[RedactionEntry] = []
    for row in connection.execute(query).all():
        record = chained(row[1:])
        payload = _without(record.payload, text)
        if payload == record.payload:
            continue
        changed = redacted(record, payload)
        entry = redaction_of(record, changed, seq=len(earlier) + len(entries), at_ms=now_ms)
        entries.append(entry.linked(session_id, previous))
        previous = entries[-1].link
        values = {"payload": changed.payload, "salt": changed.salt, "redaction": changed.redaction}
        connection.execute(update(records).where(rowid == row[0]).values(**values))
    insert_redactions(connection, session_id, entries)
    return len(entries)


def _without(payload: bytes, text: str) -> bytes:
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return payload.replace(text.encode("utf-8", "backslashreplace"), MARK.encode("ascii"))
    if not isinstance(value, dict):
        return payload
    known = _is_understood(value)
    # What makes it an event of its type stays, and so does what the chain holds as it is.
    hidden = {
        key: each if key in _KEPT else _hidden(each, text, key, is_free=not known)
        for key, each in value.items()
    }
    if hidden == value:
        return payload
    if known and not _is_understood(hidden):
        hidden = value
        _hide_what_can_be(hidden, hidden, text, is_inner=False)
    if known and "styles" in hidden:
        hidden["styles"] = []  # they count the characters of the text as it was
    return payload_of(hidden)


def _hidden(value: Any, text: str, name: object = None, *, is_free: bool, is_inner: bool = False) -> Any:
    """The value of this name without the text.

    `is_free`: its names are not ours, and may hold the text too. `is_inner`: it is part of an object whose
    names never are, in which the chain holds nothing as it is.
    """
    is_inner = is_inner or name in FREE
    is_free = is_free or is_inner
    match value:
        case str():
            if name in FIXED and not is_inner:
                return value
            return value if name in _HASHES and _HASH.fullmatch(value) else value.replace(text, MARK)
        case list():
            return [_hidden(each, text, is_free=is_free, is_inner=is_inner) for each in value]
        case dict():
            return {
                key.replace(text, MARK) if is_inner or (is_free and key not in FIXED | FREE) else key: _hidden(
                    each, text, key, is_free=is_free, is_inner=is_inner
                )
                for key, each in value.items()
            }
        case _:
            return value


def _hide_what_can_be(whole: dict[str, Any], part: Any, text: str, *, is_inner: bool) -> None:
    """Hide the text wherever in a part of the event it is no word of ours, without which the event would say
    nothing: an outcome, a kind of block."""
    for name, was in list(part.items() if isinstance(part, dict) else enumerate(part)):
        if part is whole and name in _KEPT:
            continue
        part[name] = _hidden(was, text, name, is_free=False, is_inner=is_inner)
        if part[name] != was and not _is_understood(whole):
            part[name] = was
            if isinstance(was, dict | list):
                _hide_what_can_be(whole, was, text, is_inner=is_inner or name in FREE)


def _is_understood(value: dict[str, Any]) -> bool:
    try:
        event_from_json(value)
    except (UnreadableEvent, RecursionError):
        return False
    return True
