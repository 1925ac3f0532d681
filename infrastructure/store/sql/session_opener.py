"""Opening a session for writing: a new one, an earlier one, or a copy, under its lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quorum.application.identifiers import generate_id
from quorum.application.ports.storage import OpenedSession
from quorum.domain.errors import SessionInUse
from quorum.domain.sessions.past_session import (
    ContinuedSession,
    LatestSession,
    LedgerRecord,
    NamedSession,
    NewSession,
    PickedSession,
    SessionChoice,
)
from quorum.domain.sessions.session_facts import StoredSessionFacts, escape_surrogates
from quorum.infrastructure.store.sql.archive import SqlArchive
from quorum.infrastructure.store.sql.ledger import SqlLedger
from quorum.infrastructure.store.sql.session_chain import SessionChain
from quorum.infrastructure.store.sql.session_locks import SessionLocks, WriteLock, acquire_lock
from quorum.infrastructure.store.sql.writer import Writer

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
        flaw = f"The record of session {session_id} does not hold: {result.reason}."
        last = stored.chain[-1] if stored.chain else None
        chain = SessionChain.after(stored.summary, stored.head, last, lock)
        return OpenedSession(
            session_id=session_id,
            ledger=SqlLedger(chain, self._writer, lock, self._clock),
            records=records,
            notices=(*lock.notices, *(() if result.holds else (flaw,)), *_describe_skipped(records)),
        )


def _describe_skipped(records: Sequence[LedgerRecord]) -> tuple[str, ...]:
    places = [str(record.seq) for record in records if record.event is None]
    if not places:
        return ()
    named = ", ".join(places[:_NAMED_AT_MOST]) + (", …" if len(places) > _NAMED_AT_MOST else "")
    return (
        f"{len(places)} of {len(records)} records cannot be understood, a newer quorum may have written them; "
        f"the session continues without what they say: {named}.",
    )
