"""Sends spans and metrics of one session, and the numbers of a fleet, with OTLP over HTTP."""

from __future__ import annotations

import atexit
import json
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping
from threading import Thread
from typing import TypeAlias

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from quorum.application.ports.people import Observer
from quorum.domain.conversation.response import Usage
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    Event,
    MessageAdded,
    QuorumConcluded,
    ResponseCompleted,
    ReviewDecided,
    ReviewRequested,
    SessionFinished,
    SessionResumed,
    SessionStarted,
    SubagentFinished,
    SubagentProgressed,
    SubagentStarted,
    TurnFinished,
    TurnStarted,
    UsageCounted,
    VoteCast,
    event_from_json,
)
from quorum.domain.events.report import RunStatus
from quorum.domain.fleet_session import FleetGauge
from quorum.infrastructure.telemetry import names

_log = logging.getLogger(__name__)
SCOPE = "quorum"
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
            self._tracers.get_tracer(SCOPE, version),
            self._meters.get_meter(SCOPE, version),
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


Attribute: TypeAlias = str | int | float | tuple[str, ...]
_AGENT = "quorum"
_LONGEST_TEXT = 16_000
# What is read of a subagent's session. Its tokens are counted with those of its owner, who gets their number.
_OF_SUBAGENTS = frozenset(
    event.type
    for event in (
        TurnStarted,
        MessageAdded,
        ResponseCompleted,
        CallStarted,
        CallFinished,
        ReviewRequested,
        VoteCast,
        QuorumConcluded,
        ReviewDecided,
        TurnFinished,
    )
)
# The boundaries that the conventions advise for each metric.
_TOKEN_BOUNDARIES = tuple(4.0**power for power in range(14))
_DURATION_BOUNDARIES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)


