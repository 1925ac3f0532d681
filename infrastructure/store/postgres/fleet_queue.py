"""The queue of jobs that advance sessions: tables of procrastinate, written in transactions of the ledger.

Only its SQL functions are used here, so that whoever answers a review needs no library to queue its session.
"""

from __future__ import annotations

import json
from importlib import resources

from quorum.domain.fleet_session import FleetState
from quorum.infrastructure.store.postgres.connection import PostgresConnection
from quorum.infrastructure.store.sql.connection import SqlConnection

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
