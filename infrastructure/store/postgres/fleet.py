"""The sessions of a fleet in PostgreSQL, beside their records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy.engine import Row

from quorum.application.identifiers import generate_id
from quorum.application.ports.fleet import AdvanceSession
from quorum.domain.errors import LedgerError
from quorum.domain.events.report import RunStatus
from quorum.domain.fleet_session import Advance, FleetRequest, FleetSession, FleetState
from quorum.infrastructure.answerer import name_answerer
from quorum.infrastructure.store.postgres.address import PostgresAddress
from quorum.infrastructure.store.postgres.connection import PostgresConnection
from quorum.infrastructure.store.postgres.fleet_queue import cancel_jobs, enqueue, make_queue
from quorum.infrastructure.store.postgres.server import PostgresServer
from quorum.infrastructure.store.sql.answers import encode_text
from quorum.infrastructure.store.sql.connection import NO_VALUES, Values
from quorum.infrastructure.store.sql.rows import build_insert
from quorum.infrastructure.wall_clock import read_wall_clock_ms

# Whether a session is queued or runs is what the queue says; `state` is what came of it last, NULL before the
# first time. `prompt` is NULL once a turn has begun with it: the record has it then.
_ADDED = (
    "session_id",
    "name",
    "cwd",
    "key",
    "prompt",
    "submitted_by",
    "submitted_ms",
    "updated_ms",
    "status",
    "error",
)
_ADD = f"{build_insert('fleet_sessions', _ADDED)} ON CONFLICT (key) DO NOTHING"
_FINAL = ", ".join(f"'{state.value}'" for state in FleetState if state.is_final)
_FREE_KEY = (
    f"UPDATE fleet_sessions SET key = NULL WHERE key = :of AND state IN ({_FINAL})"
    f" AND status <> '{RunStatus.COMPLETED.value}'"
)
_PUT = (
    "UPDATE fleet_sessions SET state = :state, status = :status, error = :error, updated_ms = :updated_ms,"
    f" prompt = NULL WHERE session_id = :id AND COALESCE(state, '') NOT IN ({_FINAL})"
)
_PUT_DELAY = "UPDATE fleet_sessions SET error = :error, updated_ms = :updated_ms WHERE session_id = :id"
_SELECT = (
    "SELECT session_id, name, cwd, submitted_by, submitted_ms, updated_ms, prompt, state, status, error"
    " FROM fleet_sessions"
)
_JOBS = "SELECT DISTINCT lock, CAST(status AS text) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"


class PostgresFleet:
    """Implements `Fleet` in the database of the sessions."""

    def __init__(self, address: PostgresAddress, environ: Mapping[str, str]) -> None:
        """Open it, and make the tables of its queue if there are none. Blocks.

        Raises ConfigError and LedgerError.
        """
        self._server = PostgresServer(address, environ)
        try:
            self._server.check()
            self._write(make_queue)
        except BaseException:
            self._server.close()
            raise

    def submit(
        self, requests: Sequence[FleetRequest], *, retry_failed: bool = False
    ) -> tuple[FleetSession, ...]:
        """Have these advanced: all of them, or none. Without those whose key was submitted before."""
        added: list[str] = []

        def add(connection: PostgresConnection) -> None:
            for request in requests:
                if retry_failed and request.key:
                    connection.execute(_FREE_KEY, {"of": encode_text(request.key)})
                session_id = generate_id()
                if connection.execute(_ADD, self._build_row(session_id, request)).rowcount:
                    enqueue(connection, session_id)
                    added.append(session_id)

        self._write(add)
        wanted = set(added)
        return tuple(session for session in self.list_sessions() if session.session_id in wanted)

    def list_sessions(self) -> tuple[FleetSession, ...]:
        return self._read(f"{_SELECT} ORDER BY number")

    def find(self, session_id: str) -> FleetSession | None:
        found = self._read(f"{_SELECT} WHERE session_id = :id", {"id": session_id})
        return found[0] if found else None

    def cancel(self, session_ids: Sequence[str]) -> tuple[str, ...]:
        cancelled: list[str] = []

        def end(connection: PostgresConnection) -> None:
            for session_id in session_ids:
                if self._put(connection, session_id, Advance(state=FleetState.CANCELLED)):
                    cancel_jobs(connection, session_id)
                    cancelled.append(session_id)

        self._write(end)
        return tuple(cancelled)

    def put(self, session_id: str, advance: Advance) -> None:
        """Keep what came of advancing a session. One that was cancelled stays so."""
        self._write(lambda connection: self._put(connection, session_id, advance))

    def put_delay(self, session_id: str, reason: str) -> None:
        values = {"id": session_id, "error": encode_text(reason), "updated_ms": read_wall_clock_ms()}
        self._write(lambda connection: connection.execute(_PUT_DELAY, values))

    async def advance_sessions(self, advance: AdvanceSession, *, concurrency: int, until_empty: bool) -> None:
        """Advance sessions as they are queued, at most so many at once. Cancelled, it ends when they do."""
        from quorum.infrastructure.store.postgres.fleet_worker import FleetWorker  # it loads the library

        worker = FleetWorker(self, self._server.build_connect_options(), advance, concurrency=concurrency)
        await worker.run(until_empty=until_empty)

    def close(self) -> None:
        self._server.close()

    def _put(self, connection: PostgresConnection, session_id: str, advance: Advance) -> bool:
        """Whether the session was there and had not ended."""
        values = {
            "id": session_id,
            "state": advance.state.value,
            "status": advance.status,
            "error": encode_text(advance.error),
            "updated_ms": read_wall_clock_ms(),
        }
        return connection.execute(_PUT, values).rowcount > 0

    def _read(self, query: str, values: Values = NO_VALUES) -> tuple[FleetSession, ...]:
        with self._server.begin_reading() as connection:
            rows = connection.execute(query, values).all()
            jobs = {(str(lock), str(status)) for lock, status in connection.execute(_JOBS).all()}
        return tuple(_read_row(row, jobs) for row in rows)

    def _write(self, work: Callable[[PostgresConnection], object]) -> None:
        """Do this in a transaction. Where the connection broke it is not known whether it was done."""
        with (
            self._server.translate_errors("cannot be written"),
            self._server.connect() as connection,
            self._server.begin_transaction(connection),
        ):
            work(connection)

    def _build_row(self, session_id: str, request: FleetRequest) -> dict[str, object]:
        now = read_wall_clock_ms()
        return {
            "session_id": session_id,
            "name": encode_text(request.name),
            "cwd": encode_text(request.cwd),
            "key": encode_text(request.key) or None,
            "prompt": encode_text(request.prompt),
            "submitted_by": encode_text(name_answerer()),
            "submitted_ms": now,
            "updated_ms": now,
            "status": "",
            "error": "",
        }


def _read_row(row: Row[Any], jobs: set[tuple[str, str]]) -> FleetSession:
    try:
        state = FleetState(row.state) if row.state else FleetState.QUEUED
    except ValueError as error:
        raise LedgerError(
            f"the session {row.session_id} of the fleet has an unknown state; update quorum"
        ) from error
    if not state.is_final:
        if (row.session_id, "doing") in jobs:
            state = FleetState.RUNNING
        elif (row.session_id, "todo") in jobs:
            state = FleetState.QUEUED
    return FleetSession(
        session_id=row.session_id,
        name=row.name,
        cwd=row.cwd,
        submitted_by=row.submitted_by,
        submitted_ms=row.submitted_ms,
        updated_ms=row.updated_ms,
        prompt=row.prompt,
        advance=Advance(state=state, status=row.status, error=row.error),
    )
