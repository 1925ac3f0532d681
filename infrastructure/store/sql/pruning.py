"""Sessions removed because they are old, too many, or named, and the contents that only they needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from quorum.domain.errors import SessionInUse
from quorum.domain.sessions.past_session import SessionSummary
from quorum.domain.sessions.pruning import (
    Pruned,
    find_named_contents,
    find_named_manifests,
    is_list_of_files,
    select_sessions_to_prune,
)
from quorum.infrastructure.store.sql.connection import SqlConnection
from quorum.infrastructure.store.sql.contents import read_beginning, unpack_content
from quorum.infrastructure.store.sql.engine import SqlEngine
from quorum.infrastructure.store.sql.rows import build_summary
from quorum.infrastructure.store.sql.schema import LIST_SESSIONS, REDACTIONS, REVIEW_ANSWERS, SessionRow
from quorum.infrastructure.store.sql.session_locks import SessionLocks, acquire_lock

_BEGINNING_BYTES = 256  # of a compressed content
_MEASURE = "SELECT COALESCE(SUM(LENGTH(payload)), 0) FROM records WHERE session_id = :session_id"
_LATER_TABLES = (REDACTIONS, REVIEW_ANSWERS)
_LIST_CONTENTS = "SELECT sha256, kept_ms, LENGTH(data) FROM contents"
_LIST_RECENT = f"SELECT sha256, SUBSTR(data, 1, {_BEGINNING_BYTES}) FROM contents WHERE kept_ms >= :since_ms"


class Pruning:
    """Removes what one asks for, each session in a transaction of its own and under its lock."""

    def __init__(self, engine: SqlEngine, locks: SessionLocks, clock: Callable[[], int]) -> None:
        self._engine = engine
        self._locks = locks
        self._clock = clock

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
