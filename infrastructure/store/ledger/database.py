"""The database as one thing: opened, made or mended where need be, and closed, and sessions opened in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from application.identifiers import generate_id
from application.ports.storage import BlobStore, OpenedSession
from domain.errors import DamagedLedger, LedgerError, SessionInUse
from domain.events.masking import SecretMask
from domain.sessions.past_session import (
    ContinuedSession,
    LatestSession,
    LedgerRecord,
    NamedSession,
    NewSession,
    PickedSession,
    SessionChoice,
)
from domain.sessions.session_facts import StoredSessionFacts, escape_surrogates
from infrastructure.storage_backend import OpenBlobs
from infrastructure.store.ledger.archive import SqlArchive
from infrastructure.store.ledger.condition import Condition, check_condition
from infrastructure.store.ledger.contents import SqlContents
from infrastructure.store.ledger.ledger import SqlLedger
from infrastructure.store.ledger.locks import Gate, SessionLock
from infrastructure.store.ledger.mending import create_database, mend_database, was_interrupted
from infrastructure.store.ledger.session_chain import SessionChain
from infrastructure.store.ledger.sqlite_file import BUSY_SECS, SqliteFile
from infrastructure.store.ledger.writer import Writer

_ALONE_SECS = 2.0
_NAMED_AT_MOST = 5


def read_wall_clock_ms() -> int:
    """The time of day in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


def open_no_blobs(_mask: SecretMask | None) -> None:
    """There is no place for large outputs."""


class Database:
    """Implements `Storage` with a file of SQLite. Large outputs are kept elsewhere, where `open_blobs` says."""

    def __init__(
        self,
        path: Path,
        *,
        open_blobs: OpenBlobs = open_no_blobs,
        clock: Callable[[], int] = read_wall_clock_ms,
        busy_secs: float = BUSY_SECS,
    ) -> None:
        """Open it, or make it. Blocks. Raises LedgerError."""
        self.notices: tuple[str, ...] = ()
        self._open_blobs = open_blobs
        self._file = SqliteFile(path, busy_secs)
        self._clock = clock
        self._locks = path.with_name(f"{path.name}-locks")
        self._gate = Gate(path)
        self._gate.enter()
        try:
            self._make_usable()
        except BaseException:
            self._gate.leave()
            raise
        self._writer = Writer(self._file)
        self.archive = SqlArchive(self._file, self._writer, self._locks, self._clock)
        self.contents = SqlContents(self._file, self._writer, self._clock)

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self._file.path)

    def blobs(self, mask: SecretMask | None = None) -> BlobStore | None:
        """Large outputs, which are not in the database."""
        return self._open_blobs(mask)

    def open_session(self, choice: SessionChoice, *, cwd: str, fork: bool = False) -> OpenedSession:
        """Open the chosen session, or with `fork` a copy; where that finds damage, once that is mended."""
        try:
            return self._open_choice(choice, cwd, fork=fork)
        except DamagedLedger:
            self.mend()
            return self._open_choice(choice, cwd, fork=fork)

    def mend(self) -> None:
        """Save what can be read, after damage was found; `notices` says what came of it. Blocks.

        Nothing may be under way.
        """
        self._writer.close()
        self._make_usable()
        self._writer.reopen()

    def close(self) -> None:
        """Write what waits, and let go. Blocks. Raises LedgerError for events that could not be written."""
        try:
            self._writer.close()
        finally:
            self._gate.leave()

    def _open_choice(self, choice: SessionChoice, cwd: str, *, fork: bool) -> OpenedSession:
        match choice:
            case NewSession():
                return self._begin_session(cwd)
            case LatestSession():
                latest = self.archive.latest_of(cwd)
                if latest is None:
                    return self._begin_session(
                        cwd, f"There is no session of {cwd} to continue; this is a new one."
                    )
                return self._resume_session(latest, fork=fork)
            case NamedSession(name):
                return self._resume_session(self.archive.find_blocking(name).id, fork=fork)
            case ContinuedSession(session_id):
                return self._continue_session(session_id, cwd)
            case PickedSession():
                raise ValueError("a session must be picked before it is opened")

    def _begin_session(self, cwd: str, *notices: str) -> OpenedSession:
        session_id = generate_id()
        return self._begin_locked(session_id, SessionLock.take(self._locks, session_id), cwd, *notices)

    def _begin_locked(self, session_id: str, lock: SessionLock, cwd: str, *notices: str) -> OpenedSession:
        chain = SessionChain(session_id, StoredSessionFacts(cwd=escape_surrogates(cwd)))
        ledger = SqlLedger(chain, self._writer, lock, self._clock)
        return OpenedSession(session_id=session_id, ledger=ledger, notices=notices)

    def _continue_session(self, session_id: str, cwd: str) -> OpenedSession:
        try:
            lock = SessionLock.take(self._locks, session_id)
        except SessionInUse as in_use:
            return OpenedSession(session_id=session_id, ledger=None, in_use=in_use)
        try:
            # Looked for under the lock: two that both found no session would both begin it.
            if self.archive.holds(session_id):
                return self._resume_locked(session_id, lock)
            return self._begin_locked(session_id, lock, cwd)
        except BaseException:
            lock.release()
            raise

    def _resume_session(self, session_id: str, *, fork: bool) -> OpenedSession:
        if fork:
            session_id = self.archive.fork_blocking(session_id)
        try:
            lock = SessionLock.take(self._locks, session_id)
        except SessionInUse as in_use:
            records = self.archive.read_blocking(session_id).records()
            return OpenedSession(session_id=session_id, ledger=None, records=records, in_use=in_use)
        try:
            return self._resume_locked(session_id, lock)
        except BaseException:
            lock.release()
            raise

    def _resume_locked(self, session_id: str, lock: SessionLock) -> OpenedSession:
        """Read under the lock, so that nobody adds to it in between."""
        stored = self.archive.read_blocking(session_id)
        result = stored.verify()
        records = stored.records()
        flaw = f"The record of session {session_id} does not hold: {result.reason}."
        last = stored.chain[-1] if stored.chain else None
        chain = SessionChain.after(stored.summary, stored.head, last)
        return OpenedSession(
            session_id=session_id,
            ledger=SqlLedger(chain, self._writer, lock, self._clock),
            records=records,
            notices=(*(() if result.holds else (flaw,)), *_describe_skipped(records)),
        )

    def _make_usable(self) -> None:
        deadline = time.monotonic() + _ALONE_SECS
        while check_condition(self._file) is not Condition.WHOLE:
            with self._gate.alone() as alone:
                if alone:
                    self._make_or_mend()
                    return
            # Another may have made or mended it meanwhile, and be at work in it already.
            if time.monotonic() > deadline:
                raise LedgerError(
                    f"the session ledger {self.path} is damaged or gone, and another quorum has it "
                    "open; end that one and start again, and what can be read is saved"
                )

    def _make_or_mend(self) -> None:
        match check_condition(self._file):
            case Condition.WHOLE:
                pass
            case Condition.MISSING if not was_interrupted(self.path):
                create_database(self.path)
            case _:
                self.notices += (mend_database(self.path),)


def _describe_skipped(records: Sequence[LedgerRecord]) -> tuple[str, ...]:
    places = [str(record.seq) for record in records if record.event is None]
    if not places:
        return ()
    named = ", ".join(places[:_NAMED_AT_MOST]) + (", …" if len(places) > _NAMED_AT_MOST else "")
    return (
        f"{len(places)} of {len(records)} records cannot be understood, a newer quorum may have written them; "
        f"the session continues without what they say: {named}.",
    )
