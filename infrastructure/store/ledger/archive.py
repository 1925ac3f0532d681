"""All records of sessions in the database: listing, reading, forking, checking, redacting and pruning them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from sqlalchemy import select

from domain.errors import LedgerError, QuorumError
from domain.events.event import Event
from domain.events.reading import event_from_json
from domain.sessions.ledger_chain import ChainedRecord, verify
from domain.sessions.past_session import LedgerRecord, SessionSummary, Verification
from domain.sessions.redaction_log import RedactionEntry
from infrastructure.blocking import in_thread
from infrastructure.store.ledger.forking import fork
from infrastructure.store.ledger.locks import holders
from infrastructure.store.ledger.pruning import Pruned, Pruning
from infrastructure.store.ledger.redaction import redact
from infrastructure.store.ledger.rows import records_of, redactions_of, summary
from infrastructure.store.ledger.schema import sessions
from infrastructure.store.ledger.session_facts import storable
from infrastructure.store.ledger.sqlite_file import SqliteFile
from infrastructure.store.ledger.waiting import to_the_end
from infrastructure.store.ledger.writer import Writer

_NAMED_AT_MOST = 5
_LATEST = (sessions.c.updated_ms.desc(), sessions.c.id.desc())


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """A session with its entry in the list, the link that its next record builds on, and its records."""

    summary: SessionSummary
    head: bytes
    chain: tuple[ChainedRecord, ...]
    redactions: tuple[RedactionEntry, ...] = ()

    def verified(self) -> Verification:
        """What the check of its chain comes to, and of its end against the list of sessions."""
        result = verify(self.summary.id, self.chain, self.redactions)
        count, told = len(self.chain), self.summary.records
        if not result.holds or (count == told and self.chain and self.chain[-1].link == self.head):
            return result
        reason = f"the list of sessions tells of {told} records, and there are {count}"
        if count == told:
            reason = f"record {count - 1} is not the last one that the list of sessions tells of"
        place = max(0, min(count, told)) if count != told else count - 1
        return replace(result, broken_at=max(place, 0), reason=reason)


class SqlArchive:
    """Every session of one database. Raises LedgerError where it cannot be read or written."""

    def __init__(self, file: SqliteFile, writer: Writer, locks: Path, clock: Callable[[], int]) -> None:
        self._file = file
        self._writer = writer
        self._locks = locks
        self._clock = clock

    async def sessions(self) -> tuple[SessionSummary, ...]:
        """Every session, the one used last first."""
        return await in_thread(lambda _stop: self.listed())

    async def find(self, name: str) -> SessionSummary:
        """The session of this id, or the one whose id begins so. The error names what is near."""
        return await in_thread(lambda _stop: self.found(name))

    async def read(self, session_id: str) -> tuple[LedgerRecord, ...]:
        """The records of a session, oldest first. Raises LedgerError where there is no such session."""
        return await in_thread(lambda _stop: decoded(self.stored(session_id).chain))

    async def fork(self, session_id: str, *, before: int | None = None) -> str:
        """Copy a session, or its records up to and without `before`, under an id of its own; that id."""
        return await in_thread(lambda _stop: self.forked(session_id, before=before))

    def forked(self, session_id: str, *, before: int | None = None) -> str:
        """The same as `fork`. Blocks."""
        return self._writer.do(
            lambda connection: fork(connection, session_id, before=before, now_ms=self._clock())
        ).result()

    async def verify(self, session_id: str) -> Verification:
        """Check the chain of a session's records: the first that does not fit is named.

        Records missing at the end are seen as long as the list of sessions still tells of them. Whoever cuts
        both cannot be found out: that takes a copy of the last link somewhere else.
        """
        return await in_thread(lambda _stop: self.stored(session_id).verified())

    async def redact(self, session_id: str, text: str) -> int:
        """Take a text out of all records of a session and its entry in the list; how many records held it.

        The chain holds afterwards, each redaction is on record in a chain of its own, and `verify` names these
        records. Stored contents of files are not looked
        into. Raises LedgerError for a text of fewer than 4 characters, which would take the records apart.
        """
        done = self._writer.do(lambda connection: redact(connection, session_id, text, now_ms=self._clock()))
        return await to_the_end(done)

    async def prune(
        self,
        *,
        older_than_days: float | None = None,
        keep: int | None = None,
        ids: Sequence[str] = (),
        dry_run: bool = False,
    ) -> Pruned:
        """Remove sessions: those not used for so many days, all but the newest `keep`, or those of these ids.

        With both days and `keep`, those that both would remove; `ids` come in addition. A session in use stays,
        and so do its contents. Then contents go that no record refers to. `dry_run` removes nothing and
        answers the same.
        """
        pruning = Pruning(self._file, self._locks, self._clock)
        done = self._writer.do(
            lambda connection: pruning.run(
                connection, older_than_days=older_than_days, keep=keep, ids=ids, dry_run=dry_run
            )
        )
        return await to_the_end(done)

    def listed(self) -> tuple[SessionSummary, ...]:
        """Every session, the one used last first. Blocks."""
        in_use = holders(self._locks)
        with self._file.reading() as connection:
            rows = connection.execute(select(sessions).order_by(*_LATEST)).all()
        return tuple(summary(row, in_use.get(row.id)) for row in rows)

    def found(self, name: str) -> SessionSummary:
        """The session of this id, or of the one id that begins so. Blocks."""
        listed = self.listed()
        exact = [session for session in listed if session.id == name]
        near = exact or [session for session in listed if name and session.id.startswith(name)]
        if len(near) == 1:
            return near[0]
        if near:
            raise LedgerError(f"{len(near)} sessions begin with {name}: {_named(near)}; give more of the id")
        raise LedgerError(f"there is no session {name[:70]!a}; {_nearest(name, listed)}")

    def latest_of(self, cwd: str) -> str | None:
        """The id of the session of this folder that was used last and had a prompt, if any. Blocks."""
        query = select(sessions.c.id).where(sessions.c.cwd == storable(cwd), sessions.c.turns > 0)
        with self._file.reading() as connection:
            return connection.execute(query.order_by(*_LATEST).limit(1)).scalar_one_or_none()

    def stored(self, session_id: str) -> StoredSession:
        """A session as it is kept. Blocks. Raises LedgerError where there is no such session."""
        with self._file.reading() as connection:
            row = connection.execute(select(sessions).where(sessions.c.id == session_id)).one_or_none()
            if row is None:
                raise LedgerError(f"there is no session {session_id[:70]!a} in {self._file.path}")
            chain = tuple(records_of(connection, session_id))
            made = redactions_of(connection, session_id)
        return StoredSession(summary=summary(row, None), head=row.head, chain=chain, redactions=made)


def decoded(chain: Iterable[ChainedRecord]) -> tuple[LedgerRecord, ...]:
    """Records as events."""
    return tuple(
        LedgerRecord(seq=record.seq, at_ms=record.at_ms, event=_event(record), redacted=record.redacted)
        for record in chain
    )


def _event(record: ChainedRecord) -> Event | None:
    try:
        value = json.loads(record.payload)
        return event_from_json(value) if isinstance(value, dict) else None
    except (QuorumError, ValueError, RecursionError):
        return None


def _nearest(name: str, listed: Sequence[SessionSummary]) -> str:
    if not listed:
        return "there are no sessions yet"
    close = get_close_matches(name, [session.id for session in listed], n=_NAMED_AT_MOST, cutoff=0.7)
    near = [session for session in listed if session.id in close]
    return f"the nearest: {_named(near)}" if near else f"the latest: {_named(listed)}"


def _named(listed: Sequence[SessionSummary]) -> str:
    named = [f"{session.id} ({session.title[:40] or 'no prompt'})" for session in listed[:_NAMED_AT_MOST]]
    return ", ".join(named) + (", …" if len(listed) > _NAMED_AT_MOST else "")
