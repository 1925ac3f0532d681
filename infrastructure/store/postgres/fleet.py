"""The fleet in PostgreSQL, and its worker: it runs the jobs of the queue, and rescues those of workers that are
gone.

An outage of the database ends neither it nor what it runs.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import psycopg
from msgspec.structs import asdict
from procrastinate import App, JobContext, PsycopgConnector, RetryStrategy
from procrastinate.exceptions import ConnectorException
from procrastinate.job_context import AbortReason
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager, NotificationCallback
from psycopg_pool import AsyncNullConnectionPool

from quorum.application.ports.fleet import AdvanceSession, SessionBusy, SessionKilled
from quorum.domain.errors import LedgerError
from quorum.domain.fleet_session import SUSPECT_LOSSES, FleetSession, WorkerIdentity
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.store.postgres.fleet_table import GONE_SECS, QUEUE, TASK, FleetTable

_HEARTBEAT_SECS = 3.0
_LOOK_SECS = 5.0
"""How often each worker looks for jobs of those that are gone, and, besides being notified, for new ones."""
_RETRY_SECS = 5
_LONGEST_RETRY_SECS = 60
_RECONNECT_SECS = 1.0
_SOLITUDE_LOOK_SECS = 0.2
_CONNECT_SECS = 5.0
_GRACE_SECS = 30.0
"""How long a worker that is asked to end waits for its sessions. Then they are left to others."""
_AT_ONCE = datetime(1970, 1, 1, tzinfo=UTC)
_REGISTER = (
    "INSERT INTO fleet_workers (worker_id, name, server_id, version, folder, is_draining)"
    " VALUES (%(worker_id)s, %(name)s, %(server_id)s, %(version)s, %(folder)s, %(is_draining)s)"
)
_BEFORE = "server_id = %(server_id)s AND server_id <> '' AND worker_id <> %(worker_id)s"
_JOBS_BEFORE = (
    "SELECT j.id, j.lock, is_draining, count(*) OVER (PARTITION BY worker_id) = 1 AS was_alone"
    f" FROM procrastinate_jobs AS j JOIN fleet_workers USING (worker_id) WHERE {_BEFORE}"
    " AND j.status = 'doing' AND j.id <> ALL(%(held)s)"
)
_REMOVE_BEFORE = (
    f"DELETE FROM procrastinate_workers WHERE id IN (SELECT worker_id FROM fleet_workers WHERE {_BEFORE})"
)
_DRAIN = "UPDATE fleet_workers SET is_draining = true WHERE worker_id = %(worker_id)s"
_BEAT = "UPDATE procrastinate_workers SET last_heartbeat = now() WHERE id = %(worker_id)s RETURNING id"
_RECLAIM = (
    "UPDATE procrastinate_jobs SET worker_id = %(worker_id)s"
    " WHERE id = ANY(%(held)s) AND status = 'doing' AND worker_id IS NULL RETURNING id"
)
# Counted as they are queued again, or neither: a loss counts although whoever notices it may be lost next.
_RESCUE = """
WITH gone AS (
    SELECT j.id, j.lock, j.worker_id
    FROM procrastinate_jobs AS j LEFT JOIN procrastinate_workers AS w ON w.id = j.worker_id
    WHERE j.queue_name = %(queue)s AND j.status = 'doing' AND j.id <> ALL(%(held)s)
        AND (w.id IS NULL OR w.last_heartbeat < now() - make_interval(secs => %(gone_secs)s))
    ORDER BY j.id FOR UPDATE OF j
), counted AS (
    INSERT INTO fleet_queue (session_id, losses)
    SELECT session_id, 1 FROM gone JOIN fleet_sessions ON session_id = lock
    WHERE NOT EXISTS (SELECT FROM fleet_workers AS w WHERE w.worker_id = gone.worker_id AND is_draining)
    ON CONFLICT (session_id) DO UPDATE SET losses = fleet_queue.losses + 1
    RETURNING session_id
)
SELECT lock, lock IN (SELECT session_id FROM counted) AS is_counted,
    worker_id IS NOT NULL AND count(*) OVER (PARTITION BY worker_id) = 1 AS was_alone,
    procrastinate_retry_job_v2(id, %(at)s, NULL, NULL, NULL)
