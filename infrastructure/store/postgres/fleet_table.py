"""The tables of the fleet in PostgreSQL: its sessions, and the queue of jobs that advance them.

The queue consists of the tables of procrastinate, written in transactions of the ledger.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from sqlalchemy.engine import Row

from quorum.application.identifiers import generate_id
from quorum.domain.calls.execution import Outcome
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import CallFinished, CallStarted
from quorum.domain.events.report import RunStatus
from quorum.domain.fleet_session import (
    MOST_KILLS,
    MOST_LOSSES,
    MOST_UNCLEAR_LOSSES,
    Advance,
    FleetRequest,
    FleetSession,
    FleetState,
    LiveWorker,
    WorkerIdentity,
)
from quorum.infrastructure.answerer import name_answerer
from quorum.infrastructure.store.postgres.address import PostgresAddress
from quorum.infrastructure.store.postgres.connection import PostgresConnection
from quorum.infrastructure.store.postgres.server import PostgresServer
from quorum.infrastructure.store.sql.connection import NO_VALUES, SqlConnection, Values
from quorum.infrastructure.store.sql.rows import build_insert
from quorum.infrastructure.store.sql.writer import encode_text

QUEUE = "quorum"
TASK = "advance_session"
GONE_SECS = 15.0
"""After so long without a sign of life, a worker counts as gone."""
_LIBRARY = "procrastinate"
_ALONE = 0x71756F73  # two that make the tables at once wait for each other
_ENQUEUE = (
    "SELECT procrastinate_defer_jobs_v1(ARRAY[ROW(:queue, :task, :place, :lock, NULL,"
    " CAST(:args AS jsonb), NULL)::procrastinate_job_to_defer_v1])"
)
_STATE = "SELECT state FROM fleet_sessions WHERE session_id = :session_id FOR UPDATE"
_CANCEL = (
    "SELECT procrastinate_cancel_job_v1(id, true, false) FROM procrastinate_jobs"
    " WHERE lock = :lock AND status IN ('todo', 'doing')"
)


# Beside the tables of revisions: a worker of an earlier quorum goes on with these beside it, and without them.
_OWN_TABLES = {
    "fleet_queue": """CREATE TABLE fleet_queue (
    session_id text PRIMARY KEY REFERENCES fleet_sessions ON DELETE CASCADE,
    priority integer NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    kills integer NOT NULL DEFAULT 0,
    losses integer NOT NULL DEFAULT 0
)""",
    "fleet_workers": """CREATE TABLE fleet_workers (
    worker_id bigint PRIMARY KEY REFERENCES procrastinate_workers ON DELETE CASCADE,
    name text NOT NULL,
    server_id text NOT NULL,
    is_draining boolean NOT NULL DEFAULT false,
    version text NOT NULL,
    folder text NOT NULL
)""",
    "fleet_metrics": """CREATE TABLE fleet_metrics (
    collector text PRIMARY KEY,
    instance text NOT NULL,
    sender text NOT NULL,
    until timestamptz NOT NULL
)""",
}


# A worker of an earlier quorum takes a goal for a prompt.
_ADD_GOALS = "ALTER TABLE fleet_sessions ADD COLUMN IF NOT EXISTS checks text"
_FIND_GOALS = "SELECT FROM pg_attribute WHERE attrelid = to_regclass('fleet_sessions') AND attname = 'checks'"


def make_queue(connection: PostgresConnection) -> None:
    """Make the tables of the queue, in the transaction of this connection, if there are none."""
    if all(_has_table(connection, name) for name in _OWN_TABLES) and _has_goals(connection):
        return
    connection.execute(f"SELECT pg_advisory_xact_lock({_ALONE})")
    # Not through SQLAlchemy, which would look for parameters in it.
    cursor = connection.pooled.connection.cursor()
    if not _has_table(connection, "procrastinate_jobs"):
        cursor.execute((resources.files(f"{_LIBRARY}.sql") / "schema.sql").read_text(encoding="utf-8"))
    for name, statement in _OWN_TABLES.items():
        if not _has_table(connection, name):
            cursor.execute(statement)
    cursor.execute(_ADD_GOALS)


def _has_goals(connection: SqlConnection) -> bool:
    return connection.execute(_FIND_GOALS).fetchone() is not None


def _has_table(connection: SqlConnection, name: str) -> bool:
    row = connection.execute("SELECT to_regclass(:name)", {"name": name}).fetchone()
    return row is not None and row[0] is not None


_SPAN = 100_000_000
"""So many ranks has each priority in the queue, whose jobs are taken by the highest number."""
# Of a session that was advanced before, the rank says nothing about how far its submitter is: it is the first.
_NEW = (
    "FROM procrastinate_jobs AS j JOIN fleet_sessions AS s ON s.session_id = j.lock"
    " WHERE j.priority > :below AND j.priority <= :top AND s.state IS NULL AND j.status IN ('todo', 'doing')"
)
_NEXT_OF_ALL = (
    "SELECT max(j.priority) FILTER (WHERE j.status = 'todo' AND j.attempts = 0), min(j.priority)"
    f" FILTER (WHERE j.status = 'doing') {_NEW}"
)
_LAST_OF_ONE = f"SELECT min(j.priority) {_NEW} AND s.submitted_by = :submitted_by"
_PRIORITY = "SELECT priority FROM fleet_queue WHERE session_id = :session_id"


class _Places:
    """The places in the queue for the sessions of one submitter, in one transaction.

    The first of each submitter that waits comes before the second of any, and who comes later begins where the
    others are: each has the same share of the workers, however many they submit.
    """

    def __init__(self, connection: SqlConnection, submitted_by: str) -> None:
        connection.execute(f"SELECT pg_advisory_xact_lock({_ALONE})")
        self._connection = connection
        self._submitted_by = submitted_by
        self._last: dict[int, int] = {}

    def take(self, priority: int) -> int:
        """The next one, as the number by which jobs are taken."""
        top = priority * _SPAN
        last = self._last.get(priority)
        place = self._find_first(top) if last is None else last - 1
        self._last[priority] = place
        return max(place, top - _SPAN + 1)

    def _find_first(self, top: int) -> int:
        limits = {"below": top - _SPAN, "top": top}
        waiting, running = self._connection.execute(_NEXT_OF_ALL, limits).fetchone() or (None, None)
        row = self._connection.execute(_LAST_OF_ONE, {**limits, "submitted_by": self._submitted_by}).fetchone()
        front = next((place for place in (waiting, running) if place is not None), top)
        own = row[0] if row is not None else None
        return int(front if own is None else min(front, own - 1))


def enqueue(connection: SqlConnection, session_id: str, place: int) -> None:
    """Have a worker advance this session, once the transaction is committed."""
    connection.execute(
        _ENQUEUE,
        {
            "queue": QUEUE,
            "task": TASK,
            "place": place,
            "lock": session_id,  # one at a time advances it, and in this order
            "args": json.dumps({"session_id": session_id}),
        },
    )


def enqueue_answered(connection: SqlConnection, session_id: str) -> None:
    """The same after an answer to a review of it, if it is a session of the fleet that is not over."""
    row = connection.execute(_STATE, {"session_id": session_id}).fetchone()
    if row is not None and not ((state := row[0]) and FleetState(state).is_final):
        enqueue(connection, session_id, _find_top(connection, session_id))


def _find_top(connection: SqlConnection, session_id: str) -> int:
    """The first place of a session's priority: what has begun comes before what has not."""
    if not _has_table(connection, "fleet_queue"):
        return 0
    row = connection.execute(_PRIORITY, {"session_id": session_id}).fetchone()
    return int(row[0]) * _SPAN if row is not None else 0


