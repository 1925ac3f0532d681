"""The numbers of a fleet: what they count, and their text for Prometheus."""

from __future__ import annotations

from decimal import Decimal

from quorum.domain.fleet_session import (
    Advance,
    FleetSession,
    FleetState,
    LiveWorker,
    WorkerIdentity,
    measure_fleet,
    render_prometheus,
)


def a_session(number: int, state: FleetState, status: str = "", **more: int) -> FleetSession:
    times = {"submitted_ms": 1_000, "updated_ms": 1_000, **more}
    return FleetSession(
        session_id=str(number),
        name="a",
        cwd="/w",
        submitted_by="ada",
        advance=Advance(state=state, status=status),
        **times,
    )


SESSIONS = (
    a_session(1, FleetState.QUEUED, submitted_ms=4_000),
    a_session(2, FleetState.QUEUED, attempts=2, updated_ms=9_000, kills=1),
    a_session(3, FleetState.REVIEW_OPEN, updated_ms=3_000),
    a_session(4, FleetState.FAILED, "failed", kills=3),
    a_session(5, FleetState.ENDED, "limit"),
    a_session(6, FleetState.ENDED, "completed"),
)
WORKERS = (LiveWorker(identity=WorkerIdentity(name="p"), is_draining=True, sessions=()),)


def test_each_number_is_there_with_its_age_kind_and_cost() -> None:
    costs = {"5": Decimal("0.25"), "6": Decimal("0.5"), "of no fleet": Decimal(9)}

    text = render_prometheus(tuple(measure_fleet(SESSIONS, WORKERS, costs, now_ms=10_000)))

    lines = text.splitlines()
    for expected in (
        'quorum_fleet_sessions{state="queued"} 2',
        'quorum_fleet_sessions{state="review_open"} 1',
        'quorum_fleet_sessions{state="running"} 0',
        "quorum_fleet_queue_oldest_seconds 6",
        "quorum_fleet_review_oldest_seconds 7",
        'quorum_fleet_failures{kind="set_aside"} 1',
        'quorum_fleet_failures{kind="failed"} 0',
        'quorum_fleet_failures{kind="limit"} 1',
        "quorum_fleet_kills 4",
        "quorum_fleet_attempts 2",
        'quorum_fleet_workers{draining="true"} 1',
        'quorum_fleet_workers{draining="false"} 0',
        "quorum_fleet_cost_usd 0.75",
    ):
        assert expected in lines
    names = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(names) == len(set(names)) == 9
    assert text.endswith("\n")


def test_large_numbers_are_whole() -> None:
    busy = (a_session(1, FleetState.RUNNING, attempts=1_234_567),)

    text = render_prometheus(tuple(measure_fleet(busy, (), {"1": Decimal("54321.25")}, now_ms=10_000)))

    assert "quorum_fleet_attempts 1234567\n" in text
    assert "quorum_fleet_cost_usd 54321.25\n" in text


def test_of_an_empty_fleet_all_numbers_are_zero() -> None:
    gauges = tuple(measure_fleet((), (), {}, now_ms=0))

    assert {gauge.value for gauge in gauges} == {0}
    assert len(gauges) > 15


def test_large_numbers_lose_no_digits() -> None:
    sessions = (a_session(1, FleetState.QUEUED, submitted_ms=0),)
    costs = {"1": Decimal("12345.6789")}

    lines = render_prometheus(tuple(measure_fleet(sessions, (), costs, now_ms=1_234_567_891))).splitlines()

    assert "quorum_fleet_queue_oldest_seconds 1234567.891" in lines
    assert "quorum_fleet_cost_usd 12345.6789" in lines