FROM gone
"""
_GIVE_BACK_LOSSES = (
    "UPDATE fleet_queue SET losses = losses - 1 WHERE session_id = ANY(%(sessions)s) AND losses > 0"
)
# Its jobs keep the id of a worker that is gone until they are rescued: they tell whether it was draining.
_REMOVE_GONE = (
    "DELETE FROM procrastinate_workers AS w WHERE id <> %(worker_id)s"
    " AND last_heartbeat < now() - make_interval(secs => %(gone_secs)s)"
    " AND NOT EXISTS (SELECT FROM procrastinate_jobs AS j WHERE j.worker_id = w.id AND j.status = 'doing')"
)
# An earlier quorum parks by the clock of its machine, which may be ahead.
_UNPARK = (
    "UPDATE procrastinate_jobs SET scheduled_at = now() WHERE queue_name = %(queue)s AND status = 'todo'"
    f" AND scheduled_at > now() + interval '{2 * _LONGEST_RETRY_SECS} seconds'"
)


class Loss(NamedTuple):
    """A session that was lost with its worker, and whether that ran nothing else."""

    session_id: str
    was_alone: bool


class FleetJobs(JobManager):
    """The jobs of the queue as one worker asks for them, which tells who it is.

    `put_kill` is told of what was lost with the worker before this one of its server, and raises LedgerError.
    Jobs that are tried again wait by the clock of the database, which the library would not ask. The library
    ends a worker that cannot ask, and kills what it runs; or is silent from then on.
    """

    def __init__(
        self,
        connector: PsycopgConnector,
        identity: WorkerIdentity | None = None,
        *,
        is_ending: Callable[[], bool] = lambda: False,
        is_full: Callable[[], bool] = lambda: False,
        put_kill: Callable[[Loss], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(connector)
        self._put_kill = put_kill
        self._is_full = is_full
        self._identity = identity
        self._is_ending = is_ending
        self._worker_id = 0
        self._is_unsure = False
        self._held: dict[int, str] = {}
        """The jobs that this worker has and has not ended, each with its session."""
        self._is_fetching = False

    @property
    def has_others(self) -> bool:
        """Whether it has, or may just get, more than one job."""
        return self._is_fetching or len(self._held) > 1

    async def register_worker(self) -> int:
        """Begin, and take over at once what the worker before this one of its server was running.

        A worker that was taken for gone in an outage does so again, and keeps what it runs.
        """
        worker_id = await super().register_worker()
        if self._identity is not None:
            named: dict[str, object] = {"is_draining": self._is_ending(), **asdict(self._identity)}
            await self.connector.execute_query_async(_REGISTER, worker_id=worker_id, **named)
            before: dict[str, object] = {"worker_id": worker_id, "server_id": self._identity.server_id}
            for job in await self.connector.execute_query_all_async(
                _JOBS_BEFORE, held=list(self._held), **before
            ):
                # Before it is queued: whoever takes it then may be killed by it next.
                if self._put_kill is not None and not job["is_draining"]:
                    with suppress(LedgerError):
                        await self._put_kill(Loss(job["lock"], was_alone=job["was_alone"]))
                with suppress(ConnectorException):  # another worker was first
                    await self.retry_job_by_id_async(job["id"], _AT_ONCE)
            await self.connector.execute_query_async(_REMOVE_BEFORE, **before)
        if self._held:
            await self._reclaim(worker_id)
        self._worker_id = worker_id  # only now: what is half done is done again
        return worker_id

    async def unregister_worker(self, worker_id: int) -> None:
        with suppress(ConnectorException):  # it is found out by its silence
            await super().unregister_worker(self._worker_id)

    async def update_heartbeat(self, worker_id: int) -> None:
        """Give a sign of life, under another id where this worker was taken for gone."""
        with suppress(ConnectorException):
            if not await self.connector.execute_query_all_async(_BEAT, worker_id=self._worker_id):
                await self.register_worker()

    async def _reclaim(self, worker_id: int) -> None:
        """Keep the jobs that nobody else has taken. The other sessions were counted as lost, and are not."""
        held = dict(self._held)
        kept = await self.connector.execute_query_all_async(_RECLAIM, worker_id=worker_id, held=list(held))
        taken = held.keys() - {row["id"] for row in kept}
        await self.connector.execute_query_async(_GIVE_BACK_LOSSES, sessions=[held[id] for id in taken])

    async def prune_stalled_workers(self, seconds_since_heartbeat: float) -> list[int]:
        """Nothing: `remove_gone` does it once their jobs are rescued."""
        return []

    async def remove_gone(self) -> None:
        """Remove the workers that are gone and whose jobs are rescued. One that lives on notices it."""
        await self.connector.execute_query_async(_REMOVE_GONE, worker_id=self._worker_id, gone_secs=GONE_SECS)

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
                if self._is_full():
                    return None
                self._is_fetching = True
                job = await super().fetch_job(queues, self._worker_id)
            except ConnectorException:  # or taken for gone, until the next sign of life
                if self._is_ending():
                    return None
                self._is_unsure = True
            else:
                if job is not None and job.id is not None:
                    self._held[job.id] = str(job.lock)
                return job
            finally:
                self._is_fetching = False
            await asyncio.sleep(_RECONNECT_SECS)

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        await self._end(job, lambda: JobManager.finish_job(self, job, status, delete_job))

    async def retry_job(
        self,
        job: Job,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        """Park it, a second longer each time. `retry_at` is not used: it is by the clock of this machine."""
        wait = timedelta(seconds=min(_RETRY_SECS + job.attempts, _LONGEST_RETRY_SECS))

        async def park() -> None:
            asked = await self.connector.execute_query_one_async("SELECT now() AS now")
            await JobManager.retry_job(self, job, asked["now"] + wait, priority, queue, lock)

        await self._end(job, park)

    async def drain(self) -> None:
        """Tell that what becomes of the sessions that run is this worker's doing."""
        with suppress(ConnectorException):
            await self.connector.execute_query_async(_DRAIN, worker_id=self._worker_id)

    async def rescue(self) -> list[Loss]:
        """Queue jobs of workers that are gone again; the sessions that were lost with them, and not drained. Of
        two that do so at once, one finds each job."""
        await self.connector.execute_query_async(_UNPARK, queue=QUEUE)
        found = await self.connector.execute_query_all_async(
            _RESCUE, queue=QUEUE, held=list(self._held), gone_secs=GONE_SECS, at=_AT_ONCE
        )
        return [Loss(row["lock"], was_alone=row["was_alone"]) for row in found if row["is_counted"]]

    async def _give_back_unknown(self) -> None:
        """Queue again what was fetched when the connection broke before that was heard of."""
        for job in await self.list_jobs_async(status="doing", worker_id=self._worker_id):
            if job.id not in self._held:
                await JobManager.retry_job(self, job, _AT_ONCE)
        self._is_unsure = False

    async def _end(self, job: Job, ask: Callable[[], Awaitable[None]]) -> None:
        """Say how a job ended until that is heard. Others may have it, if this worker was taken for gone."""
        while True:
            try:
                await ask()
                break
            except ConnectorException as error:
                if _is_refused(error) or self._is_ending():
                    break
            await asyncio.sleep(_RECONNECT_SECS)
        self._held.pop(job.id or 0, None)


