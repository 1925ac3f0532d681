"""The numbers of a fleet as a collector receives them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from threading import Event
from typing import NoReturn, cast

import pytest

from quorum.application.ports.fleet import Fleet
from quorum.domain.fleet_session import FleetGauge, measure_fleet
from quorum.fleet import metrics
from quorum.infrastructure.blocking import Outage
from quorum.infrastructure.telemetry.otlp import FleetNumbers
from tests.domain.test_fleet_metrics import SESSIONS, WORKERS
from tests.support.otlp_receiver import attributes, receiving
from tests.support.settings_machine import Machine


def test_a_collector_gets_each_number_with_its_attributes() -> None:
    with receiving() as receiver:
        numbers = FleetNumbers(receiver.endpoint, version="1.2", instance="process 7 on box")
        numbers.send(measure_fleet(SESSIONS, WORKERS, {}, now_ms=10_000))

        (oldest,) = receiver.metrics["quorum.fleet.queue.oldest"]
        points = receiver.metrics["quorum.fleet.sessions"]

    states = {attributes(point)["state"]: point.as_double for point in points}
    assert oldest.as_double == 6
    assert (states["queued"], states["failed"], states["running"]) == (2, 1, 0)


def test_a_collector_that_is_not_there_stops_nothing() -> None:
    with receiving() as receiver:
        endpoint = receiver.endpoint
    numbers = FleetNumbers(endpoint, version="1.2", instance="process 7")

    numbers.send(measure_fleet(SESSIONS, WORKERS, {}, now_ms=10_000))


async def test_a_worker_that_ends_waits_for_no_database_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, ended = Outage("the database"), Event()
    database.patience_secs = 60
    loop, asked = asyncio.get_running_loop(), asyncio.Event()

    def refuse() -> NoReturn:
        loop.call_soon_threadsafe(asked.set)
        raise ConnectionRefusedError

    def read_gauges(*_arguments: object) -> None:
        try:
            database.outlast(refuse, OSError)
        finally:
            ended.set()

    class Sender:
        def claim_metrics(self, *_arguments: object) -> str:
            return "one"

    monkeypatch.setattr(metrics, "read_fleet_gauges", read_gauges)
    loaded = Machine(tmp_path).load(overrides={"telemetry.otlp_endpoint": "http://127.0.0.1:1"})
    fleet = cast("Fleet", Sender())  # its numbers are those above
    sending = asyncio.ensure_future(metrics.send_fleet_metrics(fleet, loaded, "process 7"))
    await asked.wait()
    sending.cancel()
    await asyncio.wait((sending,))

    assert ended.is_set()


async def test_the_worker_that_may_send_does_under_the_id_of_the_fleet_and_another_reads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    readings: list[object] = []

    class OneSender:
        def claim_metrics(self, _collector: str, sender: str, _secs: float) -> str:
            if sender == "second":
                loop.call_soon_threadsafe(asked.set)
            return "fleet-1" if sender == "first" else ""

    def read_gauges(*arguments: object) -> tuple[FleetGauge, ...]:
        readings.append(arguments)
        return tuple(measure_fleet(SESSIONS, WORKERS, {}, now_ms=10_000))

    monkeypatch.setattr(metrics, "read_fleet_gauges", read_gauges)
    with receiving() as receiver:
        loaded = Machine(tmp_path).load(overrides={"telemetry.otlp_endpoint": receiver.endpoint})
        fleet = cast("Fleet", OneSender())
        sending = [
            asyncio.ensure_future(metrics.send_fleet_metrics(fleet, loaded, sender))
            for sender in ("second", "first")
        ]
        await asyncio.wait_for(asked.wait(), 30)
        async with asyncio.timeout(30):
            while not receiver.metrics:  # noqa: ASYNC110 - the collector is a thread
                await asyncio.sleep(0.01)
        for each in sending:
            each.cancel()
        await asyncio.wait(sending)

    assert len(readings) == 1
    assert receiver.instances == {"fleet-1"}
