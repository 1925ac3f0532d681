"""How a fleet stands, as numbers for those who watch it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from quorum.domain.events.report import RunStatus
from quorum.domain.fleet_session import FleetSession, FleetState, LiveWorker

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
        lines.append(f"{name}{{{labels}}} {gauge.value:g}" if labels else f"{name} {gauge.value:g}")
    return "".join(f"{line}\n" for line in lines)
