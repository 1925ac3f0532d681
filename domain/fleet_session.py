"""A session of a fleet: what is asked of it, how far it is, and what came of it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field


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
    asked for after that did not complete; an empty key is no key.
    """

    prompt: str
    cwd: str
    name: str = ""
    key: str = ""


class Advance(Struct, frozen=True, kw_only=True):
    """What came of advancing a session once: how far it is now, how its turn ended if it did (a word of
    `RunStatus`), and what went wrong."""

    state: FleetState
    status: str = ""
    error: str = ""


class FleetSession(Struct, frozen=True, kw_only=True):
    """A session that was submitted. Times are milliseconds since 1970, UTC.

    `prompt` is there until a turn has begun with it: from then on it is in the record of the session alone.
    """

    session_id: str
    name: str
    cwd: str
    submitted_by: str
    submitted_ms: int
    updated_ms: int
    prompt: str | None = None
    advance: Advance = field(default_factory=lambda: Advance(state=FleetState.QUEUED))

    @property
    def state(self) -> FleetState:
        """How far it is."""
        return self.advance.state