def _is_refused(error: ConnectorException) -> bool:
    """Whether the job has ended, or another worker was first."""
    return isinstance(error.__cause__, psycopg.errors.RaiseException)


class Solitude:
    """Lets a session that may have ended its worker run with no other beside it.

    While one waits for that or runs so, the worker `is_wanted` alone, and takes no other.
    """

    def __init__(self) -> None:
        self.is_wanted = False

    @asynccontextmanager
    async def enter(self, session: FleetSession, has_others: Callable[[], bool]) -> AsyncIterator[None]:
        """Run a session. Raises SessionBusy for one that was taken as another one began to want it."""
        if self.is_wanted:
            raise SessionBusy("its worker runs another one alone, which may have ended workers")
        if session.losses < SUSPECT_LOSSES:
            yield
            return
        self.is_wanted = True
        try:
            while has_others():  # noqa: ASYNC110 - they end in many ways
                await asyncio.sleep(_SOLITUDE_LOOK_SECS)
            yield
        finally:
            self.is_wanted = False


class FleetWorker:
    """Runs jobs until it is cancelled. A job that fails in any way is tried again: a session that is advanced
    twice does nothing twice."""

    def __init__(
        self,
        table: FleetTable,
        connect_options: Mapping[str, str],
        advance: AdvanceSession,
        *,
        concurrency: int,
        identity: WorkerIdentity | None,
    ) -> None:
        self._table = table
        self._advance = advance
        self._concurrency = concurrency
        self._connect_options = dict(connect_options)
        self._identity = identity
        self._jobs: FleetJobs | None = None
        self._solitude = Solitude()
        self._is_ending = False
        _silence_library()

    async def run(self, *, until_empty: bool) -> None:
        """Work. The database may go away and come back; cancelled, it ends once its sessions do."""
        working = asyncio.ensure_future(self._work(until_empty=until_empty))
        try:
            await asyncio.shield(working)
        except asyncio.CancelledError:
            self._is_ending = True
            # The next signal may end this process at once: then the sessions that run were not killed.
            if self._jobs is not None:
                await self._jobs.drain()
            working.cancel()
            await asyncio.wait([working])
            raise

    async def _work(self, *, until_empty: bool) -> None:
        while not self._is_ending:
            app, jobs = self._build_app()
            try:
                async with app.open_async():
                    self._jobs = jobs
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
                        self._jobs = None
                if until_empty:
                    return
            except (ConnectorException, psycopg.Error, OSError):
                pass  # it is away as the worker begins
            await asyncio.sleep(_RECONNECT_SECS)

    async def _run_job(self, context: JobContext, session_id: str) -> None:
        session = await asyncio.to_thread(self._table.begin_attempt, session_id)
        if session is None:
            return
        try:
            async with self._solitude.enter(session, self._has_others):
                advance = await self._advance(
                    session, lambda: context.abort_reason() is AbortReason.USER_REQUEST
                )
        except SessionKilled as killed:
            if not await asyncio.to_thread(self._table.put_kill, session_id, str(killed)):
                raise
        except SessionBusy as busy:
            await asyncio.to_thread(self._table.put_delay, session_id, str(busy))
            raise
        else:
            await asyncio.to_thread(self._table.put, session_id, advance)

    def _has_others(self) -> bool:
        return self._jobs is not None and self._jobs.has_others

    async def _rescue_regularly(self, jobs: FleetJobs) -> None:
        while True:
            try:
                await self._rescue(jobs)
            except LedgerError:
                pass  # it was waited for; what is not counted is tried once more
            except (ConnectorException, psycopg.Error):
                with suppress(LedgerError):  # it is waited for, and whoever watches outages is told
                    await run_in_thread(lambda _stop: self._table.find(""))
                await asyncio.sleep(GONE_SECS)  # the others have been silent, too
            await asyncio.sleep(_LOOK_SECS * random.uniform(0.5, 1.5))

    async def _rescue(self, jobs: FleetJobs) -> None:
        lost = await jobs.rescue()
        await run_in_thread(lambda _stop: [self._table.put_loss(each, was_alone=alone) for each, alone in lost])
        await jobs.remove_gone()

    async def _put_worker_kill(self, loss: Loss) -> None:
        await run_in_thread(
            lambda _stop: self._table.put_worker_kill(loss.session_id, was_alone=loss.was_alone)
        )

    def _build_app(self) -> tuple[App, FleetJobs]:
        # Each ask has a connection of its own: a pool that lost its own waits long before it makes others.
        connector = PsycopgConnector(
            kwargs=self._connect_options,
            pool_factory=AsyncNullConnectionPool,
            min_size=0,
            max_size=4,
            timeout=_CONNECT_SECS,
        )
        app = App(connector=connector)
        app.job_manager = jobs = FleetJobs(
            connector,
            self._identity,
            is_ending=lambda: self._is_ending,
            is_full=lambda: self._solitude.is_wanted,
            put_kill=self._put_worker_kill,
        )
        # That it is tried again is decided here, and for how long it waits in FleetJobs.
        app.task(name=TASK, queue=QUEUE, pass_context=True, retry=RetryStrategy())(self._run_job)
        return app, jobs


class PostgresFleet(FleetTable):
    """Implements `Fleet` in the database of the sessions."""

    async def advance_sessions(
        self,
        advance: AdvanceSession,
        *,
        concurrency: int,
        until_empty: bool,
        worker: WorkerIdentity | None = None,
    ) -> None:
        """Advance sessions as they are queued, at most so many at once. Cancelled, it ends when they do."""
        options = self._server.build_connect_options()
        queue = FleetWorker(self, options, advance, concurrency=concurrency, identity=worker)
        await queue.run(until_empty=until_empty)


def _silence_library() -> None:
    """What becomes of sessions is said elsewhere; a log without a handler would be printed."""
    for name in ("procrastinate", "psycopg"):
        log = logging.getLogger(name)
        if not log.handlers:
            log.addHandler(logging.NullHandler())
            log.propagate = False
