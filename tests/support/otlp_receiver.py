"""A collector on loopback that decodes what is sent to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class OtlpReceiver:
    """What arrived. With `hangs` it takes requests and answers none until it is closed."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.bodies: list[tuple[str, bytes]] = []
        self.hangs = hangs
        self.status, self.answer = 200, b""
        self.released = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.bodies.append((self.path, body))
                if receiver.hangs:
                    receiver.released.wait()
                    return
                self.send_response(receiver.status)
                self.send_header("Content-Length", str(len(receiver.answer)))
                self.end_headers()
                self.wfile.write(receiver.answer)

            def log_message(self, *_arguments: object) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"

    @property
    def spans(self) -> list[Span]:
        """All spans, in the order in which they began."""
        found: list[Span] = []
        for path, body in self.bodies:
            if path == "/v1/traces":
                request = ExportTraceServiceRequest.FromString(body)
                found += [
                    span
                    for each in request.resource_spans
                    for scope in each.scope_spans
                    for span in scope.spans
                ]
        return sorted(found, key=lambda span: span.start_time_unix_nano)

    @property
    def metrics(self) -> dict[str, list[Any]]:
        """The data points of each metric."""
        found: dict[str, list[Any]] = {}
        for path, body in self.bodies:
            if path == "/v1/metrics":
                request = ExportMetricsServiceRequest.FromString(body)
                for each in request.resource_metrics:
                    for scope in each.scope_metrics:
                        for metric in scope.metrics:
                            found.setdefault(metric.name, []).extend(
                                metric.histogram.data_points or metric.gauge.data_points
                            )
        return found

    @property
    def instances(self) -> set[str]:
        """The ids under which senders of metrics are known."""
        return {
            attributes(each.resource)["service.instance.id"]
            for path, body in self.bodies
            if path == "/v1/metrics"
            for each in ExportMetricsServiceRequest.FromString(body).resource_metrics
        }


def attributes(item: Any) -> dict[str, Any]:
    """The attributes of a span, an event or a data point."""
    found: dict[str, Any] = {}
    for each in item.attributes:
        kind = each.value.WhichOneof("value")
        value = getattr(each.value, kind)
        found[each.key] = [one.string_value for one in value.values] if kind == "array_value" else value
    return found


@contextmanager
def receiving(*, hangs: bool = False) -> Iterator[OtlpReceiver]:
    receiver = OtlpReceiver(hangs=hangs)
    thread = threading.Thread(target=receiver.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.released.set()
        receiver.server.shutdown()
        receiver.server.server_close()
        thread.join()
