"""A session of a fleet: what is asked of it, how far it is, and what came of it; and the fleet in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct, field

from quorum.domain.events.report import RunStatus

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


_SCOPE = "quorum.fleet"
_SET_ASIDE = "set_aside"


class FleetGauge(Struct, frozen=True, kw_only=True):
    """One number of a fleet. `attributes` tell it from others of the same name."""

    name: str
    unit: str
    description: str
    value: float
    attributes: Mapping[str, str] = {}


def measure_fleet(
    sessions: Sequence[FleetSession],
    workers: Sequence[LiveWorker],
    costs: Mapping[str, Decimal],
    *,
    now_ms: int,
) -> Iterator[FleetGauge]:
    """All numbers, those that are 0 too: whoever watches them sees no gaps. `costs` are known ones in US
    dollars, by session."""
    states = Counter(session.state for session in sessions)
    for state in FleetState:
        yield FleetGauge(
            name=f"{_SCOPE}.sessions",
            unit="{session}",
            description="Sessions that are listed, by how far they are",
            value=states[state],
            attributes={"state": state.value.replace(" ", "_")},
        )
    queued = [
        each.updated_ms if each.attempts else each.submitted_ms
        for each in sessions
        if each.state is FleetState.QUEUED
    ]
    yield FleetGauge(
        name=f"{_SCOPE}.queue.oldest",
        unit="s",
        description="How long the oldest queued session has waited",
        value=_find_age(queued, now_ms),
    )
    yield FleetGauge(
        name=f"{_SCOPE}.review.oldest",
        unit="s",
        description="How long the oldest session with an open review has waited",
        value=_find_age([each.updated_ms for each in sessions if each.state is FleetState.REVIEW_OPEN], now_ms),
    )
    kinds = Counter(map(_name_failure, sessions))
    for kind in (_SET_ASIDE, *(status.value for status in RunStatus if status is not RunStatus.COMPLETED)):
        yield FleetGauge(
            name=f"{_SCOPE}.failures",
            unit="{session}",
            description="Sessions that ended without completing, by how they did",
            value=kinds[kind],
            attributes={"kind": kind},
        )
    for name, description, value in (
        ("kills", "Kills of processes since their sessions last ended an attempt", _sum(sessions, "kills")),
        ("losses", "Losses with their worker since sessions last ended an attempt", _sum(sessions, "losses")),
        ("attempts", "Processes that were started for the sessions", _sum(sessions, "attempts")),
    ):
        yield FleetGauge(name=f"{_SCOPE}.{name}", unit="1", description=description, value=value)
    for is_draining in (False, True):
        yield FleetGauge(
            name=f"{_SCOPE}.workers",
            unit="{worker}",
            description="Workers that give signs of life",
            value=sum(worker.is_draining is is_draining for worker in workers),
            attributes={"draining": str(is_draining).lower()},
        )
    yield FleetGauge(
        name=f"{_SCOPE}.cost",
        unit="USD",
        description="What the listed sessions have cost, as far as prices are known",
        value=float(sum((costs.get(session.session_id, Decimal(0)) for session in sessions), Decimal(0))),
    )


def _sum(sessions: Sequence[FleetSession], name: str) -> int:
    return sum(getattr(session, name) for session in sessions)


def _find_age(since_ms: Sequence[int], now_ms: int) -> float:
    return max(0, now_ms - min(since_ms)) / 1000 if since_ms else 0.0


def _name_failure(session: FleetSession) -> str:
    if session.is_set_aside:
        return _SET_ASIDE
    return session.advance.status if session.state.is_final else ""


_SUFFIXES = {"s": "_seconds", "USD": "_usd"}


def render_prometheus(gauges: Sequence[FleetGauge]) -> str:
    """The text format that Prometheus reads, version 0.0.4."""
    lines: list[str] = []
    named = ""
    for gauge in gauges:
        name = gauge.name.replace(".", "_") + _SUFFIXES.get(gauge.unit, "")
        if name != named:
            lines += [f"# HELP {name} {gauge.description}", f"# TYPE {name} gauge"]
            named = name
        labels = ",".join(f'{key}="{value}"' for key, value in gauge.attributes.items())
        lines.append(f"{name}{{{labels}}} {gauge.value:.15g}" if labels else f"{name} {gauge.value:.15g}")
    return "".join(f"{line}\n" for line in lines)
