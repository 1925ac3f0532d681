"""All records of sessions in the database: listing, reading, forking, checking, redacting and pruning them.

Pruning also removes the contents that only the removed sessions needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Protocol

from quorum.application.identifiers import generate_id
from quorum.domain.errors import LedgerError, SessionInUse
from quorum.domain.events.event import ReviewRequested, TurnFinished
from quorum.domain.sessions.ledger_chain import ChainedRecord, Verification, fork_records
from quorum.domain.sessions.redaction import check_redactable, redact_name, redact_records
from quorum.domain.sessions.session_facts import collect_facts, escape_surrogates
from quorum.domain.sessions.session_ids import find_owner
from quorum.domain.sessions.session_summary import (
    LedgerRecord,
    Pruned,
    SessionSummary,
    find_named_contents,
    find_named_manifests,
    is_list_of_files,
    select_sessions_to_prune,
)
from quorum.domain.sessions.stored_session import StoredSession, decode_record, find_session
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.store.sql.connection import SqlConnection, SqlEngine, Values
from quorum.infrastructure.store.sql.contents import read_beginning, unpack_content
from quorum.infrastructure.store.sql.rows import (
    ADD_RECORD,
    ADD_SESSION,
    APPROVAL_SIGNATURES,
    FIND_SESSION,
    LIST_OF_TYPE,
    LIST_SESSIONS,
    RECORD,
    REDACTIONS,
    REVIEW_ANSWERS,
    SEEN_DECISIONS,
    SESSION,
    SessionRow,
    build_row,
    build_summary,
    insert_redactions,
    read_chained_record,
    read_records,
    read_redactions,
)
from quorum.infrastructure.store.sql.session_locks import (
    SessionLocks,
    acquire_lock,
    end_holder,
    wait_to_the_end,
)
from quorum.infrastructure.store.sql.writer import Writer


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


_BEGINNING_BYTES = 256  # of a compressed content
_MEASURE = "SELECT COALESCE(SUM(LENGTH(payload)), 0) FROM records WHERE session_id = :session_id"
_LATER_TABLES = (REDACTIONS, REVIEW_ANSWERS, APPROVAL_SIGNATURES, SEEN_DECISIONS)
_LIST_CONTENTS = "SELECT sha256, kept_ms, LENGTH(data) FROM contents"
_LIST_RECENT = f"SELECT sha256, SUBSTR(data, 1, {_BEGINNING_BYTES}) FROM contents WHERE kept_ms >= :since_ms"


class SubmittedSessions(Protocol):
    """The sessions that a fleet keeps beside the records."""

    def forget(self, connection: SqlConnection, session_id: str) -> None:
        """Remove a session whose record is removed, in that transaction, if it is one of these."""
        ...

    def prune_unbegun(
        self, connection: SqlConnection, before_ms: int, cwd: str | None, *, dry_run: bool
    ) -> int:
        """Remove those that ended until then without a record, of a folder or of all; how many."""
        ...


class Pruning:
    """Removes what one asks for, each session in a transaction of its own and under its lock."""

    def __init__(
        self,
        engine: SqlEngine,
        locks: SessionLocks,
        clock: Callable[[], int],
        submitted: SubmittedSessions | None,
    ) -> None:
        self._engine = engine
        self._locks = locks
        self._clock = clock
        self._submitted = submitted

    def run(
        self,
        connection: SqlConnection,
        *,
        older_than_days: float | None,
        keep: int | None,
        ids: Sequence[str],
        dry_run: bool,
    ) -> Pruned:
        """Do it, or with `dry_run` only look. Raises LedgerError for an id that no session has."""
        chosen = self._choose_sessions(connection, older_than_days, keep, ids)
        removed: list[SessionSummary] = []
        spared: list[SessionSummary] = []
        freed = 0
        for session in chosen:
            taken = self._remove(connection, session.id, dry_run=dry_run)
            (removed if taken is not None else spared).append(session)
            freed += taken or 0
        gone, bytes_gone = self._remove_contents(
            connection, without={session.id for session in removed}, dry_run=dry_run
        )
        if not dry_run and (removed or gone):
            self._engine.give_back(connection)
        return Pruned(sessions=tuple(removed), spared=tuple(spared), contents=gone, bytes=freed + bytes_gone)

    def _choose_sessions(
        self, connection: SqlConnection, days: float | None, keep: int | None, ids: Sequence[str]
    ) -> list[SessionSummary]:
        in_use = self._locks.list_holders()
        rows = [SessionRow(*row) for row in connection.execute(LIST_SESSIONS)]
        listed = [build_summary(row, in_use.get(row.id)) for row in rows]
        return select_sessions_to_prune(listed, older_than_days=days, keep=keep, ids=ids, now_ms=self._clock())

    def _remove(self, connection: SqlConnection, session_id: str, *, dry_run: bool) -> int | None:
        """Remove one session; the bytes of its payloads, or None where it is in use."""
        named = {"session_id": session_id}
        with ExitStack() as locked:
            if dry_run:
                if session_id in self._locks.list_holders():
                    return None
                return _measure(connection, session_id)
            try:
                locked.callback(acquire_lock(self._locks, session_id).release)
            except SessionInUse:
                return None
            with self._engine.begin_transaction(connection):
                freed = _measure(connection, session_id)
                connection.execute("DELETE FROM records WHERE session_id = :session_id", named)
                for table in filter(connection.has_table, _LATER_TABLES):
                    connection.execute(f"DELETE FROM {table} WHERE session_id = :session_id", named)
                connection.execute("DELETE FROM sessions WHERE id = :session_id", named)
                if self._submitted is not None:
                    self._submitted.forget(connection, session_id)
            return freed

    def _remove_contents(
        self, connection: SqlConnection, *, without: set[str], dry_run: bool
    ) -> tuple[int, int]:
        """Remove the contents that no record refers to, those of `without` not counted: how many, how large."""
        with self._engine.begin_transaction(connection):
            self._engine.lock_contents(connection, alone=True)
            # A session that is open may have kept contents that its record does not name yet.
            since = self._locks.find_earliest_opening_ms()
            needed = _find_needed(connection, without, since)
            unneeded = [
                (digest, size)
                for digest, kept_ms, size in connection.execute(_LIST_CONTENTS)
                if digest not in needed and (since is None or kept_ms < since)
            ]
            if not dry_run:
                for digest, _size in unneeded:
                    connection.execute("DELETE FROM contents WHERE sha256 = :digest", {"digest": digest})
        return len(unneeded), sum(size for _digest, size in unneeded)


def _find_needed(connection: SqlConnection, without: set[str], since_ms: int | None) -> set[bytes]:
    """The hashes of all contents that records refer to, by themselves or through a list of files.

    A list that was stored since an open session began counts too: its record may not name it yet.
    """
    there = {digest for (digest,) in connection.execute("SELECT sha256 FROM contents")}
    if not there:
        return set()
    needed: set[bytes] = set()
    lists: set[bytes] = set()
    query = "SELECT session_id, type, payload FROM records"
    for session_id, event_type, payload in connection.execute(query):
        if session_id not in without and isinstance(payload, bytes):
            needed |= find_named_contents(payload)
            lists |= find_named_manifests(event_type, payload)
    if since_ms is not None:
        recent = connection.execute(_LIST_RECENT, {"since_ms": since_ms})
        lists |= {digest for digest, data in recent if is_list_of_files(read_beginning(data))}
    for digest in lists & there:
        query = "SELECT data, size FROM contents WHERE sha256 = :digest"
        for data, size in connection.execute(query, {"digest": digest}):
            needed |= find_named_contents(unpack_content(data, size) or b"")
    return needed


def _measure(connection: SqlConnection, session_id: str) -> int:
    """The bytes of the payloads of a session."""
    (size,) = connection.execute(_MEASURE, {"session_id": session_id}).fetchone() or (0,)
    return int(size)


_ASKED, _ENDED = (
    f"MAX(CASE WHEN type = '{each.type}' THEN rowid END)" for each in (ReviewRequested, TurnFinished)
)
_LIST_IN_REVIEW = (
    f"SELECT {SESSION} FROM sessions WHERE id IN (SELECT session_id FROM records"
    f" WHERE type IN ('{ReviewRequested.type}', '{TurnFinished.type}')"
    f" GROUP BY session_id HAVING {_ASKED} > COALESCE({_ENDED}, 0)) ORDER BY updated_ms DESC, id DESC"
)
_LIST_REVIEWS = (
    f"SELECT session_id, payload FROM records WHERE type = '{ReviewRequested.type}' ORDER BY rowid DESC"
)
_LIST_OF_FOLDER = (
    "SELECT id FROM sessions WHERE cwd = :cwd AND (turns > 0 OR title <> '') ORDER BY updated_ms DESC, id DESC"
)
_LIST_RECORDS = f"SELECT rowid, {RECORD} FROM records WHERE session_id = :session_id ORDER BY rowid"
_REDACT_RECORD = (
    "UPDATE records SET payload = :payload, salt = :salt, redaction = :redaction WHERE rowid = :place"
)
_REDACT_SESSION = "UPDATE sessions SET cwd = :cwd, title = :title, model = :model WHERE id = :id"
_LIST_REASONS = f"SELECT digest, reason FROM {REVIEW_ANSWERS} WHERE session_id = :session_id"
_REDACT_REASON = (
    f"UPDATE {REVIEW_ANSWERS} SET reason = :reason WHERE session_id = :session_id AND digest = :digest"
)

# Of a fleet, which only a database that several machines share has.
_SUBMITTED = "fleet_sessions"
_TEXTS = ("name", "cwd", "prompt", "error")
# The column of the checks of a goal came later than the table, and may not be there yet.
_LIST_CHECKS = f"SELECT to_jsonb(s) ->> 'checks' FROM {_SUBMITTED} AS s WHERE session_id = :session_id"
_PUT_CHECKS = f"UPDATE {_SUBMITTED} SET checks = :checks WHERE session_id = :session_id"


class SqlArchive:
    """Every session of one database. Raises LedgerError where it cannot be read or written."""

    def __init__(
        self,
        engine: SqlEngine,
        writer: Writer,
        locks: SessionLocks,
        clock: Callable[[], int],
        *,
        submitted: SubmittedSessions | None = None,
    ) -> None:
        self._engine = engine
        self._writer = writer
        self._locks = locks
        self._clock = clock
        self._submitted = submitted

    async def list_sessions(self) -> tuple[SessionSummary, ...]:
        return await run_in_thread(lambda _stop: self.list_blocking())

    async def list_in_review(self) -> tuple[SessionSummary, ...]:
        """The sessions in which a review was asked for since a turn last ended, the one used last first."""
        return await run_in_thread(lambda _stop: self._list_in_review())

    async def find_review(self, digest: str) -> SessionSummary | None:
        return await run_in_thread(lambda _stop: self._find_review(digest))

    async def find(self, name: str) -> SessionSummary:
        """The session of this id, or the one whose id begins so. The error names what is near."""
        return await run_in_thread(lambda _stop: self.find_blocking(name))

    async def read(self, session_id: str, types: Sequence[str] = ()) -> tuple[LedgerRecord, ...]:
        """The records of a session, oldest first. Raises LedgerError where there is no such session."""
        return await run_in_thread(lambda _stop: self.read_blocking(session_id, types).decode_records())

    async def read_of_type(self, event_type: str, since_ms: int) -> Mapping[str, Sequence[LedgerRecord]]:
        return await run_in_thread(lambda _stop: self._read_of_type(event_type, since_ms))

    async def read_stored(self, session_id: str) -> StoredSession:
        return await run_in_thread(lambda _stop: self.read_blocking(session_id))

    def _read_of_type(self, event_type: str, since_ms: int) -> dict[str, list[LedgerRecord]]:
        named = {"type": event_type, "since_ms": since_ms}
        found: dict[str, list[LedgerRecord]] = {}
        for session_id, *row in self._engine.read(
            lambda connection: connection.execute(LIST_OF_TYPE, named).fetchall()
        ):
            found.setdefault(str(session_id), []).append(decode_record(read_chained_record(row)))
        return found

    async def fork(self, session_id: str, *, before: int | None = None) -> str:
        """Copy a session, or its records up to and without `before`, under an id of its own; that id."""
        return await run_in_thread(lambda _stop: self.fork_blocking(session_id, before=before))

    def fork_blocking(self, session_id: str, *, before: int | None = None) -> str:

        return self._writer.submit(
            lambda connection: fork(self._engine, connection, session_id, before=before, now_ms=self._clock())
        ).result()

    async def verify(self, session_id: str) -> Verification:
        """Check the chain of a session's records: the first that does not fit is named.

        Records missing at the end are seen as long as the list of sessions still tells of them. Whoever cuts
        both cannot be found out: that takes a copy of the last link somewhere else.
        """
        return await run_in_thread(lambda _stop: self.read_blocking(session_id).verify())

    async def end_holder(self, session_id: str) -> None:
        await run_in_thread(lambda _stop: end_holder(self._locks, session_id))

    async def redact(self, session_id: str, text: str) -> int:
        """Take a text out of all records of a session and its entry in the list; how many records held it.

        The chain holds afterwards, each redaction is recorded in a chain of its own, and `verify` names these
        records. Stored contents of files are not looked
        into. Raises LedgerError for a text of fewer than 4 characters, which would take the records apart.
        """
        done = self._writer.submit(
            lambda connection: redact(self._engine, connection, session_id, text, now_ms=self._clock())
        )
        return await wait_to_the_end(done)

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

        pruning = Pruning(self._engine, self._locks, self._clock, self._submitted)
        done = self._writer.submit(
            lambda connection: pruning.run(
                connection, older_than_days=older_than_days, keep=keep, ids=ids, dry_run=dry_run
            )
        )
        return await wait_to_the_end(done)

    async def prune_unbegun(self, before_ms: int, cwd: str | None, *, dry_run: bool = False) -> int:
        """Remove submitted sessions that ended until then without a record, of a folder or of all; how many."""
        submitted = self._submitted
        if submitted is None:
            return 0

        def remove(connection: SqlConnection) -> int:
            with self._engine.begin_transaction(connection):
                return submitted.prune_unbegun(connection, before_ms, cwd, dry_run=dry_run)

        return await wait_to_the_end(self._writer.submit(remove))

    def list_blocking(self) -> tuple[SessionSummary, ...]:
        """Every session, the one used last first. Blocks."""
        return self._list(LIST_SESSIONS)

    def _list_in_review(self) -> tuple[SessionSummary, ...]:
        return self._list(_LIST_IN_REVIEW)

    def _list(self, query: str) -> tuple[SessionSummary, ...]:
        in_use = self._locks.list_holders()
        rows = self._engine.read(lambda connection: [SessionRow(*row) for row in connection.execute(query)])
        return tuple(build_summary(row, in_use.get(row.id)) for row in rows)

    def _find_review(self, digest: str) -> SessionSummary | None:
        beginning = f'"digest":"{digest}'.encode()
        found = self._engine.read(
            lambda connection: next(
                (
                    session_id
                    for session_id, payload in connection.execute(_LIST_REVIEWS)
                    if isinstance(payload, bytes) and beginning in payload
                ),
                None,
            )
        )
        return None if found is None else self.find_blocking(found)

    def find_blocking(self, name: str) -> SessionSummary:
        """The session of this id, or of the one id that begins so. Blocks."""
        return find_session(name, self.list_blocking())

    def find_latest(self, cwd: str) -> str | None:
        """The id of the session of this folder that was used last, if any. Blocks.

        One in which the person said and did nothing does not count (`SessionSummary.is_begun`).

        Those of subagents do not count.
        """
        values: Values = {"cwd": escape_surrogates(cwd)}
        found = self._engine.read(lambda connection: connection.execute(_LIST_OF_FOLDER, values).fetchall())
        return next((each for (each,) in found if find_owner(each) is None), None)

    def holds(self, session_id: str) -> bool:
        """Whether there is a session of exactly this id. Blocks."""
        values: Values = {"id": session_id}
        return (
            self._engine.read(lambda connection: connection.execute(FIND_SESSION, values).fetchone())
            is not None
        )

    def read_blocking(self, session_id: str, types: Sequence[str] = ()) -> StoredSession:
        """A session as it is kept, or only its records of these types. Blocks.

        Raises LedgerError where there is no such session."""

        def read(connection: SqlConnection) -> StoredSession:
            found = connection.execute(FIND_SESSION, {"id": session_id}).fetchone()
            if found is None:
                raise LedgerError(f"there is no session {session_id[:70]!a} in {self._engine.place}")
            row = SessionRow(*found)
            chain = tuple(read_records(connection, session_id, types))
            made = read_redactions(connection, session_id)
            return StoredSession(summary=build_summary(row, None), head=row.head, chain=chain, redactions=made)

        return self._engine.read(read)


def redact(engine: SqlEngine, connection: SqlConnection, session_id: str, text: str, *, now_ms: int) -> int:
    """Put a mark in the place of `text` in every record of a session; how many records held it.

    Each of these gets an entry in the chain of redactions. The old text is gone from where it stood,
    too: that takes a copy of all that is kept.
    Raises LedgerError where there is no such session, or something else uses the database while it is copied.
    """
    check_redactable(text)
    with engine.begin_transaction(connection):
        session = connection.execute(FIND_SESSION, {"id": session_id}).fetchone()
        if session is None:
            raise LedgerError(f"there is no session {session_id[:70]!a}, so nothing was redacted")
        found = _redact_records(connection, session_id, text, now_ms)
        if connection.has_table(REVIEW_ANSWERS):
            _redact_reasons(connection, session_id, text)
        if connection.has_table(_SUBMITTED):
            _redact_submission(connection, session_id, text)
        row = SessionRow(*session)
        connection.execute(
            _REDACT_SESSION,
            {
                "id": session_id,
                "cwd": redact_name(row.cwd, text),
                "title": redact_name(row.title, text),
                "model": redact_name(row.model, text),
            },
        )
    if not engine.erase_removed(connection):
        raise LedgerError(
            f"{found} records were redacted, but the old text is still in what the database keeps beside them, "
            "because another quorum reads it; redact again when that one has ended"
        )
    return found


def _redact_records(connection: SqlConnection, session_id: str, text: str, now_ms: int) -> int:
    rows = connection.execute(_LIST_RECORDS, {"session_id": session_id}).fetchall()
    chain = [read_chained_record(row[1:]) for row in rows]
    earlier = read_redactions(connection, session_id)
    changes, entries = redact_records(session_id, chain, earlier, text, at_ms=now_ms)
    for index, changed in changes:
        values = {"payload": changed.payload, "salt": changed.salt, "redaction": changed.redaction}
        connection.execute(_REDACT_RECORD, {"place": rows[index][0], **values})
    insert_redactions(connection, session_id, entries)
    return len(entries)


def _redact_reasons(connection: SqlConnection, session_id: str, text: str) -> None:
    """Take a text out of the reasons of answers, too, which are in the record once they are taken."""
    for digest, reason in connection.execute(_LIST_REASONS, {"session_id": session_id}).fetchall():
        if reason is not None and text in reason:
            place = {"session_id": session_id, "digest": digest}
            connection.execute(_REDACT_REASON, {"reason": redact_name(reason, text), **place})


def _redact_submission(connection: SqlConnection, session_id: str, text: str) -> None:
    """Take a text out of what a fleet keeps of a session beside its record."""
    named = {"session_id": session_id}
    for column in _TEXTS:
        query = f"SELECT {column} FROM {_SUBMITTED} WHERE session_id = :session_id"
        row = connection.execute(query, named).fetchone()
        if row is not None and row[0] and text in row[0]:
            change = f"UPDATE {_SUBMITTED} SET {column} = :value WHERE session_id = :session_id"
            connection.execute(change, {**named, "value": redact_name(row[0], text)})
    row = connection.execute(_LIST_CHECKS, named).fetchone()
    if row is not None and row[0] is not None:
        checks = json.dumps([redact_name(check, text) for check in json.loads(row[0])])
        connection.execute(_PUT_CHECKS, {**named, "checks": checks})
