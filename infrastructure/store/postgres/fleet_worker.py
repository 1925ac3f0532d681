"""A worker of a fleet: takes jobs from the queue of procrastinate, and has each session advanced."""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import psycopg
from procrastinate import App, JobContext, PsycopgConnector, RetryStrategy
from procrastinate.exceptions import ConnectorException
from procrastinate.job_context import AbortReason

from quorum.application.ports.fleet import AdvanceSession, SessionBusy
from quorum.domain.fleet_session import Advance, FleetSession
from quorum.infrastructure.store.postgres.fleet_queue import QUEUE, TASK

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEARTBEAT_SECS = 3.0
GONE_SECS = 15.0
"""After so long without a sign of life, a worker counts as gone."""
_LOOK_SECS = 5.0
"""How often each worker looks for jobs of those that are gone, and, besides being notified, for new ones."""
_RETRY_SECS = 5
_RECONNECT_SECS = 1.0
_GRACE_SECS = 30.0
"""How long a worker that is asked to end waits for its sessions. Then they are left to others."""


class FleetTable(Protocol):
    """What a worker needs of the sessions. All block and raise LedgerError."""

    def find(self, session_id: str) -> FleetSession | None:
        """The session of exactly this id."""
        ...

    def put(self, session_id: str, advance: Advance) -> None:
        """Keep what came of advancing a session."""
        ...

    def put_delay(self, session_id: str, reason: str) -> None:
        """Keep why a session could not be advanced; it stays queued."""
        ...


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
    ) -> None:
        self._table = table
        self._advance = advance
        self._concurrency = concurrency
        self._connect_options = dict(connect_options)
        _silence_library()

    async def run(self, *, until_empty: bool) -> None:
        """Work. The database may go away and come back meanwhile; cancelled, it ends once its sessions do."""
        while True:
            app = self._build_app()
            try:
                async with app.open_async():
                    rescue = asyncio.ensure_future(_rescue_regularly(app))
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
                pass  # it restarts, or this worker was taken for gone: begin anew
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

    def _build_app(self) -> App:
        # A few connections: one listens for new jobs for as long as the worker runs.
        connector = PsycopgConnector(kwargs=self._connect_options, min_size=1, max_size=4, timeout=10.0)
        app = App(connector=connector)
        retry = RetryStrategy(wait=_RETRY_SECS, linear_wait=1)  # a second more each time
        app.task(name=TASK, queue=QUEUE, pass_context=True, retry=retry)(self._run_job)
        return app


async def _rescue_regularly(app: App) -> None:
    """Queue jobs of workers that are gone again. Two that do so at once do no harm."""
    while True:
        with suppress(ConnectorException, psycopg.Error):
            stalled = await app.job_manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=GONE_SECS)
            for job in stalled:
                with suppress(ConnectorException):  # another worker was first
                    await app.job_manager.retry_job(job)
        await asyncio.sleep(_LOOK_SECS * random.uniform(0.5, 1.5))


def _silence_library() -> None:
    """What becomes of sessions is said elsewhere; a log without a handler would be printed."""
    for name in ("procrastinate", "psycopg.pool"):
        log = logging.getLogger(name)
        if not log.handlers:
            log.addHandler(logging.NullHandler())
            log.propagate = False
