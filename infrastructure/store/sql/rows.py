"""The tables that every SQL database of sessions has, and their rows as records and summaries.

What a damaged row holds fits nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from msgspec.structs import asdict

from quorum.domain.errors import LedgerError
from quorum.domain.sessions.ledger_chain import NO_LINK, ChainedRecord, RedactionEntry, chain_record
from quorum.domain.sessions.session_facts import StoredSessionFacts
from quorum.domain.sessions.session_summary import SessionSummary
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.store.sql.connection import Row, SqlConnection, Values, expand
from quorum.infrastructure.store.sql.session_locks import SessionHolder, WriteLock


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
