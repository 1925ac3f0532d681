"""A text taken out of the records of a session, and out of the file that holds them."""

from __future__ import annotations

import json
import re
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.engine import Connection

from domain.errors import LedgerError, UnreadableEvent
from domain.events.reading import event_from_json
from domain.sessions.ledger_chain import FIXED, payload_of, redacted
from infrastructure.store.ledger.rows import RECORD_COLUMNS, chained
from infrastructure.store.ledger.schema import records, rowid, sessions
from infrastructure.store.ledger.session_facts import storable
from infrastructure.store.ledger.sqlite_file import transaction

MARK = "[redacted]"
_SHORTEST = 4
_KEPT = frozenset({"type", "v", *FIXED})
_NAMED = ("cwd", "title", "model")
# Objects whose names are those of models, tools and providers.
_FREE = frozenset({"arguments", "input", "payload", "changed", "edited", "target", "environment"})
# They lead to stored contents, and hold parts of a short text by chance.
_HASHES = frozenset({"sha256", "manifest", "blob_id", "digest"})
_HASH = re.compile(r"[0-9a-f]{64}")


def redact(connection: Connection, session_id: str, text: str) -> int:
    """Put MARK in the place of `text` in every record of a session; how many records held it.

    The old text is gone from the file too, its free pages and its log: that takes a copy of the whole file.
    Raises LedgerError where there is no such session, or something else has the file open while it is copied.
    """
    if len(text) < _SHORTEST:
        raise LedgerError(f"only texts of {_SHORTEST} characters and more can be redacted")
    with transaction(connection):
        row = connection.execute(select(sessions).where(sessions.c.id == session_id)).one_or_none()
        if row is None:
            raise LedgerError(f"there is no session {session_id[:70]!a}, so nothing was redacted")
        found = _redact_records(connection, session_id, text)
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


def _redact_records(connection: Connection, session_id: str, text: str) -> int:
    query = select(rowid, *RECORD_COLUMNS).where(records.c.session_id == session_id).order_by(rowid)
    found = 0
    for row in connection.execute(query).all():
        record = chained(row[1:])
        payload = _without(record.payload, text)
        if payload == record.payload:
            continue
        found += 1
        changed = redacted(record, payload)
        values = {"payload": changed.payload, "salt": changed.salt, "redaction": changed.redaction}
        connection.execute(update(records).where(rowid == row[0]).values(**values))
    return found


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
        _hide_what_can_be(hidden, hidden, text, is_free=False)
    if known and "styles" in hidden:
        hidden["styles"] = []  # they count the characters of the text as it was
    return payload_of(hidden)


def _hidden(value: Any, text: str, name: object = None, *, is_free: bool) -> Any:
    """The value of this name without the text. `is_free`: its names are not ours, and may hold the text too."""
    is_free = is_free or name in _FREE
    match value:
        case str():
            return value if name in _HASHES and _HASH.fullmatch(value) else value.replace(text, MARK)
        case list():
            return [_hidden(each, text, is_free=is_free) for each in value]
        case dict():
            return {
                key.replace(text, MARK) if is_free else key: _hidden(each, text, key, is_free=is_free)
                for key, each in value.items()
            }
        case _:
            return value


def _hide_what_can_be(whole: dict[str, Any], part: Any, text: str, *, is_free: bool) -> None:
    """Hide the text wherever in a part of the event it is no word of ours, without which the event would say
    nothing: an outcome, a kind of block."""
    for name, was in list(part.items() if isinstance(part, dict) else enumerate(part)):
        if part is whole and name in _KEPT:
            continue
        part[name] = _hidden(was, text, name, is_free=is_free)
        if part[name] != was and not _is_understood(whole):
            part[name] = was
            if isinstance(was, dict | list):
                _hide_what_can_be(whole, was, text, is_free=is_free or name in _FREE)


def _is_understood(value: dict[str, Any]) -> bool:
    try:
        event_from_json(value)
    except (UnreadableEvent, RecursionError):
        return False
    return True
