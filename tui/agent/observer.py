"""Brings what happened to the screen, from whichever thread it comes."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from textual.message import Message

if TYPE_CHECKING:
    from quorum.domain.events.event import Event

_CALLS_SECS = 0.05
"""In which short calls are over. Longer ones are shown after so much time, while they run."""

_REQUEST_SECS = 0.012
"""In which the next request is sent once it has the results of the calls."""

_MOST_SECS = 0.1
"""How long anything is held back at most."""


class EventsArrived(Message, bubble=False):
    """Events wait to be taken."""


class ScreenObserver:
    """Keeps events in order until the app takes them; says so once, however many arrive before it does.

    The calls of a turn are shown a moment later: after an answer the next request goes first, which drawing
    them would hold up. Whatever else happens is told at once, with all that was held back.
    """

    def __init__(self, post: Callable[[Message], bool]) -> None:
        self._post = post
        self._events: deque[Event] = deque()
        self._announced = False
        self._timer: asyncio.TimerHandle | None = None
        self._held_since = 0.0

    def notify(self, event: Event) -> None:
        """Take note; returns at once. Safe to call from any thread."""
        self._events.append(event)
        if self._announced:
            return
        kinds = _list_held_kinds()
        if isinstance(event, kinds.completed):
            self._hold(_CALLS_SECS)
        elif isinstance(event, kinds.added):
            self._hold(_REQUEST_SECS)
        elif not isinstance(event, kinds.others):
            self._announce()
        elif self._timer is None:
            self._hold(_CALLS_SECS)

    def pop_events(self) -> list[Event]:
        """The events since the last time, oldest first."""
        self._announced = False  # before looking: what arrives from now on is announced again
        taken: list[Event] = []
        while self._events:
            taken.append(self._events.popleft())
        return taken

    def _hold(self, secs: float) -> None:
        """Announce what there is after this time, or sooner where something has been held back for long."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # in a thread
            self._announce()
            return
        now = time.monotonic()
        if self._timer is None:
            self._held_since = now
        else:
            self._timer.cancel()
        self._timer = loop.call_later(min(secs, self._held_since + _MOST_SECS - now), self._announce)

    def _announce(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        if self._events and not self._announced:
            self._announced = True  # before it is posted: it may be taken in another thread at once
            if not self._post(EventsArrived()):
                self._announced = False  # nobody will take them for it; the next event tries again


class _HeldKinds(NamedTuple):
    """The end of an answer, the results of its calls, and what else happens around them."""

    completed: type[Event]
    added: type[Event]
    others: tuple[type[Event], ...]


@cache
def _list_held_kinds() -> _HeldKinds:
    """Loaded with the first event: not before the first frame."""
    from quorum.domain.events import calls, turn

    of_calls = (calls.BatchPlanned, calls.CallQueued, calls.CallStarted, calls.CallFinished, calls.OutputStored)
    of_effects = (calls.FilesKept, calls.EffectsObserved, calls.HookRan, calls.StateMerged)
    of_turn = (turn.ToolCallDelta, turn.UsageCounted)
    return _HeldKinds(turn.ResponseCompleted, turn.MessageAdded, (*of_turn, *of_calls, *of_effects))
