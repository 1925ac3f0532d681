"""The numbers of a fleet as a collector receives them."""

from __future__ import annotations

from quorum.domain.fleet_metrics import measure_fleet
from quorum.infrastructure.telemetry.fleet_numbers import FleetNumbers
from tests.domain.test_fleet_metrics import SESSIONS, WORKERS
from tests.support.otlp_receiver import attributes, receiving


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
