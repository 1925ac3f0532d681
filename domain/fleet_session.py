"""A session of a fleet: what is asked of it, how far it is, and what came of it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

MOST_KILLS = 3
"""A session whose process was killed so often in a row is set aside."""
MOST_LOSSES = 3
"""The same where it was lost with its worker, which ran nothing else."""
SUSPECT_LOSSES = MOST_LOSSES - 1
"""A session that was lost so often is advanced alone by its worker, which shows whether it is the cause."""
MOST_UNCLEAR_LOSSES = 10
"""A session that may not be the cause is set aside, too, once it was lost so often: its worker ran others, or
no call of it began since it was lost before, or one ended well."""
LEAST_PRIORITY, MOST_PRIORITY = -9, 9


class FleetState(StrEnum):
    """How far a session of a fleet is."""

    QUEUED = "queued"
    RUNNING = "running"
    REVIEW_OPEN = "review open"
    ENDED = "ended"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether nothing advances it any more."""
        return self in (FleetState.ENDED, FleetState.FAILED, FleetState.CANCELLED)


class FleetRequest(Struct, frozen=True, kw_only=True):
    """One prompt in one folder, an absolute path. `name` is for people.

    Of the requests with the same `key`, only the first becomes a session, and another one only where it is
    asked for after that did not complete; an empty key is no key. Those of a higher `priority` come first, and
    of one priority the submitters take turns. With `checks`, none or several, the prompt is a goal.
    """

    prompt: str
    cwd: str
    name: str = ""
    key: str = ""
    priority: int = 0
    checks: tuple[str, ...] | None = None


class Advance(Struct, frozen=True, kw_only=True):
    """What came of advancing a session once: how far it is now, how its turn ended if it did (a word of
    `RunStatus`), and what went wrong."""

    state: FleetState
    status: str = ""
    error: str = ""


class FleetSession(Struct, frozen=True, kw_only=True):
    """A session that was submitted. Times are milliseconds since 1970, UTC, by the clock of the database.

    `prompt` is there until a turn has begun with it: from then on it is in the record of the session alone.
    `attempts` counts the processes that were started for it, `kills` the latest of them that were killed, and
    `losses` those that were lost with their worker. Queued, it may be parked until a time; running, it has the
    name of its worker.
    """

    session_id: str
    name: str
    cwd: str
    submitted_by: str
    submitted_ms: int
    updated_ms: int
    prompt: str | None = None
    checks: tuple[str, ...] | None = None
    priority: int = 0
    attempts: int = 0
    kills: int = 0
    losses: int = 0
    parked_until_ms: int | None = None
    worker: str = ""
    advance: Advance = field(default_factory=lambda: Advance(state=FleetState.QUEUED))

    @property
    def state(self) -> FleetState:
        """How far it is."""
        return self.advance.state

    @property
    def is_set_aside(self) -> bool:
        """Whether it failed because its process was killed each time."""
        is_too_often = self.kills >= MOST_KILLS or self.losses >= MOST_LOSSES
        return self.state is FleetState.FAILED and is_too_often


class WorkerIdentity(Struct, frozen=True, kw_only=True):
    """A worker as people know it: `name` says its process and machine, `version` is that of its quorum.

    Of the workers that one fork server (`server_id`) starts, only the last one lives.
    """

    name: str
    server_id: str = ""
    version: str = ""
    folder: str = ""


class LiveWorker(Struct, frozen=True, kw_only=True):
    """A worker that gives signs of life, and the ids of the sessions that it runs. One that is draining takes
    no other."""

    identity: WorkerIdentity
    is_draining: bool
    sessions: tuple[str, ...]
