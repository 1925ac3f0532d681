"""Sends spans and metrics of one session with OTLP over HTTP, from threads of its own."""

from __future__ import annotations

import atexit
import logging
from collections.abc import Callable
from threading import Thread

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from quorum.application.ports.people import Observer
from quorum.domain.events.event import Event, SessionFinished
from quorum.infrastructure.telemetry.session_spans import SessionSpans

_log = logging.getLogger(__name__)
_SCOPE = "quorum"
REQUEST_SECS = 3.0
CLOSING_SECS = 3.0
"""How long the end of the process waits for what is not sent yet."""


class TelemetryObserver:
    """Hands every event on, and then makes telemetry of it. No failure of that comes out of it.

    What cannot be sent is dropped: at most 2,048 spans wait in memory. After the end of the session nothing is
    sent any more; at the end of the process what is left is sent, for at most `closing_secs`.
    """

    def __init__(
        self,
        observer: Observer,
        *,
        endpoint: str,
        content: bool,
        name_provider: Callable[[str], str],
        version: str,
        closing_secs: float = CLOSING_SECS,
    ) -> None:
        # Without a handler the failures of the package would be printed over the screen.
        logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
        self._observer = observer
        self._closing_secs = closing_secs
        base = endpoint.rstrip("/")
        resource = Resource.create({"service.name": "quorum", "service.version": version})
        self._tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._tracers.add_span_processor(
            BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{base}/v1/traces", timeout=REQUEST_SECS))
        )
        self._meters = MeterProvider(
            resource=resource,
            metric_readers=[
                PeriodicExportingMetricReader(
                    OTLPMetricExporter(endpoint=f"{base}/v1/metrics", timeout=REQUEST_SECS)
                )
            ],
            shutdown_on_exit=False,
        )
        self._spans = SessionSpans(
            self._tracers.get_tracer(_SCOPE, version),
            self._meters.get_meter(_SCOPE, version),
            name_provider=name_provider,
            content=content,
        )
        self._closing: Thread | None = None
        atexit.register(self.close)

    def notify(self, event: Event) -> None:
        """Hand it on, and make telemetry of it."""
        self._observer.notify(event)
        if self._closing is not None:
            return
        try:
            self._spans.apply(event)
            if isinstance(event, SessionFinished):
                self._begin_closing()
        except Exception:  # noqa: BLE001 - no failure of a library that only watches may end a run
            _log.exception("an event became no telemetry")

    def close(self) -> None:
        """Send what is left. Blocks, for a bounded time."""
        try:
            self._begin_closing().join(self._closing_secs)
        except Exception:  # noqa: BLE001 - the process ends whatever happens here
            _log.exception("telemetry was not closed")
        atexit.unregister(self.close)

    def _begin_closing(self) -> Thread:
        if self._closing is None:
            self._spans.end()
            self._closing = Thread(target=self._shut_down, name="telemetry", daemon=True)
            self._closing.start()
        return self._closing

    def _shut_down(self) -> None:
        metrics = Thread(target=self._meters.shutdown, name="telemetry-metrics", daemon=True)
        metrics.start()
        self._tracers.shutdown()
        metrics.join()
