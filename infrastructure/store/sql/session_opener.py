"""Opens a session for writing, under its lock: a new one, an earlier one, or a copy, with its record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from quorum.application.identifiers import generate_id
from quorum.application.ports.storage import OpenedSession
from quorum.domain.errors import EventRefused, LedgerError, QuorumError, SessionInUse
from quorum.domain.events.event import Event
from quorum.domain.sessions.ledger_chain import declare_format, encode_payload
from quorum.domain.sessions.session_facts import StoredSessionFacts, escape_surrogates
from quorum.domain.sessions.session_summary import (
    ContinuedSession,
    LatestSession,
    LedgerRecord,
    NamedSession,
    NewSession,
    PickedSession,
    SessionChoice,
)
from quorum.infrastructure.store.sql.archive import SqlArchive
from quorum.infrastructure.store.sql.rows import SessionChain
from quorum.infrastructure.store.sql.session_locks import SessionLocks, WriteLock, acquire_lock, wait_to_the_end
from quorum.infrastructure.store.sql.writer import EncodedEvent, LedgerEntry, Writer

_MOST_BYTES = 1 << 29  # beyond 1 GB the database refuses, and whatever waits behind would never be written


class SqlLedger:
    """Writes one session, and holds its lock until `aclose`."""

    def __init__(self, chain: SessionChain, writer: Writer, lock: WriteLock, clock: Callable[[], int]) -> None:
        self._chain = chain
        self._writer = writer
        self._lock = lock
        self._clock = clock
        self._closed = False

    @property
    def session_id(self) -> str:
        return self._chain.session_id

    def append(self, event: Event, *, urgent: bool = False, may_wait: bool = False) -> asyncio.Future[None]:
        """Put a durable event on the record; it is there when the future ends, also if the process is killed
        then.

        `urgent`: also if the machine loses its power. Raises LedgerError where that cannot be; the event is
        then written with the next one that can be. Only an event that has no JSON form, or one beyond 512 MiB,
        is refused for good. Cancelled, it lets the event be written all the same.
        """
        if self._closed:
            raise LedgerError(f"the session {self.session_id} is closed")
        entry = self._build_entry(event, urgent, may_wait)
        self._writer.append(entry)
        return entry.done

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            await wait_to_the_end(self._writer.flush())
        finally:
            self._lock.release()

    def _build_entry(self, event: Event, urgent: bool, may_wait: bool) -> LedgerEntry:
        return LedgerEntry(
            chain=self._chain,
            at_ms=self._clock(),
            type=event.type,
            encode=partial(_encode, event),
            urgent=urgent,
            may_wait=may_wait,
        )


def _encode(event: Event) -> EncodedEvent:
    try:
        value = event.to_json()
        payload = encode_payload(declare_format(value))
    except (QuorumError, RuntimeError, ValueError, TypeError) as error:
        raise EventRefused(f"{event.type} cannot be recorded: {error}") from error
    if len(payload) > _MOST_BYTES:
        raise EventRefused(f"{event.type} cannot be recorded: it is larger than 512 MiB")
    return EncodedEvent(payload, value)


_NAMED_AT_MOST = 5


class SessionOpener:
    """Opens sessions of one database. Blocks. Raises LedgerError."""

    def __init__(
        self, archive: SqlArchive, writer: Writer, locks: SessionLocks, clock: Callable[[], int]
    ) -> None:
        self._archive = archive
        self._writer = writer
        self._locks = locks
        self._clock = clock

    def open(self, choice: SessionChoice, cwd: str, *, fork: bool) -> OpenedSession:
        """Open the chosen session, or with `fork` a copy; the latest is that of the folder `cwd`.

        Raises ValueError for PickedSession, which only a person can answer.
        """
        match choice:
            case NewSession():
                return self._begin_session(cwd)
            case LatestSession():
                latest = self._archive.find_latest(cwd)
                if latest is None:
                    return self._begin_session(
                        cwd, f"There is no session of {cwd} to continue; this is a new one."
                    )
                return self._resume_session(latest, fork=fork)
            case NamedSession(name):
                return self._resume_session(self._archive.find_blocking(name).id, fork=fork)
            case ContinuedSession(session_id):
                return self._continue_session(session_id, cwd)
            case PickedSession():
                raise ValueError("a session must be picked before it is opened")

    def _begin_session(self, cwd: str, *notices: str) -> OpenedSession:
        session_id = generate_id()
        return self._begin_locked(session_id, self._locks.acquire(session_id), cwd, *notices)

    def _begin_locked(self, session_id: str, lock: WriteLock, cwd: str, *notices: str) -> OpenedSession:
        chain = SessionChain(session_id, StoredSessionFacts(cwd=escape_surrogates(cwd)), lock)
        ledger = SqlLedger(chain, self._writer, lock, self._clock)
        return OpenedSession(session_id=session_id, ledger=ledger, notices=(*lock.notices, *notices))

    def _continue_session(self, session_id: str, cwd: str) -> OpenedSession:
        try:
            lock = acquire_lock(self._locks, session_id)
        except SessionInUse as in_use:
            return OpenedSession(session_id=session_id, ledger=None, in_use=in_use)
        try:
            # Looked for under the lock: two that both found no session would both begin it.
            if self._archive.holds(session_id):
                return self._resume_locked(session_id, lock)
            return self._begin_locked(session_id, lock, cwd)
        except BaseException:
            lock.release()
            raise

    def _resume_session(self, session_id: str, *, fork: bool) -> OpenedSession:
        if fork:
            session_id = self._archive.fork_blocking(session_id)
        try:
            lock = acquire_lock(self._locks, session_id)
        except SessionInUse as in_use:
            records = self._archive.read_blocking(session_id).decode_records()
            return OpenedSession(session_id=session_id, ledger=None, records=records, in_use=in_use)
        try:
            return self._resume_locked(session_id, lock)
        except BaseException:
            lock.release()
            raise

    def _resume_locked(self, session_id: str, lock: WriteLock) -> OpenedSession:
        """Read under the lock, so that nobody adds to it in between."""
        stored = self._archive.read_blocking(session_id)
        result, records = stored.verify_and_decode()
        flaws = () if result.holds else (f"The record of session {session_id} {result.flaw}.",)
        unread = _describe_unread(records, is_broken=result.broken_at is not None)
        last = stored.chain[-1] if stored.chain else None
        chain = SessionChain.after(stored.summary, stored.head, last, lock)
        return OpenedSession(
            session_id=session_id,
            ledger=SqlLedger(chain, self._writer, lock, self._clock),
            records=records,
            notices=(*lock.notices, *flaws, *unread),
        )


def _describe_unread(records: Sequence[LedgerRecord], *, is_broken: bool) -> tuple[str, ...]:
    places = [str(record.seq) for record in records if record.event is None]
    if not places:
        return ()
    named = ", ".join(places[:_NAMED_AT_MOST]) + (", …" if len(places) > _NAMED_AT_MOST else "")
    # What does not fit the chain was changed after it was written: no other version reads it either.
    newer = "a newer quorum may have written them; update quorum to read them"
    why = "they are damaged" if is_broken else newer
    return (
        f"{len(places)} of {len(records)} records cannot be understood, {why}; the session continues without "
        f"what they say: {named}.",
    )
