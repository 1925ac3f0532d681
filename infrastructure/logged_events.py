"""Events as lines of the debug log, which most runs do not write."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from enum import Enum

from quorum.application.ports.people import Observer
from quorum.domain.events.event import Event, ReasoningDelta, TextDelta, ToolCallDelta

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
