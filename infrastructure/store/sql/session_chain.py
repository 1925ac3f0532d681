"""Where the chain of one session stands, for the process that writes it."""

from __future__ import annotations

from collections.abc import Iterable

from quorum.domain.errors import LedgerError
from quorum.domain.sessions.ledger_chain import NO_LINK, ChainedRecord, chain_record
from quorum.domain.sessions.session_facts import StoredSessionFacts
from quorum.domain.sessions.session_summary import SessionSummary
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.store.sql.connection import SqlConnection, Values
from quorum.infrastructure.store.sql.rows import ADD_RECORD, ADD_SESSION, build_row
from quorum.infrastructure.store.sql.session_locks import WriteLock

_FIND_HEAD = "SELECT records, head FROM sessions WHERE id = :session"
# What changes with each record, if the session has still so many, of which the last has that link.
COUNT_RECORDS = (
    "UPDATE sessions SET updated_ms = :updated_ms, turns = :turns, records = :records, cost = :cost,"
    " head = :head WHERE id = :session AND records = :stored AND head = :before"
)


class SessionChain:
    """Gives each event its place and link, in the order they come, and writes them to the database.

    The place is given before anything is written, and for good: what cannot be written yet comes later, the
    same. Belongs to the thread that writes.
    """

    def __init__(
        self,
        session_id: str,
        facts: StoredSessionFacts,
        lock: WriteLock,
        *,
        parent: str | None = None,
        records: int = 0,
        head: bytes = NO_LINK,
        link: bytes = NO_LINK,
        at_ms: int = 0,
    ) -> None:
        self.session_id = session_id
        self._parent = parent
        self._facts = self._stored_facts = facts
        self._lock = lock
        self._seq = self._stored = records
        self._stored_head = head
        self._link = link
        self._started_ms: int | None = None
        self._at_ms = at_ms
        # Why nothing can be added any more; empty for as long as something can.
        self.lost = ""

    @classmethod
    def after(
        cls, summary: SessionSummary, head: bytes, last: ChainedRecord | None, lock: WriteLock
    ) -> SessionChain:
        """Continues a session. Where its last records are missing, their places stay empty, to be seen."""
        facts = StoredSessionFacts(
            cwd=summary.cwd,
            title=summary.title,
            model=summary.model,
            turns=summary.turns,
            cost=summary.cost_usd,
        )
        is_there = last is not None and last.seq == summary.records - 1
        return cls(
            summary.id,
            facts,
            lock,
            records=summary.records,
            head=head,
            link=last.link if last is not None and is_there else head,
            at_ms=last.at_ms if last is not None else 0,
        )

    def link(self, at_ms: int, event_type: str, payload: bytes, event: JsonObject) -> ChainedRecord:
        """The next record. Its time is never before that of the one before, whatever the clock says.

        Whatever it raises, as where memory is short, no place is given.
        """
        record = chain_record(
            self.session_id,
            self._link,
            seq=self._seq,
            at_ms=max(at_ms, self._at_ms),
            event_type=event_type,
            payload=payload,
        )
        facts = self._facts.after(event)
        self._seq, self._link, self._at_ms, self._facts = record.seq + 1, record.link, record.at_ms, facts
        if self._started_ms is None:
            self._started_ms = record.at_ms
        return record

    def write(self, connection: SqlConnection, linked: Iterable[ChainedRecord]) -> None:
        """Write what was linked and is not stored, all of it, and what a list shows, if this process may still
        write the session and nobody else did. Raises LedgerError.

        A commit that was reported as failed may have been done: what is there already is not written again.
        """
        rows = self._build_rows(linked)
        if not rows:
            return
        self.lost = self._lock.find_loss(connection)
        if self.lost:
            raise LedgerError(self.lost)
        self._write_session(connection)
        connection.executemany(ADD_RECORD, rows)

    def write_at_once(self, connection: SqlConnection, linked: Iterable[ChainedRecord]) -> bool:
        """The same outside of a transaction; False where that cannot be, and nothing was written."""
        rows = self._build_rows(linked)
        if not rows or self._stored == 0 or self._list_changes():
            return False
        return self._lock.write_at_once(connection, self._build_count(), rows)

    def mark_stored(self) -> None:
        """What `write` wrote was committed."""
        self._stored, self._stored_head, self._stored_facts = self._seq, self._link, self._facts

    def catch_up(self, connection: SqlConnection, linked: Iterable[ChainedRecord]) -> None:
        """Look how far a commit came that was reported as failed."""
        row = connection.execute(_FIND_HEAD, {"session": self.session_id}).fetchone()
        stored, head = row or (0, b"")
        if stored <= self._stored:
            return
        for record in linked:
            if record.seq == stored - 1 and record.link == head:
                self._stored, self._stored_head = stored, head

    def _build_rows(self, linked: Iterable[ChainedRecord]) -> list[Values]:
        return [build_row(record, self.session_id) for record in linked if record.seq >= self._stored]

    def _list_changes(self) -> Values:
        """What another may have redacted meanwhile is written only where it changed here."""
        return {
            name: getattr(self._facts, name)
            for name in ("cwd", "title", "model")
            if self._stored == 0 or getattr(self._facts, name) != getattr(self._stored_facts, name)
        }

    def _build_count(self) -> Values:
        """The values of COUNT_RECORDS."""
        facts = self._facts
        return {
            "session": self.session_id,
            "stored": self._stored,
            "before": self._stored_head,
            "updated_ms": self._at_ms,
            "turns": facts.turns,
            "records": self._seq,
            "cost": None if facts.cost is None else str(facts.cost),
            "head": self._link,
        }

    def _write_session(self, connection: SqlConnection) -> None:
        changed, counted = self._list_changes(), self._build_count()
        if self._stored == 0:
            started = {"id": self.session_id, "started_ms": self._started_ms, "parent": self._parent}
            connection.execute(ADD_SESSION, {**counted, **started, **changed})
            return
        if changed:
            changes = ", ".join(f"{name} = :{name}" for name in changed)
            connection.execute(f"UPDATE sessions SET {changes} WHERE id = :session", {**counted, **changed})
        done = connection.execute(COUNT_RECORDS, counted)
        if done.rowcount != 1:
            self.lost = (
                f"the ledger of session {self.session_id} was removed or changed by another program, so "
                "nothing more can be added to it; begin another session, or fork this one, to continue"
            )
            raise LedgerError(self.lost)
