"""Sends the numbers of a fleet with OTLP over HTTP."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from quorum.domain.fleet_metrics import FleetGauge
from quorum.infrastructure.telemetry.otlp import REQUEST_SECS

_SCOPE = "quorum"


class FleetNumbers:
    """Sends them when it is told to. What cannot be sent is dropped."""

    def __init__(self, endpoint: str, *, version: str, instance: str) -> None:
        logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
        exporter = OTLPMetricExporter(endpoint=f"{endpoint.rstrip('/')}/v1/metrics", timeout=REQUEST_SECS)
        self._meters = MeterProvider(
            resource=Resource.create(
                {"service.name": "quorum", "service.version": version, "service.instance.id": instance}
            ),
            metric_readers=[PeriodicExportingMetricReader(exporter, export_interval_millis=math.inf)],
            shutdown_on_exit=False,
        )
        self._meter = self._meters.get_meter(_SCOPE, version)

    def send(self, gauges: Iterable[FleetGauge]) -> None:
        """Send them all. Blocks for some seconds at most."""
        for gauge in gauges:
            instrument = self._meter.create_gauge(gauge.name, unit=gauge.unit, description=gauge.description)
            instrument.set(float(gauge.value), dict(gauge.attributes))
        self._meters.force_flush(int(REQUEST_SECS * 1000))
