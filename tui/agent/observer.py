"""Brings what happened to the screen, from whichever thread it comes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from domain.events.event import Event


class EventsArrived(Message, bubble=False):
    """Events wait to be taken."""


class ScreenObserver:
    """Keeps events in order until the app takes them; says so once, however many arrive before it does."""

    def __init__(self, post: Callable[[Message], bool]) -> None:
        self._post = post
        self._events: deque[Event] = deque()
        self._announced = False

    def notify(self, event: Event) -> None:
        """Take note; returns at once. Safe to call from any thread."""
        self._events.append(event)
        if not self._announced:
            self._announced = True
            self._post(EventsArrived())

    def pop_events(self) -> list[Event]:
        """The events since the last time, oldest first."""
        self._announced = False  # before looking: what arrives from now on is announced again
        taken: list[Event] = []
        while self._events:
            taken.append(self._events.popleft())
        return taken
