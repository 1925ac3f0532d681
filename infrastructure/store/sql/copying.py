"""All sessions of one database copied into another, with former contents, each checked where it arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from types import TracebackType
from typing import Protocol, runtime_checkable

from msgspec import Struct

from quorum.domain.errors import BlobError, LedgerError, SessionInUse
from quorum.domain.sessions.session_facts import WholeSession, escape_surrogates
from quorum.domain.sessions.stored_session import StoredSession
from quorum.domain.text.amounts import format_amount
from quorum.infrastructure.store.sql.archive import SqlArchive
from quorum.infrastructure.store.sql.connection import SqlEngine
from quorum.infrastructure.store.sql.contents import SqlContents
from quorum.infrastructure.store.sql.rows import (
    ADD_NEW_SESSION,
    ADD_RECORD,
    ADD_SESSION,
    FIND_SESSION,
    SessionRow,
    build_row,
    insert_redactions,
)
from quorum.infrastructure.store.sql.session_locks import SessionLocks, acquire_lock

_CONTENTS_AT_ONCE = 10  # each is one file, and all of them are in memory
_ROWS_AT_ONCE = 500


@runtime_checkable
class SqlStorage(Protocol):
    """A storage in a database that this can copy from and to."""

    @property
    def engine(self) -> SqlEngine: ...

    @property
    def archive(self) -> SqlArchive: ...

    @property
    def contents(self) -> SqlContents:
        """What files held before they were changed."""
        ...

    @property
    def locks(self) -> SessionLocks:
        """Who writes which of them."""
        ...


class OutputFiles(Protocol):
    """Large outputs by their names. What it does blocks, and raises BlobError and LedgerError."""

    def list_names(self) -> list[str]: ...

    def read(self, name: str) -> Iterator[bytes]:
        """The pieces of an output."""
        ...

    def receive(self, name: str, pieces: Iterable[bytes]) -> None:
        """Keep an output that comes from elsewhere, whole or not at all."""
        ...


class CopyReport(Struct, frozen=True, kw_only=True):
    """What came of copying. `left` are sentences, one for each session or output that is not in the target."""

    sessions: int
    present: int
    contents: int
    outputs: int
    left: tuple[str, ...]


def copy_ledger(source: SqlStorage, target: SqlStorage, tell: Callable[[str], None]) -> CopyReport:
    """Copy what the target has not got: contents first, then each session in one transaction, under both locks.

    Begun again after an interruption, it continues. `tell` is given sentences about its progress. Blocks.
    Raises LedgerError for a target that holds other sessions, before anything is written, and where a session
    arrives otherwise than it was sent, which is not kept.
    """
    listed = check_target(source, target)
    kept, lost = _copy_contents(source.contents, target.contents)
    copied, present, left = 0, 0, list(lost)
    for number, session_id in enumerate(listed, 1):
        try:
            if _copy_session(source, target, session_id):
                copied += 1
            else:
                present += 1
        except SessionInUse as in_use:
            left.append(f"{in_use}; it is not copied: end that one and copy again")
        except _FlawedSession as flaw:
            left.append(str(flaw))
        if number % 100 == 0:
            tell(f"{number} of {len(listed)} sessions are done")
    return CopyReport(sessions=copied, present=present, contents=kept, outputs=0, left=tuple(left))


def copy_outputs(source: OutputFiles, target: OutputFiles) -> tuple[int, tuple[str, ...]]:
    """Copy the large outputs that the target has not got: how many, and a sentence for each that cannot be."""
    there = set(target.list_names())
    copied, left = 0, []
    for name in sorted(set(source.list_names()) - there):
        try:
            target.receive(name, source.read(name))
            copied += 1
        except (BlobError, LedgerError, OSError) as error:
            left.append(f"the output {name} is not copied: {error}")
    return copied, tuple(left)


class _FlawedSession(Exception):
    """The chain of a session does not hold, so there is nothing to compare its copy with."""


def _list_sessions(storage: SqlStorage) -> dict[str, tuple[int, bytes]]:
    """All sessions, the oldest first, each with the number of its records and its head."""
    with storage.engine.begin_reading() as connection:
        rows = connection.execute("SELECT id, records, head FROM sessions ORDER BY started_ms, id").fetchall()
    return {session_id: (records, head) for session_id, records, head in rows}


def check_target(source: SqlStorage, target: SqlStorage) -> tuple[str, ...]:
    """The sessions of the source, the oldest first. Blocks. Raises LedgerError for a target with others."""
    listed = _list_sessions(source)
    for session_id, found in _list_sessions(target).items():
        if listed.get(session_id) != found:
            how = "as another one" if session_id in listed else "which is not there"
            raise LedgerError(
                f"{target.engine.place} holds other sessions than {source.engine.place}, such as {session_id}, "
                f"{how}; nothing was copied: name an empty database"
            )
    return tuple(listed)


def _copy_session(source: SqlStorage, target: SqlStorage, session_id: str) -> bool:
    """Copy a session and compare it with what arrived; whether it was not there yet."""
    lock = acquire_lock(source.locks, session_id)
    try:
        sent = source.archive.read_blocking(session_id)
        if not (result := sent.verify()).holds:
            raise _FlawedSession(f"the record of session {session_id} {result.flaw}; it is not copied")
        target_lock = target.locks.acquire(session_id)
        try:
            is_new = not target.archive.holds(session_id)
            if is_new:
                _insert_session(source.engine, target.engine, sent)
            arrived = target.archive.read_blocking(session_id)
        finally:
            target_lock.release()
    finally:
        lock.release()
    if (arrived.chain, arrived.redactions, arrived.head) != (sent.chain, sent.redactions, sent.head):
        raise LedgerError(
            f"session {session_id} in {target.engine.place} is not what is in {source.engine.place}: one was "
            "changed; see quorum sessions verify, and copy into an empty database"
        )
    return is_new


def _insert_session(source: SqlEngine, target: SqlEngine, sent: StoredSession) -> None:
    session_id = sent.summary.id
    with source.begin_reading() as connection:
        row = connection.execute(FIND_SESSION, {"id": session_id}).fetchone()
    if row is None:
        raise LedgerError(f"session {session_id} was removed from {source.place} while it was copied")
    values = {name: _clean(value) for name, value in zip(SessionRow._fields, row, strict=True)}
    with (
        target.translate_errors("cannot be written"),
        closing(target.connect()) as connection,
        target.begin_transaction(connection),
    ):
        connection.execute(ADD_SESSION, values)
        rows = [build_row(record, session_id) for record in sent.chain]
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            connection.executemany(ADD_RECORD, rows[start : start + _ROWS_AT_ONCE])
        insert_redactions(connection, session_id, sent.redactions)


def _clean(value: object) -> object:
    """What the list shows, as every database stores it."""
    return escape_surrogates(value).replace("\0", "\ufffd") if isinstance(value, str) else value


def _copy_contents(source: SqlContents, target: SqlContents) -> tuple[int, tuple[str, ...]]:
    """Copy the contents that the target has not got, wherever each keeps them: how many, and what is left."""
    copied = 0
    lost: list[str] = []
    hashes = source.list_hashes()
    missing = target.find_absent(hashes)
    waiting = [sha256 for sha256 in hashes if sha256 in missing]
    for start in range(0, len(waiting), _CONTENTS_AT_ONCE):
        found = []
        for sha256 in waiting[start : start + _CONTENTS_AT_ONCE]:
            try:
                found.append(source.get_blocking(sha256))
            except LedgerError as error:
                lost.append(str(error))
        target.put_blocking(found)
        copied += len(found)
    if not lost:
        return copied, ()
    return copied, (f"{format_amount(len(lost), 'former content')} cannot be copied, for example: {lost[0]}",)


class WholeSessionWriter:
    """Writes such sessions by one connection, from one thread. Blocks. Raises LedgerError."""

    def __init__(self, storage: SqlStorage) -> None:
        self._storage = storage
        self._stack = ExitStack()

    def __enter__(self) -> WholeSessionWriter:
        engine = self._storage.engine
        with engine.translate_errors("cannot be written"):
            self._connection = self._stack.enter_context(closing(engine.connect()))
            engine.expect_bulk(self._connection)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def write(self, session: WholeSession) -> bool:
        """Write it in one transaction; whether it was not there yet.

        It takes no lock of the session: nobody sees it before it is whole, and what is there is left alone.
        """
        facts, chain = session.facts, session.chain
        row: dict[str, object] = {
            "id": session.session_id,
            "cwd": facts.cwd,
            "title": facts.title,
            "model": facts.model,
            "started_ms": chain[0].at_ms,
            "updated_ms": chain[-1].at_ms,
            "turns": facts.turns,
            "records": len(chain),
            "cost": None,
            "parent": None,
            "head": chain[-1].link,
        }
        engine = self._storage.engine
        with engine.translate_errors("cannot be written"), engine.begin_transaction(self._connection):
            if not self._connection.execute(ADD_NEW_SESSION, row).rowcount:
                return False
            self._connection.executemany(ADD_RECORD, [build_row(each, session.session_id) for each in chain])
        return True
