"""A session copied under an id of its own."""

from __future__ import annotations

from collections.abc import Sequence

from quorum.application.identifiers import generate_id
from quorum.domain.sessions.forking import fork_records
from quorum.domain.sessions.ledger_chain import ChainedRecord
from quorum.domain.sessions.session_facts import collect_facts
from quorum.infrastructure.store.sql.connection import SqlConnection
from quorum.infrastructure.store.sql.engine import SqlEngine
from quorum.infrastructure.store.sql.rows import build_row, insert_redactions, read_records, read_redactions
from quorum.infrastructure.store.sql.schema import ADD_RECORD, ADD_SESSION


def fork(
    engine: SqlEngine, connection: SqlConnection, session_id: str, *, before: int | None, now_ms: int
) -> str:
    """Copy the records of a session, those from `before` on left out; the id of the copy.

    Raises LedgerError where there is nothing to copy, or where a record does not fit.
    """
    new = generate_id()
    with engine.begin_transaction(connection):
        copied, entries = fork_records(
            read_records(connection, session_id),
            read_redactions(connection, session_id),
            session_id=session_id,
            new_id=new,
            before=before,
        )
        connection.execute(
            ADD_SESSION,
            build_session_row(new, copied, parent=session_id, updated_ms=max(now_ms, copied[-1].at_ms)),
        )
        connection.executemany(ADD_RECORD, [build_row(record, new) for record in copied])
        insert_redactions(connection, new, entries)
    return new


def build_session_row(
    session_id: str, chain: Sequence[ChainedRecord], *, parent: str | None, updated_ms: int
) -> dict[str, object]:
    """What the list tells of a session, gathered from all its records."""
    facts = collect_facts(chain)
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
