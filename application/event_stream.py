"""Carries every event to those who watch."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from application.ports import Observer
from domain.events import Event

_log = logging.getLogger(__name__)


class EventStream:
    """The one way an event leaves the run.

    `record` is for durable events and is awaited before the effect they announce; `show` is for ephemeral
    ones. Observers hear of an event afterwards; one that fails is logged and can never fail the run.
    """

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = tuple(observers)

    async def record(self, event: Event) -> None:
        """Make a durable event part of the record, then tell the observers."""
        self.show(event)

    def show(self, event: Event) -> None:
        """Tell the observers of an event that nothing depends on."""
        for observer in self._observers:
            try:
                observer.notify(event)
            except Exception as error:  # noqa: BLE001 - a screen that breaks must not stop the work behind it
                _log.error("an observer failed on %s", event.type, exc_info=error)
