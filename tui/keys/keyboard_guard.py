"""Keeps keys that were meant for something else from answering a question that has just appeared."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from weakref import WeakSet

from textual import events

CAME_TOO_EARLY = "that key came too early and was ignored"

_together: WeakSet[events.Key] = WeakSet()


def mark_as_pasted(keys: Iterable[events.Key]) -> None:
    """The terminal sent these at once: no fingers did, but a paste that is not marked as one, or a program."""
    _together.update(keys)


class KeyboardGuard:
    """Dead for a while after each restart, and for as long as keys keep arriving.

    Times are seconds of one clock; a key's is that of its arrival, so that keys which had to wait for a busy
    program are judged by when they were pressed. Before the first restart everything is dead.
    """

    def __init__(self, quiet_secs: float = 0.4) -> None:
        self._quiet = quiet_secs
        self._dead_until = float("inf")

    @property
    def is_started(self) -> bool:
        """Whether there has been a first restart."""
        return self._dead_until < float("inf")

    def restart(self, now: float) -> None:
        """What is asked has just appeared or changed."""
        self._dead_until = now + self._quiet

    def admits(self, arrived: float) -> bool:
        """Whether a key that arrived then may act; one that may not makes the dead time begin again."""
        if arrived >= self._dead_until:
            return True
        self._dead_until = max(self._dead_until, arrived + self._quiet)
        return False

    def admits_key(self, key: events.Key) -> bool:
        """The same for a key; a letter or Enter among others that came together is never an answer."""
        if key in _together and (key.is_printable or key.key == "enter"):
            self.restart(max(key.time, self._dead_until - self._quiet))
            return False
        return self.admits(key.time)


class Guarded:
    """A screen that decides for itself which keys reach it, its bindings and the app's."""

    def gives_way(self, event: events.Event) -> bool:
        """Whether it is answered and to be closed before this event, which is for what is behind it."""
        return False

    @abstractmethod
    def admits(self, event: events.Key) -> bool:
        """Whether this key may act now."""

    @property
    @abstractmethod
    def is_awake(self) -> bool:
        """Whether it has been seen and counts down to taking keys, or takes them."""

    @abstractmethod
    def arm(self) -> None:
        """What is asked comes into sight again: begin the dead time anew."""