class SessionSpans:
    """Keeps the open spans of one session, and ends them.

    A turn is `invoke_agent`; in it are the answers of its model, `chat`, and its calls, `execute_tool`. A
    subagent is `invoke_agent` in the call that asked it, with answers and calls of its own in it. Reviews are
    events of the turn, or of the subagent. Texts are attributes only with `content`; what comes here is masked
    already. `name_provider` names the provider of "provider/model". `clock` gives nanoseconds since 1970.
    """

    def __init__(
        self,
        tracer: Tracer,
        meter: Meter,
        *,
        name_provider: Callable[[str], str],
        content: bool,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._tracer = tracer
        self._meter = meter
        self._name_provider = name_provider
        self._content = content
        self._clock = clock
        self._session_id = self._model = ""
        self._turn: Span | None = None
        self._is_subagent = False
        self._calls: dict[str, Span] = {}
        self._subagents: dict[str, SessionSpans] = {}
        self._asked_at = 0
        self._tokens = meter.create_histogram(
            names.TOKEN_USAGE,
            unit="{token}",
            description="Tokens of one request",
            explicit_bucket_boundaries_advisory=_TOKEN_BOUNDARIES,
        )
        self._durations = meter.create_histogram(
            names.OPERATION_DURATION,
            unit="s",
            description="How long an answer took",
            explicit_bucket_boundaries_advisory=_DURATION_BOUNDARIES,
        )

    def apply(self, event: Event) -> None:
        """Turn an event into what it means for the spans. Most mean nothing."""
        match event:
            case SessionStarted() | SessionResumed():
                self._session_id, self._model = event.session_id, event.model
            case TurnStarted():
                self._begin_turn(event)
            case MessageAdded():
                self._asked_at = self._clock()
            case ResponseCompleted(is_notice=False):
                self._add_answer(event)
            case UsageCounted():
                self._count_tokens(event)
            case CallStarted():
                self._calls[event.context.call_id] = self._begin_call(event.context.call_id, event.tool)
                self._set_text(self._calls[event.context.call_id], names.CALL_ARGUMENTS, event.arguments)
            case CallFinished():
                self._end_call(event)
            case SubagentStarted() | SubagentProgressed() | SubagentFinished():
                self._take_subagent(event)
            case ReviewRequested() | VoteCast() | QuorumConcluded() | ReviewDecided():
                self._add_review(event)
            case TurnFinished():
                self._end_turn(event)
            case SessionFinished():
                self.end()
            case _:
                pass

    def end(self) -> None:
        for subagent in self._subagents.values():
            subagent.end()
        for span in (*self._calls.values(), *((self._turn,) if self._turn else ())):
            span.end(self._clock())
        self._calls, self._subagents, self._turn = {}, {}, None

    # ---------------------------------------------------------------- spans

    def _begin(
        self,
        name: str,
        kind: SpanKind,
        attributes: Mapping[str, Attribute],
        start: int = 0,
        *,
        within: Span | None = None,
    ) -> Span:
        parent = within or self._turn
        return self._tracer.start_span(
            name,
            context=set_span_in_context(parent) if parent is not None else None,
            kind=kind,
            attributes={names.CONVERSATION: self._session_id, **attributes},
            start_time=start or self._clock(),
        )

    def _begin_turn(self, event: TurnStarted) -> None:
        self._asked_at = self._clock()
        if not self._is_subagent or self._turn is None:
            self.end()
            self._turn = self._begin(
                f"{names.INVOKE_AGENT} {_AGENT}",
                SpanKind.INTERNAL,
                {
                    names.OPERATION: names.INVOKE_AGENT,
                    names.AGENT: _AGENT,
                    **self._describe_model(self._model),
                },
            )
        self._set_text(self._turn, names.INPUT_MESSAGES, [{"role": "user", "content": event.prompt}])

    def _end_turn(self, event: TurnFinished) -> None:
        if (turn := self._turn) is None:
            return
        report = event.report
        turn.set_attribute(names.RUN_STATUS, report.status.value)
        turn.set_attributes(_describe_usage(report.usage))
        if report.cost_usd is not None:
            turn.set_attribute(names.COST, float(report.cost_usd))
        if report.status is RunStatus.FAILED:
            turn.set_attribute(names.ERROR_TYPE, report.status.value)
            turn.set_status(Status(StatusCode.ERROR))
        self._set_text(turn, names.OUTPUT_MESSAGES, [{"role": "assistant", "content": report.text}])
        if not self._is_subagent:  # that ends with its task
            self.end()

    def _add_answer(self, event: ResponseCompleted) -> None:
        now, response = self._clock(), event.response
        model = response.model or self._model
        described = {names.OPERATION: names.CHAT, **self._describe_model(self._model)}
        start = self._asked_at or now
        span = self._begin(f"{names.CHAT} {_strip(self._model)}", SpanKind.CLIENT, described, start)
        span.set_attribute(names.RESPONSE_MODEL, _strip(model))
        span.set_attribute(names.FINISH_REASONS, (str(response.stop_reason),))
        span.set_attributes(_describe_usage(response.usage))
        self._set_text(span, names.OUTPUT_MESSAGES, [{"role": "assistant", "content": response.text_content()}])
        span.end(now)
        self._durations.record((now - start) / 1e9, described)

    def _begin_call(self, call_id: str, tool: str) -> Span:
        return self._begin(
            f"{names.EXECUTE_TOOL} {tool}",
            SpanKind.INTERNAL,
            {
                names.OPERATION: names.EXECUTE_TOOL,
                names.TOOL: tool,
                names.TOOL_TYPE: "function",
                names.CALL_ID: call_id,
            },
        )

    def _end_call(self, event: CallFinished) -> None:
        call_id = event.context.call_id
        span = self._calls.pop(call_id, None) or self._begin_call(
            call_id, event.tool
        )  # it may never have begun
        span.set_attribute(names.CALL_OUTCOME, event.outcome.value)
        span.set_attribute(names.CALL_DECISION, event.decision.value)
        if event.outcome.is_error:
            span.set_attribute(names.ERROR_TYPE, event.outcome.value)
            span.set_status(Status(StatusCode.ERROR))
        self._set_text(span, names.CALL_RESULT, event.output)
        span.end(self._clock())

    def _take_subagent(self, event: SubagentStarted | SubagentProgressed | SubagentFinished) -> None:
        match event:
            case SubagentStarted():
                self._begin_subagent(event)
            case SubagentProgressed():
                self._take_of_subagent(event)
            case SubagentFinished():
                self._end_subagent(event)

    def _begin_subagent(self, event: SubagentStarted) -> None:
        name = event.agent or "subagent"
        span = self._begin(
            f"{names.INVOKE_AGENT} {name}",
            SpanKind.INTERNAL,
            {
                names.OPERATION: names.INVOKE_AGENT,
                names.AGENT: name,
                names.CONVERSATION: event.subagent_id,
                **self._describe_model(event.model),
            },
            within=self._calls.get(event.context.call_id),
        )
        self._subagents[event.subagent_id] = self._open_subagent(event, span)

    def _open_subagent(self, event: SubagentStarted, span: Span) -> SessionSpans:
        """The spans of the subagent's session, all inside of this one."""
        subagent = SessionSpans(
            self._tracer,
            self._meter,
            name_provider=self._name_provider,
            content=self._content,
            clock=self._clock,
        )
        subagent._session_id, subagent._model = event.subagent_id, event.model
        subagent._turn, subagent._is_subagent = span, True
        return subagent

    def _take_of_subagent(self, event: SubagentProgressed) -> None:
        subagent = self._subagents.get(event.subagent_id)
        # Most events are pieces of an answer, which mean nothing here.
        if subagent is not None and event.event.get("type") in _OF_SUBAGENTS:
            subagent.apply(event_from_json(event.event))

    def _end_subagent(self, event: SubagentFinished) -> None:
        if (subagent := self._subagents.pop(event.subagent_id, None)) is not None:
            if subagent._turn is not None and event.outcome.status is not RunStatus.COMPLETED:
                subagent._turn.set_attribute(names.RUN_STATUS, event.outcome.status.value)
            subagent.end()

    # ---------------------------------------------------------------- reviews and metrics

    def _add_review(self, event: ReviewRequested | VoteCast | QuorumConcluded | ReviewDecided) -> None:
        if self._turn is None:
            return
        said: dict[str, Attribute] = {
            names.CALL_ID: event.context.call_id,
            names.REVIEW_DIGEST: event.digest,
        }
        reason: str | None = None
        match event:
            case ReviewRequested():
                said[names.REVIEW_STAGE] = "requested"
            case VoteCast():
                said |= {
                    names.REVIEW_STAGE: "vote",
                    names.REVIEW_REVIEWER: event.reviewer,
                    names.REVIEW_VERDICT: event.verdict,
                }
                if event.confidence is not None:
                    said[names.REVIEW_CONFIDENCE] = event.confidence
                reason = event.reason
            case QuorumConcluded():
                said |= {names.REVIEW_STAGE: "counted", names.REVIEW_VERDICT: event.verdict}
            case ReviewDecided():
                said |= {names.REVIEW_STAGE: "decided", names.REVIEW_DECISION: event.decision.value}
                reason = event.reason
        if self._content and reason:
            said[names.REVIEW_REASON] = reason[:_LONGEST_TEXT]
        self._turn.add_event(names.REVIEW, said, self._clock())

    def _count_tokens(self, event: UsageCounted) -> None:
        described = {names.OPERATION: names.CHAT, **self._describe_model(event.model)}
        usage = _describe_usage(event.usage)
        for kind, key in (("input", names.INPUT_TOKENS), ("output", names.OUTPUT_TOKENS)):
            self._tokens.record(usage[key], {**described, names.TOKEN_TYPE: kind})

    # ---------------------------------------------------------------- attributes

    def _describe_model(self, model: str) -> dict[str, Attribute]:
        return {names.PROVIDER: self._name_provider(model), names.REQUEST_MODEL: _strip(model)}

    def _set_text(self, span: Span, name: str, value: object) -> None:
        """What somebody wrote, where that is asked for."""
        if self._content:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            span.set_attribute(name, text.encode("utf-8", "replace").decode()[:_LONGEST_TEXT])


def _strip(model: str) -> str:
    """The model's own name."""
    return model.partition("/")[2] or model


def _describe_usage(usage: Usage) -> dict[str, int]:
    """The tokens by the conventions: what was read from or written to a cache is input, too."""
    return {
        names.INPUT_TOKENS: usage.input + usage.cache_read + usage.cache_write,
        names.OUTPUT_TOKENS: usage.output,
        names.CACHE_READ_TOKENS: usage.cache_read,
        names.CACHE_WRITE_TOKENS: usage.cache_write,
        names.REASONING_TOKENS: usage.reasoning,
    }


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
        self._meter = self._meters.get_meter(SCOPE, version)

    def send(self, gauges: Iterable[FleetGauge]) -> None:
        """Send them all. Blocks for some seconds at most."""
        for gauge in gauges:
            instrument = self._meter.create_gauge(gauge.name, unit=gauge.unit, description=gauge.description)
            instrument.set(float(gauge.value), dict(gauge.attributes))
        self._meters.force_flush(int(REQUEST_SECS * 1000))