class FleetRows:
    """Implements `SubmittedSessions`."""

    def forget(self, connection: SqlConnection, session_id: str) -> None:
        """Remove a session of the fleet whose record is removed, and its jobs."""
        if _has_table(connection, "procrastinate_jobs"):
            cancel_jobs(connection, session_id)
        connection.execute("DELETE FROM fleet_sessions WHERE session_id = :id", {"id": session_id})

    def prune_unbegun(
        self, connection: SqlConnection, before_ms: int, cwd: str | None, *, dry_run: bool
    ) -> int:
        values = {"before": before_ms, "cwd": encode_text(cwd or ""), "everywhere": cwd is None}
        if dry_run:
            row = connection.execute(f"SELECT count(*) {_UNBEGUN}", values).fetchone()
            return int(row[0]) if row is not None else 0
        return len(connection.execute(f"DELETE {_UNBEGUN} RETURNING session_id", values).fetchall())


def cancel_jobs(connection: SqlConnection, session_id: str) -> None:
    """Remove the jobs of a session that wait, and have the worker stop that runs one."""
    connection.execute(_CANCEL, {"lock": session_id})


# Whether a session is queued or runs is what the queue says; `state` is what came of it last, NULL before the
# first time. `prompt` is NULL once a turn has begun with it: the record has it then.
_ADDED = (
    "session_id",
    "name",
    "cwd",
    "key",
    "prompt",
    "checks",
    "submitted_by",
    "submitted_ms",
    "updated_ms",
    "status",
    "error",
)
_ADD_PRIORITY = build_insert("fleet_queue", ("session_id", "priority"))
_ADD = f"{build_insert('fleet_sessions', _ADDED)} ON CONFLICT DO NOTHING"
_FINAL = ", ".join(f"'{state.value}'" for state in FleetState if state.is_final)
_UNBEGUN = (
    f"FROM fleet_sessions WHERE state IN ({_FINAL}) AND updated_ms <= :before AND (:everywhere OR cwd = :cwd)"
    " AND NOT EXISTS (SELECT FROM sessions WHERE id = session_id)"
)
_FREE_KEY = (
    f"UPDATE fleet_sessions SET key = NULL WHERE key = :of AND state IN ({_FINAL})"
    f" AND status <> '{RunStatus.COMPLETED.value}'"
)
_PROMPT_UNTIL_BEGUN = "CASE WHEN NOT EXISTS (SELECT FROM sessions WHERE id = :id AND turns > 0) THEN prompt END"
_PUT = (
    "UPDATE fleet_sessions SET state = :state, status = :status, error = :error, updated_ms = :updated_ms,"
    f" prompt = CASE WHEN :state = 'failed' THEN {_PROMPT_UNTIL_BEGUN} END"
    f" WHERE session_id = :id AND COALESCE(state, '') NOT IN ({_FINAL})"
)
_PUT_DELAY = (
    "UPDATE fleet_sessions SET error = :error, updated_ms = :updated_ms"
    f" WHERE session_id = :id AND COALESCE(state, '') NOT IN ({_FINAL})"
)
_SET_ASIDE = (
    "UPDATE fleet_sessions SET state = 'failed', status = 'failed', error = :error, updated_ms = :updated_ms,"
    f" prompt = {_PROMPT_UNTIL_BEGUN} WHERE session_id = :id AND COALESCE(state, '') NOT IN ({_FINAL})"
)
_PUT_COUNT = (
    "INSERT INTO fleet_queue (session_id, {0}) VALUES (:id, :counted)"
    " ON CONFLICT (session_id) DO UPDATE SET {0} = :counted"
)
_PUT_ATTEMPTS, _PUT_KILLS, _PUT_LOSSES = map(_PUT_COUNT.format, ("attempts", "kills", "losses"))
_END_ATTEMPT = "UPDATE fleet_queue SET kills = 0, losses = 0 WHERE session_id = :id"
_LAST_CALL = (
    f"SELECT payload FROM records WHERE session_id = :id AND type = '{CallStarted.type}'"
    " ORDER BY rowid DESC LIMIT 1"
)
_SINCE = (
    "EXISTS (SELECT FROM records AS r JOIN fleet_sessions AS s ON s.session_id = r.session_id"
    " WHERE r.session_id = :id AND r.type ="
)
_PROGRESS = (
    f"SELECT {_SINCE} '{CallStarted.type}' AND r.at_ms >= s.updated_ms), {_SINCE} '{CallFinished.type}'"
    " AND r.at_ms > s.updated_ms AND position(:well IN r.payload) > 0)"
)
"""Whether a call of the session began since it was lost before, and whether one ended well."""
_ENDED_WELL = f'"outcome":"{Outcome.OK}"'.encode()
_LONGEST_CALL = 200
_RETRY = (
    "UPDATE fleet_sessions SET state = NULL, status = '', error = '', updated_ms = :updated_ms"
    " WHERE session_id = :id AND state = 'failed'"
)
_SELECT = (
    "SELECT session_id, name, cwd, submitted_by, submitted_ms, updated_ms, prompt, checks, state, status,"
    " error, COALESCE(priority, 0) AS priority, COALESCE(attempts, 0) AS attempts,"
    " COALESCE(kills, 0) AS kills, COALESCE(losses, 0) AS losses"
    " FROM fleet_sessions LEFT JOIN fleet_queue USING (session_id)"
)
_CLAIM_METRICS = (
    "INSERT INTO fleet_metrics (collector, instance, sender, until)"
    " VALUES (:collector, :instance, :sender, clock_timestamp() + make_interval(secs => :secs))"
    " ON CONFLICT (collector) DO UPDATE SET sender = excluded.sender, until = excluded.until"
    " WHERE fleet_metrics.sender = excluded.sender OR fleet_metrics.until < clock_timestamp()"
    " RETURNING instance"
)
_WORKER_NAME = "COALESCE(w.name, 'worker ' || j.worker_id)"
_JOBS = (
    f"SELECT j.lock, CAST(j.status AS text) AS status, {_WORKER_NAME} AS worker,"
    " CASE WHEN j.scheduled_at > now() THEN CAST(extract(epoch FROM j.scheduled_at) * 1000 AS bigint) END"
    " AS parked_until_ms FROM procrastinate_jobs AS j LEFT JOIN fleet_workers AS w USING (worker_id)"
    " WHERE j.status IN ('todo', 'doing')"
)
_WORKERS = (
    "SELECT p.id, w.name, w.version, w.folder, COALESCE(w.is_draining, false) AS is_draining,"
    " array_remove(array_agg(j.lock ORDER BY j.id), NULL) AS sessions"
    " FROM procrastinate_workers AS p LEFT JOIN fleet_workers AS w ON w.worker_id = p.id"
    " LEFT JOIN procrastinate_jobs AS j ON j.worker_id = p.id AND j.status = 'doing'"
    f" WHERE p.last_heartbeat > now() - interval '{GONE_SECS} seconds'"
    " GROUP BY p.id, w.worker_id ORDER BY p.id"
)


