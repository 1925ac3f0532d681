"""The fleet in PostgreSQL: its sessions, the queue of jobs that advance them, and the worker that takes jobs.

The queue consists of the tables of procrastinate, written in transactions of the ledger.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import resources
from typing import Any

import psycopg
from procrastinate import App, JobContext, PsycopgConnector, RetryStrategy
from procrastinate.exceptions import ConnectorException
from procrastinate.job_context import AbortReason
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager, NotificationCallback
from psycopg_pool import AsyncNullConnectionPool
from sqlalchemy.engine import Row

from quorum.application.identifiers import generate_id
from quorum.application.ports.fleet import AdvanceSession, SessionBusy
from quorum.domain.errors import LedgerError
from quorum.domain.events.report import RunStatus
from quorum.domain.fleet_session import Advance, FleetRequest, FleetSession, FleetState
from quorum.infrastructure.answerer import name_answerer
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.store.postgres.address import PostgresAddress
from quorum.infrastructure.store.postgres.connection import PostgresConnection
from quorum.infrastructure.store.postgres.server import PostgresServer
from quorum.infrastructure.store.sql.answers import encode_text
from quorum.infrastructure.store.sql.connection import NO_VALUES, SqlConnection, Values
from quorum.infrastructure.store.sql.rows import build_insert
from quorum.infrastructure.wall_clock import read_wall_clock_ms

_LIBRARY = "procrastinate"
QUEUE = "quorum"
TASK = "advance_session"
_ALONE = 0x71756F73  # two that make the tables at once wait for each other
_ENQUEUE = (
    "SELECT procrastinate_defer_jobs_v1(ARRAY[ROW(:queue, :task, 0, :lock, NULL, CAST(:args AS jsonb), NULL)"
    "::procrastinate_job_to_defer_v1])"
)
_STATE = "SELECT state FROM fleet_sessions WHERE session_id = :session_id FOR UPDATE"
_CANCEL = (
    "SELECT procrastinate_cancel_job_v1(id, true, false) FROM procrastinate_jobs"
    " WHERE lock = :lock AND status IN ('todo', 'doing')"
)


def make_queue(connection: PostgresConnection) -> None:
    """Make the tables of the queue, in the transaction of this connection, if there are none."""
    connection.execute(f"SELECT pg_advisory_xact_lock({_ALONE})")
    if connection.execute("SELECT to_regclass('procrastinate_jobs')").scalar_one() is None:
        schema = (resources.files(f"{_LIBRARY}.sql") / "schema.sql").read_text(encoding="utf-8")
        # Not through SQLAlchemy, which would look for parameters in it.
        connection.pooled.connection.cursor().execute(schema)


def enqueue(connection: SqlConnection, session_id: str) -> None:
    """Have a worker advance this session, once the transaction is committed."""
    connection.execute(
        _ENQUEUE,
        {
            "queue": QUEUE,
            "task": TASK,
            "lock": session_id,  # one at a time advances it, and in this order
            "args": json.dumps({"session_id": session_id}),
        },
    )


def enqueue_answered(connection: SqlConnection, session_id: str) -> None:
    """The same after an answer to a review of it, if it is a session of the fleet that is not over."""
    row = connection.execute(_STATE, {"session_id": session_id}).fetchone()
    if row is not None and not ((state := row[0]) and FleetState(state).is_final):
        enqueue(connection, session_id)


def cancel_jobs(connection: SqlConnection, session_id: str) -> None:
    """Remove the jobs of a session that wait, and have the worker stop that runs one."""
    connection.execute(_CANCEL, {"lock": session_id})


_HEARTBEAT_SECS = 3.0
GONE_SECS = 15.0
"""After so long without a sign of life, a worker counts as gone."""
_LOOK_SECS = 5.0
"""How often each worker looks for jobs of those that are gone, and, besides being notified, for new ones."""
_RETRY_SECS = 5
_RECONNECT_SECS = 1.0
_CONNECT_SECS = 5.0
_GRACE_SECS = 30.0
"""How long a worker that is asked to end waits for its sessions. Then they are left to others."""


class _Jobs(JobManager):
    """Asks the queue for one worker, which an outage of the database does not end: its sessions run on.

    The library ends a worker that cannot ask, and kills what it runs; or is silent from then on.
    """

    def __init__(self, connector: PsycopgConnector, is_ending: Callable[[], bool]) -> None:
        super().__init__(connector)
        self._is_ending = is_ending
        self._worker_id = 0
        self._is_unsure = False
        self.held: set[int | None] = set()
        """The ids of the jobs that this worker has and has not ended."""

    async def register_worker(self) -> int:
        self._worker_id = await super().register_worker()
        return self._worker_id

    async def unregister_worker(self, worker_id: int) -> None:
        with suppress(ConnectorException):  # it is found out by its silence
            await super().unregister_worker(self._worker_id)

    async def update_heartbeat(self, worker_id: int) -> None:
        with suppress(ConnectorException):
            await super().update_heartbeat(self._worker_id)

    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        while True:
            with suppress(ConnectorException):
                await super().listen_for_jobs(on_notification=on_notification, queues=queues)
            await asyncio.sleep(_RECONNECT_SECS)

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        while True:
            try:
                if self._is_unsure:
                    await self._give_back_unknown()
                job = await super().fetch_job(queues, self._worker_id)
            except ConnectorException as error:
                if self._is_ending():
                    return None
                self._is_unsure = True
                if isinstance(error.__cause__, psycopg.errors.ForeignKeyViolation):  # it was taken for gone
                    with suppress(ConnectorException):
                        await self.register_worker()
            else:
                self.held |= {job.id} if job is not None else set()
                return job
            await asyncio.sleep(_RECONNECT_SECS)

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        await self._end(job, lambda: JobManager.finish_job(self, job, status, delete_job))

    async def retry_job(self, job: Job, *arguments: Any, **options: Any) -> None:
        await self._end(job, lambda: JobManager.retry_job(self, job, *arguments, **options))

    async def _give_back_unknown(self) -> None:
        """Queue again what was fetched when the connection broke before that was heard of."""
        for job in await self.list_jobs_async(status="doing", worker_id=self._worker_id):
            if job.id not in self.held:
                await self.retry_job(job)
        self._is_unsure = False

    async def _end(self, job: Job, ask: Callable[[], Awaitable[None]]) -> None:
        """Say how a job ended until that is heard. Others may have it, if this worker was taken for gone."""
        while True:
            try:
                await ask()
                break
            except ConnectorException as error:
                if isinstance(error.__cause__, psycopg.errors.RaiseException) or self._is_ending():
                    break
            await asyncio.sleep(_RECONNECT_SECS)
        self.held.discard(job.id)


class FleetWorker:
    """Runs jobs until it is cancelled. A job that fails in any way is tried again: a session that is advanced
    twice does nothing twice."""

    def __init__(
        self,
        table: PostgresFleet,
        connect_options: Mapping[str, str],
        advance: AdvanceSession,
        *,
        concurrency: int,
    ) -> None:
        self._table = table
        self._advance = advance
        self._concurrency = concurrency
        self._connect_options = dict(connect_options)
        self._is_ending = False
        _silence_library()

    async def run(self, *, until_empty: bool) -> None:
        """Work. The database may go away and come back; cancelled, it ends once its sessions do."""
        working = asyncio.ensure_future(self._work(until_empty=until_empty))
        try:
            await asyncio.shield(working)
        except asyncio.CancelledError:
            self._is_ending = True
            working.cancel()
            await asyncio.wait([working])
            raise

    async def _work(self, *, until_empty: bool) -> None:
        while not self._is_ending:
            app, jobs = self._build_app()
            try:
                async with app.open_async():
                    rescue = asyncio.ensure_future(self._rescue_regularly(jobs))
                    try:
                        await app.run_worker_async(
                            queues=[QUEUE],
                            concurrency=self._concurrency,
                            wait=not until_empty,
                            fetch_job_polling_interval=_LOOK_SECS,
                            abort_job_polling_interval=_LOOK_SECS,
                            shutdown_graceful_timeout=_GRACE_SECS,
                            update_heartbeat_interval=_HEARTBEAT_SECS,
                            stalled_worker_timeout=GONE_SECS,
                            delete_jobs="always",
                            install_signal_handlers=False,
                        )
                    finally:
                        rescue.cancel()
                if until_empty:
                    return
            except (ConnectorException, psycopg.Error, OSError):
                pass  # it is away as the worker begins
            await asyncio.sleep(_RECONNECT_SECS)

    async def _run_job(self, context: JobContext, session_id: str) -> None:
        session = await asyncio.to_thread(self._table.find, session_id)
        if session is None or session.state.is_final:
            return
        try:
            advance = await self._advance(session, lambda: context.abort_reason() is AbortReason.USER_REQUEST)
        except SessionBusy as busy:
            await asyncio.to_thread(self._table.put_delay, session_id, str(busy))
            raise
        await asyncio.to_thread(self._table.put, session_id, advance)

    async def _rescue_regularly(self, jobs: _Jobs) -> None:
        """Queue jobs of workers that are gone again. Two that do so at once do no harm."""
        while True:
            try:
                stalled = await jobs.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=GONE_SECS)
                for job in stalled:
                    if job.id not in jobs.held:
                        await jobs.retry_job(job)
            except (ConnectorException, psycopg.Error):
                with suppress(LedgerError):  # it is waited for, and whoever watches outages is told
                    await run_in_thread(lambda _stop: self._table.find(""))
                await asyncio.sleep(GONE_SECS)  # the others have been silent, too
            await asyncio.sleep(_LOOK_SECS * random.uniform(0.5, 1.5))

    def _build_app(self) -> tuple[App, _Jobs]:
        # Each ask has a connection of its own: a pool that lost its own waits long before it makes others.
        connector = PsycopgConnector(
            kwargs=self._connect_options,
            pool_factory=AsyncNullConnectionPool,
            min_size=0,
            max_size=4,
            timeout=_CONNECT_SECS,
        )
        app = App(connector=connector)
        jobs = app.job_manager = _Jobs(connector, lambda: self._is_ending)
        retry = RetryStrategy(wait=_RETRY_SECS, linear_wait=1)  # a second more each time
        app.task(name=TASK, queue=QUEUE, pass_context=True, retry=retry)(self._run_job)
        return app, jobs


def _silence_library() -> None:
    """What becomes of sessions is said elsewhere; a log without a handler would be printed."""
    for name in ("procrastinate", "psycopg.pool"):
        log = logging.getLogger(name)
        if not log.handlers:
            log.addHandler(logging.NullHandler())
            log.propagate = False


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
_PUT_DELAY = (
    "UPDATE fleet_sessions SET error = :error, updated_ms = :updated_ms"
    f" WHERE session_id = :id AND COALESCE(state, '') NOT IN ({_FINAL})"
)
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
        self._server.write(lambda connection: self._put(connection, session_id, advance))

    def put_delay(self, session_id: str, reason: str) -> None:
        values = {"id": session_id, "error": encode_text(reason), "updated_ms": read_wall_clock_ms()}
        self._server.write(lambda connection: connection.execute(_PUT_DELAY, values))

    async def advance_sessions(self, advance: AdvanceSession, *, concurrency: int, until_empty: bool) -> None:
        """Advance sessions as they are queued, at most so many at once. Cancelled, it ends when they do."""

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
        rows, jobs = self._server.read(
            lambda connection: (
                connection.execute(query, values).fetchall(),
                {(str(lock), str(status)) for lock, status in connection.execute(_JOBS)},
            )
        )
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
