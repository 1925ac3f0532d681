"""Where a session's record comes from: the database that the settings name, and the session that was chosen."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from application.identifiers import new_id
from domain.errors import SessionInUse
from domain.sessions.past_session import (
    LatestSession,
    LedgerRecord,
    NamedSession,
    NewSession,
    PickedSession,
    SessionChoice,
)
from infrastructure.store.ledger.archive import decoded
from infrastructure.store.ledger.database import Database, wall_clock_ms
from infrastructure.store.ledger.ledger import SqlLedger
from infrastructure.store.ledger.place import database_path
from infrastructure.store.ledger.session_chain import SessionChain
from infrastructure.store.ledger.session_facts import StoredSessionFacts, storable
from infrastructure.store.ledger.trouble import DamagedLedger, explained

_Result = TypeVar("_Result")
_NAMED_AT_MOST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSession:
    """A session to work in. `records` is what happened in it before; `told` are sentences for the person.

    `ledger` is None where another process writes this session, which `in_use` tells of: it can only be read.
    """

    session_id: str
    ledger: SqlLedger | None
    records: tuple[LedgerRecord, ...] = ()
    told: tuple[str, ...] = ()
    in_use: SessionInUse | None = None


def open_database(
    url: str, environ: Mapping[str, str], *, clock: Callable[[], int] = wall_clock_ms
) -> Database:
    """Open the database of sessions, or make it. Blocks.

    A damaged one is mended: what can be read is saved and the damaged file kept aside, which `told` says.
    Raises ConfigError for a url that cannot be used, and LedgerError, which names the file and the remedy.
    """
    path = database_path(url, environ)
    with explained("cannot be opened", path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A folder that the person named is theirs to open to others.
        if not url and stat.S_IMODE(path.parent.stat().st_mode) & 0o077:
            path.parent.chmod(0o700)
    return Database(Path(os.path.realpath(path)), clock=clock)


def open_session(database: Database, choice: SessionChoice, *, cwd: str) -> OpenedSession:
    """Open a session for writing, or for reading where another process writes it. Blocks.

    A new one is in the list from its first event on. Raises LedgerError where there is no such session, and
    ValueError for PickedSession, which only a person can answer.
    """
    match choice:
        case NewSession():
            return _begun(database, cwd)
        case LatestSession():
            return _sound(database, lambda: _latest(database, cwd))
        case NamedSession(name):
            return _sound(database, lambda: _gone_on_with(database, database.archive.found(name).id))
        case PickedSession():
            raise ValueError("a session must be picked before it is opened")


def _sound(database: Database, work: Callable[[], _Result]) -> _Result:
    """Do it; where that finds damage, do it again after the database was mended."""
    try:
        return work()
    except DamagedLedger:
        database.mend()
        return work()


def _latest(database: Database, cwd: str) -> OpenedSession:
    latest = database.archive.latest_of(cwd)
    if latest is not None:
        return _gone_on_with(database, latest)
    return _begun(database, cwd, f"There is no session of {cwd} to go on with; this is a new one.")


def _begun(database: Database, cwd: str, *told: str) -> OpenedSession:
    session_id = new_id()
    chain = SessionChain(session_id, StoredSessionFacts(cwd=storable(cwd)))
    ledger = database.ledger(chain, database.lock(session_id))
    return OpenedSession(session_id=session_id, ledger=ledger, told=told)


def _gone_on_with(database: Database, session_id: str) -> OpenedSession:
    try:
        lock = database.lock(session_id)
    except SessionInUse as in_use:
        chain = database.archive.stored(session_id).chain
        return OpenedSession(session_id=session_id, ledger=None, records=decoded(chain), in_use=in_use)
    try:
        # Read under the lock, so that nobody adds to it in between.
        stored = database.archive.stored(session_id)
        result = stored.verified()
        records = decoded(stored.chain)
    except BaseException:
        lock.release()
        raise
    broken = () if result.holds else (f"The record of session {session_id} does not hold: {result.reason}.",)
    last = stored.chain[-1] if stored.chain else None
    ledger = database.ledger(SessionChain.after(stored.summary, stored.head, last), lock)
    return OpenedSession(
        session_id=session_id, ledger=ledger, records=records, told=(*broken, *_passed_over(records))
    )


def _passed_over(records: Sequence[LedgerRecord]) -> tuple[str, ...]:
    places = [str(record.seq) for record in records if record.event is None]
    if not places:
        return ()
    named = ", ".join(places[:_NAMED_AT_MOST]) + (", …" if len(places) > _NAMED_AT_MOST else "")
    return (
        f"{len(places)} of {len(records)} records cannot be understood, a newer quorum may have written them; "
        f"the session goes on without what they tell: {named}.",
    )