class FleetTable:
    """What `Fleet` keeps in the database of the sessions; all but what advances them."""

    def __init__(self, address: PostgresAddress, environ: Mapping[str, str]) -> None:
        """Open it, and make the tables of its queue if there are none. Blocks.

        Raises ConfigError and LedgerError.
        """
        self._server = PostgresServer(address, environ)
        try:
            self._server.check()
            self._server.write(make_queue)
        except BaseException:
            self._server.close()
            raise

    def submit(
        self, requests: Sequence[FleetRequest], *, retry_failed: bool = False
    ) -> tuple[FleetSession, ...]:
        """Have these advanced: all of them, or none. Without those whose key was submitted before."""
        new = {generate_id(): request for request in requests}

        def add(connection: PostgresConnection) -> None:
            places = _Places(connection, encode_text(name_answerer()))
            for session_id, request in new.items():
                if retry_failed and request.key:
                    connection.execute(_FREE_KEY, {"of": encode_text(request.key)})
                if connection.execute(_ADD, self._build_row(session_id, request)).rowcount:
                    values = {"session_id": session_id, "priority": request.priority}
                    connection.execute(_ADD_PRIORITY, values)
                    enqueue(connection, session_id, places.take(request.priority))

        self._server.write(add)
        return tuple(session for session in self.list_sessions() if session.session_id in new)

    def list_sessions(self) -> tuple[FleetSession, ...]:
        return self._read(f"{_SELECT} ORDER BY number")

    def find(self, session_id: str) -> FleetSession | None:
        found = self._read(f"{_SELECT} WHERE session_id = :id", {"id": session_id})
        return found[0] if found else None

    def cancel(self, session_ids: Sequence[str]) -> tuple[str, ...]:
        cancelled: dict[str, None] = {}  # the transaction may be done twice

        def end(connection: PostgresConnection) -> None:
            for session_id in session_ids:
                if self._put(connection, session_id, Advance(state=FleetState.CANCELLED)):
                    cancel_jobs(connection, session_id)
                    cancelled[session_id] = None

        self._server.write(end)
        return tuple(cancelled)

    def retry(self, session_ids: Sequence[str]) -> tuple[str, ...]:
        """Queue these again, as they were; the ids of those that had failed, or were set aside."""
        retried: dict[str, None] = {}  # the transaction may be done twice

        def queue(connection: PostgresConnection) -> None:
            for session_id in session_ids:
                if connection.execute(_RETRY, {"id": session_id, "updated_ms": self.read_clock_ms()}).rowcount:
                    connection.execute(_END_ATTEMPT, {"id": session_id})
                    enqueue(connection, session_id, _find_top(connection, session_id))
                    retried[session_id] = None

        self._server.write(queue)
        return tuple(retried)

    def put(self, session_id: str, advance: Advance) -> None:
        """Keep what came of advancing a session. One that was cancelled stays so."""
        self._server.write(lambda connection: self._put(connection, session_id, advance))

    def put_delay(self, session_id: str, reason: str) -> None:
        """Keep why a session is queued again."""
        values = {"id": session_id, "error": encode_text(reason), "updated_ms": self.read_clock_ms()}
        self._server.write(lambda connection: connection.execute(_PUT_DELAY, values))

    def begin_attempt(self, session_id: str) -> FleetSession | None:
        """Count the process that is to be started for a session; None where it has ended."""
        session = self.find(session_id)
        if session is None or session.state.is_final:
            return None
        values = {"id": session_id, "counted": session.attempts + 1}
        self._server.write(lambda connection: connection.execute(_PUT_ATTEMPTS, values))
        return session

    def put_kill(self, session_id: str, last_words: str) -> bool:
        """Keep that the process of a session was killed; whether the session is set aside for that."""
        session, reason = self.find(session_id), f"its process was {last_words}"
        return session is not None and self._put_end(session, _PUT_KILLS, session.kills + 1, MOST_KILLS, reason)

    def put_loss(self, session_id: str, *, was_alone: bool) -> bool:
        """The same where its worker is gone, which is counted already."""
        session, reason = self.find(session_id), "its worker gave no sign of life any more"
        is_cause = was_alone and self._read_progress(session_id) == (True, False)
        most = MOST_LOSSES if is_cause else MOST_UNCLEAR_LOSSES
        return session is not None and self._put_end(session, _PUT_LOSSES, session.losses, most, reason)

    def put_worker_kill(self, session_id: str, *, was_alone: bool) -> None:
        """Keep that the worker of a session was killed and another one took its place: a loss where a call had
        begun and none ended well, the first one again where one did, and none where nothing had begun."""
        if (session := self.find(session_id)) is None:
            return
        began, went_on = self._read_progress(session_id)
        most = MOST_LOSSES if was_alone and began and not went_on else MOST_UNCLEAR_LOSSES
        losses = 0 if went_on else session.losses + began
        self._put_end(session, _PUT_LOSSES, losses, most, "its worker was killed")

    def _read_progress(self, session_id: str) -> tuple[bool, bool]:
        values = {"id": session_id, "well": _ENDED_WELL}
        row = self._server.read(lambda connection: connection.execute(_PROGRESS, values).fetchone())
        return (bool(row[0]), bool(row[1])) if row is not None else (False, False)

    def _put_end(self, session: FleetSession, put_count: str, counted: int, most: int, reason: str) -> bool:
        session_id, is_set_aside = session.session_id, counted >= most

        def keep(connection: PostgresConnection) -> None:
            connection.execute(put_count, {"id": session_id, "counted": counted})
            error = (
                f"set aside after {counted} times in a row{_find_last_call(connection, session_id)}: {reason}; "
                f"quorum fleet retry {session_id} queues it again"
            )
            values = {
                "error": encode_text(error if is_set_aside else reason),
                "updated_ms": self.read_clock_ms(),
            }
            connection.execute(_SET_ASIDE if is_set_aside else _PUT_DELAY, {"id": session_id, **values})

        self._server.write(keep)
        return is_set_aside

    def list_workers(self) -> tuple[LiveWorker, ...]:
        rows = self._server.read(lambda connection: connection.execute(_WORKERS).all())
        return tuple(
            LiveWorker(
                identity=WorkerIdentity(
                    name=row.name or f"worker {row.id}", version=row.version or "", folder=row.folder or ""
                ),
                is_draining=row.is_draining,
                sessions=tuple(row.sessions),
            )
            for row in rows
        )

    def claim_metrics(self, collector: str, sender: str, secs: float) -> str:
        values = {
            "collector": hashlib.sha256(collector.encode()).hexdigest(),  # there may be a password in it
            "instance": generate_id(),
            "sender": sender,
            "secs": secs,
        }
        row = self._server.write(lambda connection: connection.execute(_CLAIM_METRICS, values).fetchone())
        return str(row[0]) if row is not None else ""

    def read_clock_ms(self) -> int:
        return self._server.read_clock_ms()

    def close(self) -> None:
        self._server.close()

    def _put(self, connection: PostgresConnection, session_id: str, advance: Advance) -> bool:
        """Whether the session was there and had not ended."""
        values = {
            "id": session_id,
            "state": advance.state.value,
            "status": advance.status,
            "error": encode_text(advance.error),
            "updated_ms": self.read_clock_ms(),
        }
        connection.execute(_END_ATTEMPT, {"id": session_id})
        return connection.execute(_PUT, values).rowcount > 0

    def _read(self, query: str, values: Values = NO_VALUES) -> tuple[FleetSession, ...]:
        rows, jobs = self._server.read(
            lambda connection: (connection.execute(query, values).all(), connection.execute(_JOBS).all())
        )
        found: dict[str, Row[Any]] = {}
        for job in jobs:
            if job.status == "doing" or job.lock not in found:
                found[job.lock] = job
        return tuple(_read_row(row, found.get(row.session_id)) for row in rows)

    def _build_row(self, session_id: str, request: FleetRequest) -> dict[str, object]:
        now = self.read_clock_ms()
        return {
            "session_id": session_id,
            "name": encode_text(request.name),
            "cwd": encode_text(request.cwd),
            "key": encode_text(request.key) or None,
            "prompt": encode_text(request.prompt),
            "checks": None if request.checks is None else json.dumps(request.checks),
            "submitted_by": encode_text(name_answerer()),
            "submitted_ms": now,
            "updated_ms": now,
            "status": "",
            "error": "",
        }


