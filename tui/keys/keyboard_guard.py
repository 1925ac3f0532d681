"""Keeps keys that were meant for something else from answering a question that has just appeared."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from weakref import WeakSet

from textual import events
from textual.screen import Screen

CAME_TOO_EARLY = "that key came too early and was ignored"
CRAMPED_CLASS = "-cramped"
"""The CSS class of a screen whose window is too small to read what is asked."""

_together: WeakSet[events.Key] = WeakSet()
_line_breaks: WeakSet[events.Key] = WeakSet()


def mark_as_pasted(keys: Iterable[events.Key], *, is_behind_text: bool = False) -> None:
    """The terminal sent these at once, behind text or not: no fingers did, but a paste that is not marked as
    one, or a program."""
    for key in keys:
        _together.add(key)
        if key.key == "enter" and is_behind_text:
            _line_breaks.add(key)
        is_behind_text = is_behind_text or key.is_printable


def is_pasted(key: events.Key) -> bool:
    """Whether it is a character or an Enter that the terminal sent at once with others."""
    return key in _together and (key.is_printable or key.key == "enter")


def is_line_break(key: events.Key) -> bool:
    """Whether it is an Enter that the terminal sent at once with text before it."""
    return key in _line_breaks


class KeyboardGuard:
    """Dead for a while after each restart, and for as long as keys keep arriving.

    Times are seconds of one clock; a key's is that of its arrival, so that keys which had to wait for a busy
    program are judged by when they were pressed. Before the first restart everything is dead.
    """

    def __init__(self, quiet_secs: float = 0.4) -> None:
        self._quiet = quiet_secs
        self._dead_until = self._unread_until = float("inf")

    @property
    def is_started(self) -> bool:
        """Whether there has been a first restart."""
        return self._dead_until < float("inf")

    def restart(self, now: float) -> None:
        """What is asked has just appeared or changed."""
        self._dead_until = self._unread_until = now + self._quiet

    def is_unread(self, at: float) -> bool:
        """Whether what is asked had hardly come into sight then, whatever keys have arrived since."""
        return at < self._unread_until

    def admits(self, arrived: float) -> bool:
        """Whether a key that arrived then may act; one that may not makes the dead time begin again."""
        if arrived >= self._dead_until:
            return True
        self._dead_until = max(self._dead_until, arrived + self._quiet)
        return False


class Guarded:
    """A screen that asks. What is typed while it is in front reaches it only as `KeySorter` and it decide."""

    notice = ""
    """What is said of the last keys, until another key acts."""

    def gives_way(self, event: events.Event) -> bool:
        """Whether it is answered and to be closed before this event, which is for what is behind it."""
        return False

    @property
    def subject(self) -> object:
        """What is asked: another object where something else is asked in the same screen."""
        return self

    @property
    def is_readable(self) -> bool:
        """Whether the window is large enough to read what is asked."""
        assert isinstance(self, Screen)
        return not self.has_class(CRAMPED_CLASS)

    @property
    def takes_text(self) -> bool:
        """Whether the person has entered a field of it, so that what is typed is meant for that."""
        return False

    @property
    def unsent_text(self) -> str:
        """What is typed into a field of it and neither sent nor given up: it is kept if the question goes."""
        return ""

    @property
    def asks_enter_twice(self) -> bool:
        """Whether Enter would take a choice that the person has not turned to."""
        return False

    def knows(self, key: events.Key) -> bool:
        """Whether a key has a use here at some time; none has where the question cannot be read."""
        assert isinstance(self, Screen)
        return self.is_readable and any(
            key.key in bindings.key_to_bindings for _, bindings in self._modal_binding_chain
        )

    def offers(self, key: events.Key) -> bool:
        """Whether a key does something here now."""
        assert isinstance(self, Screen)
        return any(
            self.app._check_action_state(binding.action, namespace)
            for namespace, bindings in self._modal_binding_chain
            for binding in bindings.key_to_bindings.get(key.key, ())
        )

    def note(self, notice: str) -> None:
        """Say what became of the last keys; an empty text takes it away."""
        if notice != self.notice:
            self.notice = notice
            self.show_notice()

    @abstractmethod
    def show_notice(self) -> None:
        """Draw `notice`, or what else stands in its place."""

    @abstractmethod
    def is_unread(self, event: events.Key) -> bool:
        """Whether what is asked had hardly come into sight when this key was pressed."""

    @abstractmethod
    def admits(self, event: events.Key) -> bool:
        """Whether what is asked had been in sight for long enough when this key was pressed."""

    @property
    @abstractmethod
    def is_awake(self) -> bool:
        """Whether it has been seen and counts down to taking keys, or takes them."""

    @abstractmethod
    def arm(self) -> None:
        """What is asked comes into sight again: begin the dead time anew."""
