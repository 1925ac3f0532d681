"""Who is told of events beside the front end: the debug log and telemetry, where they are asked for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from enum import Enum

from quorum.application.ports.people import Observer
from quorum.domain.events.event import Event, NoticeGiven, ReasoningDelta, TextDelta, ToolCallDelta
from quorum.infrastructure.config.model_tables import ProviderTable
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.extras import find_own_version, is_installed, render_install_command
from quorum.infrastructure.provider_types import find_public_service

_log = logging.getLogger("quorum.events")
_NAMES = frozenset(
    {"session_id", "call_id", "turn_id", "batch_id", "job_id", "tool", "model", "hook", "status"}
)
_LONGEST = 100


class LoggingObserver:
    """Logs every event but the pieces of an answer, and hands all of them on.

    Of an event it logs its type, its numbers, and names such as that of a tool. Prompts, answers, arguments,
    outputs and paths are not logged.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def notify(self, event: Event) -> None:
        """Log it and hand it on."""
        if not isinstance(event, TextDelta | ReasoningDelta | ToolCallDelta):
            _log.debug("%s", " ".join((event.type, *_list_facts(event))))
        self._observer.notify(event)


def _list_facts(event: Event) -> Iterator[str]:
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if isinstance(value, Enum):
            yield f"{name}={value.value}"
        elif isinstance(value, bool | int | float) or (name in _NAMES and isinstance(value, str)):
            yield f"{name}={str(value)[:_LONGEST]}"


def log_events(observer: Observer) -> Observer:
    """The observer, with every event logged where a debug log is written."""
    return LoggingObserver(observer) if _log.isEnabledFor(logging.DEBUG) else observer


_CLOUDS = {"bedrock": "aws.bedrock", "vertex": "gcp.vertex_ai", "azure": "azure.ai.inference"}
_PACKAGES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


class MissingTelemetry:
    """Says once, behind the first event, that telemetry is asked for and cannot be sent."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._is_told = False

    def notify(self, event: Event) -> None:
        self._observer.notify(event)
        if not self._is_told:
            self._is_told = True
            remedy = render_install_command("otel")
            message = f"telemetry.otlp_endpoint is set, and no telemetry is sent: for that, {remedy}"
            self._observer.notify(NoticeGiven(message=message))


def send_telemetry(observer: Observer, settings: Settings) -> Observer:
    """The observer, with telemetry made of every event where the settings name a collector."""
    table = settings.telemetry
    if not table.otlp_endpoint:
        return observer
    if not all(map(is_installed, _PACKAGES)):
        return MissingTelemetry(observer)
    from quorum.infrastructure.telemetry.otlp import TelemetryObserver

    return TelemetryObserver(
        observer,
        endpoint=table.otlp_endpoint,
        content=table.content,
        name_provider=_build_provider_names(settings.providers),
        version=find_own_version(),
    )


def _build_provider_names(providers: Mapping[str, ProviderTable]) -> Callable[[str], str]:
    """Names who serves "provider/model" as the conventions do; a server of one's own by its name."""

    def name(model: str) -> str:
        provider = model.partition("/")[0]
        table = providers.get(provider)
        if table is None:
            return provider
        if table.client:
            return _CLOUDS.get(table.client, table.client)
        public = find_public_service(table.type)
        is_public = public.vendor and table.base_url in ("", public.address)
        return public.vendor if is_public else provider

    return name