def _find_last_call(connection: SqlConnection, session_id: str) -> str:
    row = connection.execute(_LAST_CALL, {"id": session_id}).fetchone()
    try:
        begun = json.loads(row[0]) if row is not None else {}
        return f", its last call was {begun['tool']} {json.dumps(begun['arguments'])[:_LONGEST_CALL]}"
    except (ValueError, TypeError, KeyError):  # none, or one that was redacted
        return ""


def _read_row(row: Row[Any], job: Row[Any] | None) -> FleetSession:
    """A session; its job is the one that runs or, if none does, one that is queued."""
    try:
        state = FleetState(row.state) if row.state else FleetState.QUEUED
    except ValueError as error:
        raise LedgerError(
            f"the session {row.session_id} of the fleet has an unknown state; update quorum"
        ) from error
    if state.is_final:
        job = None
    elif job is not None:
        state = FleetState.RUNNING if job.status == "doing" else FleetState.QUEUED
    return FleetSession(
        session_id=row.session_id,
        name=row.name,
        cwd=row.cwd,
        submitted_by=row.submitted_by,
        submitted_ms=row.submitted_ms,
        updated_ms=row.updated_ms,
        prompt=row.prompt,
        checks=tuple(map(str, json.loads(row.checks))) if row.checks is not None else None,
        priority=row.priority,
        attempts=row.attempts,
        kills=row.kills,
        losses=row.losses,
        parked_until_ms=job.parked_until_ms if job is not None and state is FleetState.QUEUED else None,
        worker=job.worker or "" if job is not None and state is FleetState.RUNNING else "",
        advance=Advance(state=state, status=row.status, error=row.error),
    )
