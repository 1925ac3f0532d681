"""A session copied under an id of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import takewhile

from sqlalchemy import insert, select
from sqlalchemy.engine import Connection

from application.identifiers import new_id
from domain.errors import LedgerError
from domain.sessions.chain_hash import NO_LINK
from domain.sessions.ledger_chain import ChainedRecord, find_format, flaw, relinked, verify
from domain.sessions.redaction_log import fitting, relink
from infrastructure.store.ledger.rows import insert_redactions, records_of, redactions_of, row_of
from infrastructure.store.ledger.schema import records, sessions
from infrastructure.store.ledger.session_facts import StoredSessionFacts
from infrastructure.store.ledger.sqlite_file import transaction


def fork(connection: Connection, session_id: str, *, before: int | None, now_ms: int) -> str:
    """Copy the records of a session, those from `before` on left out; the id of the copy.

    Times and payloads stay as they are. Raises LedgerError where there is nothing to copy, or a record among
    them does not fit: linked anew, it would look as if it did.
    """
    with transaction(connection):
        chain = takewhile(
            lambda record: before is None or record.seq < before, records_of(connection, session_id)
        )
        copied = list(chain)
        if not copied:
            there = connection.execute(select(sessions.c.id).where(sessions.c.id == session_id)).one_or_none()
            what = "no records" if there is None else f"no records before {before}"
            raise LedgerError(f"session {session_id[:70]!a} has {what}, so there is nothing to fork")
        new = new_id()
        linked = _linked(copied, session_id, new)
        links = {record.link: copy.link for record, copy in zip(copied, linked, strict=True)}
        entries = relink(new, fitting(session_id, redactions_of(connection, session_id)), links)
        checked = verify(new, linked, entries)
        if checked.broken_at is not None:
            raise _unfit(session_id, checked.broken_at, checked.reason)
        connection.execute(
            insert(sessions),
            session_row(new, linked, parent=session_id, updated_ms=max(now_ms, linked[-1].at_ms)),
        )
        connection.execute(insert(records), [row_of(record, new) for record in linked])
        insert_redactions(connection, new, entries)
    return new


def session_row(
    session_id: str, chain: list[ChainedRecord], *, parent: str | None, updated_ms: int
) -> dict[str, object]:
    """What the list tells of a session, gathered from all its records."""
    facts = StoredSessionFacts()
    for record in chain:
        value = json.loads(record.payload)
        facts = facts.after(value) if isinstance(value, Mapping) else facts
    return {
        "id": session_id,
        "cwd": facts.cwd,
        "title": facts.title,
        "model": facts.model,
        "started_ms": chain[0].at_ms,
        "updated_ms": updated_ms,
        "turns": facts.turns,
        "records": len(chain),
        "cost": None if facts.cost is None else str(facts.cost),
        "parent": parent,
        "head": chain[-1].link,
    }


def _linked(chain: list[ChainedRecord], old: str, new: str) -> list[ChainedRecord]:
    linked: list[ChainedRecord] = []
    was, is_now = NO_LINK, NO_LINK
    for seq, record in enumerate(chain):
        wrong = flaw(record, old, was, seq)
        if wrong:
            raise _unfit(old, seq, wrong)
        # In its own format: what the link of an old record does not cover may have changed since.
        link_format = find_format(record, old, was)
        assert link_format is not None
        was = record.link
        linked.append(relinked(record, new, is_now, link_format))
        is_now = linked[-1].link
    return linked


def _unfit(session_id: str, seq: int, reason: str) -> LedgerError:
    return LedgerError(
        f"session {session_id} cannot be forked: {reason}; records before {seq} can be forked alone"
    )
