"""All records of sessions in the database: listing, reading, forking, checking, redacting and pruning them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlalchemy import case, func, or_, select, update
from sqlalchemy.engine import Connection

from domain.errors import LedgerError
from domain.events.event import ReviewRequested, TurnFinished
from domain.sessions.past_session import LedgerRecord, SessionSummary, Verification
from domain.sessions.pruning import Pruned
from domain.sessions.redaction import check_redactable, redact_name, redact_records
from domain.sessions.session_facts import escape_surrogates
from domain.sessions.stored_session import StoredSession, find_session
from domain.subagents.session_ids import find_owner
from infrastructure.blocking import run_in_thread
from infrastructure.store.sql.engine import SqlEngine
from infrastructure.store.sql.forking import fork
from infrastructure.store.sql.pruning import Pruning
from infrastructure.store.sql.rows import (
    RECORD_COLUMNS,
    build_summary,
    insert_redactions,
    read_chained_record,
    read_records,
    read_redactions,
)
from infrastructure.store.sql.schema import has_review_answers, records, review_answers, rowid, sessions
from infrastructure.store.sql.session_locks import SessionLocks
from infrastructure.store.sql.waiting import wait_to_the_end
from infrastructure.store.sql.writer import Writer

_NAMED = ("cwd", "title", "model")
_LATEST = (sessions.c.updated_ms.desc(), sessions.c.id.desc())


class SqlArchive:
    """Every session of one database. Raises LedgerError where it cannot be read or written."""

    def __init__(
        self, engine: SqlEngine, writer: Writer, locks: SessionLocks, clock: Callable[[], int]
    ) -> None:
        self._engine = engine
        self._writer = writer
        self._locks = locks
        self._clock = clock

    async def sessions(self) -> tuple[SessionSummary, ...]:
        """Every session, the one used last first."""
        return await run_in_thread(lambda _stop: self.list_blocking())

    async def list_in_review(self) -> tuple[SessionSummary, ...]:
        """The sessions in which a review was asked for since a turn last ended, the one used last first."""
        return await run_in_thread(lambda _stop: self._list_in_review())

    async def find_review(self, digest: str) -> SessionSummary | None:
        """The session in which a packet was put to review whose digest begins so, if there is one."""
        return await run_in_thread(lambda _stop: self._find_review(digest))

    async def find(self, name: str) -> SessionSummary:
        """The session of this id, or the one whose id begins so. The error names what is near."""
        return await run_in_thread(lambda _stop: self.find_blocking(name))

    async def read(self, session_id: str) -> tuple[LedgerRecord, ...]:
        """The records of a session, oldest first. Raises LedgerError where there is no such session."""
        return await run_in_thread(lambda _stop: self.read_blocking(session_id).records())

    async def read_stored(self, session_id: str) -> StoredSession:
        """A session as it is kept, with its chain. Raises LedgerError where there is no such session."""
        return await run_in_thread(lambda _stop: self.read_blocking(session_id))

    async def fork(self, session_id: str, *, before: int | None = None) -> str:
        """Copy a session, or its records up to and without `before`, under an id of its own; that id."""
        return await run_in_thread(lambda _stop: self.fork_blocking(session_id, before=before))

    def fork_blocking(self, session_id: str, *, before: int | None = None) -> str:
        """The same as `fork`. Blocks."""
        return self._writer.do(
            lambda connection: fork(self._engine, connection, session_id, before=before, now_ms=self._clock())
        ).result()

    async def verify(self, session_id: str) -> Verification:
        """Check the chain of a session's records: the first that does not fit is named.

        Records missing at the end are seen as long as the list of sessions still tells of them. Whoever cuts
        both cannot be found out: that takes a copy of the last link somewhere else.
        """
        return await run_in_thread(lambda _stop: self.read_blocking(session_id).verify())

    async def redact(self, session_id: str, text: str) -> int:
        """Take a text out of all records of a session and its entry in the list; how many records held it.

        The chain holds afterwards, each redaction is recorded in a chain of its own, and `verify` names these
        records. Stored contents of files are not looked
        into. Raises LedgerError for a text of fewer than 4 characters, which would take the records apart.
        """
        done = self._writer.do(
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
        pruning = Pruning(self._engine, self._locks, self._clock)
        done = self._writer.do(
            lambda connection: pruning.run(
                connection, older_than_days=older_than_days, keep=keep, ids=ids, dry_run=dry_run
            )
        )
        return await wait_to_the_end(done)

    def list_blocking(self) -> tuple[SessionSummary, ...]:
        """Every session, the one used last first. Blocks."""
        in_use = self._locks.list_holders()
        with self._engine.reading() as connection:
            rows = connection.execute(select(sessions).order_by(*_LATEST)).all()
        return tuple(build_summary(row, in_use.get(row.id)) for row in rows)

    def _list_in_review(self) -> tuple[SessionSummary, ...]:
        asked, ended = (
            func.max(case((records.c.type == each, rowid)))
            for each in (ReviewRequested.type, TurnFinished.type)
        )
        waiting = (
            select(records.c.session_id)
            .where(records.c.type.in_((ReviewRequested.type, TurnFinished.type)))
            .group_by(records.c.session_id)
            .having(asked > func.coalesce(ended, 0))
        )
        in_use = self._locks.list_holders()
        with self._engine.reading() as connection:
            rows = connection.execute(
                select(sessions).where(sessions.c.id.in_(waiting)).order_by(*_LATEST)
            ).all()
        return tuple(build_summary(row, in_use.get(row.id)) for row in rows)

    def _find_review(self, digest: str) -> SessionSummary | None:
        beginning = f'"digest":"{digest}'.encode()
        query = select(records.c.session_id, records.c.payload).where(records.c.type == ReviewRequested.type)
        with self._engine.reading() as connection:
            rows = connection.execute(query.order_by(rowid.desc())).yield_per(500)
            found = next(
                (row.session_id for row in rows if isinstance(row.payload, bytes) and beginning in row.payload),
                None,
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
        is_begun = or_(sessions.c.turns > 0, sessions.c.title != "")
        query = select(sessions.c.id).where(sessions.c.cwd == escape_surrogates(cwd), is_begun)
        with self._engine.reading() as connection:
            ids: Iterator[str] = iter(connection.execute(query.order_by(*_LATEST)).scalars())
            return next((each for each in ids if find_owner(each) is None), None)

    def holds(self, session_id: str) -> bool:
        """Whether there is a session of exactly this id. Blocks."""
        query = select(sessions.c.id).where(sessions.c.id == session_id)
        with self._engine.reading() as connection:
            return connection.execute(query).one_or_none() is not None

    def read_blocking(self, session_id: str) -> StoredSession:
        """A session as it is kept. Blocks. Raises LedgerError where there is no such session."""
        with self._engine.reading() as connection:
            row = connection.execute(select(sessions).where(sessions.c.id == session_id)).one_or_none()
            if row is None:
                raise LedgerError(f"there is no session {session_id[:70]!a} in {self._engine.place}")
            chain = tuple(read_records(connection, session_id))
            made = read_redactions(connection, session_id)
        return StoredSession(summary=build_summary(row, None), head=row.head, chain=chain, redactions=made)


def redact(engine: SqlEngine, connection: Connection, session_id: str, text: str, *, now_ms: int) -> int:
    """Put a mark in the place of `text` in every record of a session; how many records held it.

    Each of these gets an entry in the chain of redactions. The old text is gone from where it stood,
    too: that takes a copy of all that is kept.
    Raises LedgerError where there is no such session, or something else uses the database while it is copied.
    """
    check_redactable(text)
    with engine.transaction(connection):
        row = connection.execute(select(sessions).where(sessions.c.id == session_id)).one_or_none()
        if row is None:
            raise LedgerError(f"there is no session {session_id[:70]!a}, so nothing was redacted")
        found = _redact_records(connection, session_id, text, now_ms)
        if has_review_answers(connection):
            _redact_reasons(connection, session_id, text)
        hidden = {name: redact_name(getattr(row, name), text) for name in _NAMED}
        connection.execute(update(sessions).where(sessions.c.id == session_id).values(**hidden))
    if not engine.erase_removed(connection):
        raise LedgerError(
            f"{found} records were redacted, but the old text is still in what the database keeps beside them, "
            "because another quorum reads it; redact again when that one has ended"
        )
    return found


def _redact_records(connection: Connection, session_id: str, text: str, now_ms: int) -> int:
    query = select(rowid, *RECORD_COLUMNS).where(records.c.session_id == session_id).order_by(rowid)
    rows = connection.execute(query).all()
    chain = [read_chained_record(row[1:]) for row in rows]
    earlier = read_redactions(connection, session_id)
    changes, entries = redact_records(session_id, chain, earlier, text, at_ms=now_ms)
    for index, changed in changes:
        values = {"payload": changed.payload, "salt": changed.salt, "redaction": changed.redaction}
        connection.execute(update(records).where(rowid == rows[index][0]).values(**values))
    insert_redactions(connection, session_id, entries)
    return len(entries)


def _redact_reasons(connection: Connection, session_id: str, text: str) -> None:
    """Take a text out of the reasons of answers, too, which are in the record once they are taken."""
    of_session = review_answers.c.session_id == session_id
    query = select(review_answers.c.digest, review_answers.c.reason).where(of_session)
    for digest, reason in connection.execute(query).all():
        if reason is not None and text in reason:
            hidden = update(review_answers).where(of_session, review_answers.c.digest == digest)
            connection.execute(hidden.values(reason=redact_name(reason, text)))
