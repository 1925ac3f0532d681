"""Sorts keys by when they are pressed, so that none meant for something else answers a new question.

What does not answer a question is text for the prompt. Keys that mean something else when pressed twice are
told apart here as well.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar
from weakref import WeakSet

from textual import events
from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import Input

from quorum.tui.keys.keymap import label_key

_TWICE_SECS = 1.0


class SecondPress:
    """Tells the second press of a key within a second. `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._before: tuple[str, float] = ("", 0.0)
        self._spent: tuple[str, float] = ("", 0.0)

    def register_press(self, key: str) -> bool:
        """Note a press; whether it is the second one. A third one begins anew."""
        now = self._clock()
        if self._is_within(self._spent, key, now):
            return False
        second = self._is_within(self._before, key, now)
        self._before = ("", 0.0) if second else (key, now)
        return second

    def spend(self, key: str) -> None:
        """This press has done something already; those of the next second are more of it and do nothing."""
        self._before, self._spent = ("", 0.0), (key, self._clock())

    @staticmethod
    def _is_within(pressed: tuple[str, float], key: str, now: float) -> bool:
        return pressed[0] == key and now - pressed[1] <= _TWICE_SECS


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
        return self.is_readable and bool(list_bindings(self, key))

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


class HoldsLetters:
    """A list in which the letters of `ALONE` do what words must not: they act only where no other text is typed
    right before or after them."""

    ALONE: ClassVar[frozenset[str]]
    """The actions."""

    def is_held(self, key: events.Key) -> bool:
        """Whether it is such a letter, and is not typed into a field."""
        assert isinstance(self, Screen)
        return (
            key.is_printable
            and not isinstance(self.focused, Input)
            and any(binding.action.partition("(")[0] in self.ALONE for binding in list_bindings(self, key))
        )

    def continues(self, letter: events.Key, key: events.Key) -> bool:
        """Whether a key that follows such a letter at once belongs to what that does, and is not text."""
        return False


def list_bindings(screen: Screen[object], key: events.Key) -> list[Binding]:
    """What a key is bound to in a screen and in what has the focus there."""
    chain = screen._modal_binding_chain
    return [each for _, bindings in chain for each in bindings.key_to_bindings.get(key.key, ())]


WENT_TO_PROMPT = "what you typed is in your prompt, not sent"
WENT_TO_FIELD = "what you typed is in the field behind this question"
PART_OF_A_WORD = "{} did nothing, as a part of what you typed: press it alone"
ENTER_DID_NOTHING = "that enter was for your prompt: nothing was sent or answered"
NO_USE = "that key has no use here now"
ESC_AGAIN = "esc ended your typing; esc again leaves the question"

_EDITING = frozenset(
    (
        *("backspace", "ctrl+h", "ctrl+w", "alt+backspace", "ctrl+backspace", "ctrl+u", "ctrl+k"),
        *("delete", "alt+d", "alt+delete", "ctrl+delete", "ctrl+shift+k", "super+backspace", "ctrl+underscore"),
        *("left", "right", "home", "end", "ctrl+left", "ctrl+right", "ctrl+a", "ctrl+e"),
        *("ctrl+j", "shift+enter", "alt+enter"),
    )
)
"""Keys that edit a text as it is being typed."""

_MOVES = frozenset(
    (
        *("up", "down", "left", "right", "tab", "pageup", "pagedown", "home", "end"),
        *("ctrl+up", "ctrl+down", "shift+up", "shift+down"),
    )
)
"""Keys that show or mark something, and answer nothing."""


@dataclass(frozen=True, slots=True)
class TypingPace:
    """How fast a person types, in seconds. With all of it 0 every key is taken for a deliberate one."""

    hold_secs: float = 0.25
    """A letter that another character follows sooner than this is text."""

    burst_secs: float = 0.5
    """A character sooner than this after text belongs to that text."""

    enter_secs: float = 1.5
    """Enter sooner than this after text is meant for that text: one looks it over before sending it."""


TYPING_PACE = TypingPace()


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """What a key is sorted by. `subject` is what is asked, `has_draft` whether text stands in the prompt.

    `knows`: the key has a use there at some time. `offers`: it has one now. `admits`: the question had been in
    sight for long enough. `keeps_escape`: Esc while text is being
    typed ends that, and does not leave the question.
    """

    subject: object
    knows: Callable[[events.Key], bool]
    offers: Callable[[events.Key], bool]
    admits: Callable[[events.Key], bool]
    has_draft: bool = False
    asks_enter_twice: bool = False
    keeps_escape: Callable[[events.Key], bool] = lambda _key: False


@dataclass(frozen=True, slots=True)
class SortedKeys:
    """What becomes of keys: first all of `text` is for the prompt, in this order, then `answer` may act.

    `notice` is what there is to say of it; None leaves what was said.
    """

    text: tuple[events.Key, ...] = ()
    answer: events.Key | None = None
    notice: str | None = None


class KeySorter:
    """Decides by when keys were pressed. Nothing printable is lost: it answers, or it is text.

    - A character that the question has no use for is text.
    - A character of which the question has a use is held back for a moment. If more is typed meanwhile, all of
      it is text, but for a Space before a key that turns to another line; so is what follows text without a
      pause, also where that began before the question appeared.
    - Where the prompt holds text, a key that answers has to be pressed twice. What was pressed once is text as
      soon as other text follows.
    - Enter soon after text begins a new line of it, and the keys that edit text edit it. Later, too, those of
      them edit it that the question has no use for.
    - Esc and Ctrl+C act at once. But in the middle of text Esc only ends that, where the question is hardly in
      sight or the prompt itself has a use for Esc.
    """

    def __init__(self, pace: TypingPace = TYPING_PACE) -> None:
        self._pace = pace
        self._text_at = self._enter_at = float("-inf")
        """When text was last typed, and when that, or an Enter that sent it."""
        self._held: events.Key | None = None
        self._waiting: list[events.Key] = []
        """Characters that did nothing so far, and are text if text follows."""
        self._again = ""
        self._subject: object = None
        """What is asked now."""
        self._confirmed: object = None

    @property
    def hold_secs(self) -> float:
        """How long to wait before `release`."""
        return self._pace.hold_secs

    @property
    def held(self) -> events.Key | None:
        """The key that is held back."""
        return self._held

    def note_typed(self, at: float) -> None:
        """Text was typed or edited, in this question or where none is in front."""
        self._text_at = self._enter_at = at

    def note_sent(self, at: float) -> None:
        """Enter was pressed where no question is in front: what was typed is not being typed any more."""
        self._text_at, self._enter_at = float("-inf"), at

    def note_left(self) -> None:
        """The field that was typed into is left: what was typed there is not being typed any more."""
        self._text_at = self._enter_at = float("-inf")

    def is_text_at_list(self, key: events.Key, *, has_use: bool) -> bool:
        """Whether a key pressed at a list belongs to what is being typed, or is a character of no use there."""
        after_text = key.time - self._text_at
        if key.key == "enter":
            return is_pasted(key) or 0 <= after_text < self._pace.enter_secs
        follows_text = is_pasted(key) or 0 <= after_text < self._pace.burst_secs
        return (follows_text or not has_use) if key.is_printable else (follows_text and key.key in _EDITING)

    def take_held(self) -> events.Key | None:
        """The key that is held back, which is held no more."""
        held, self._held = self._held, None
        return held

    def is_due(self, now: float, following: str = "") -> bool:
        """Whether a key has been held back for long enough, or is a Space that marks a line: a key follows that
        turns to another."""
        if self._held is None:
            return False
        return now - self._held.time >= self._pace.hold_secs or (
            self._held.key == "space" and following in _MOVES
        )

    def take_unplaced(self) -> tuple[events.Key, ...]:
        """Everything that is held back or waits: its question is gone."""
        keys = (*self._waiting, *((self._held,) if self._held is not None else ()))
        self._forget()
        return keys

    def note_pasted(self, at: float) -> tuple[events.Key, ...]:
        """A text was pasted; what has to be typed before it."""
        keys = self.take_unplaced()
        self._confirmed = None
        self.note_typed(at)
        return keys

    def sort(self, key: events.Key, question: OpenQuestion) -> SortedKeys:
        """Sort a key that was pressed with the question in front. What was held back long enough is released
        before."""
        self._turn_to(question)
        if key.key == "ctrl+c":
            return SortedKeys(self._take_held(), answer=key, notice="")
        if key.key == "escape":
            return self._sort_escape(key, question)
        if self._held is not None and self._held.key == key.key == "space":  # held down, to read on
            released = self.release(question)
            self._held = key
            return released
        if self._is_text(key, question):
            return self._sort_text(key, question)
        if self.is_in_burst(key) and key.key != "enter" and question.knows(key):
            return SortedKeys(notice=CAME_TOO_EARLY)
        if key.is_printable and self._pace.hold_secs > 0:
            self._held = key
            return SortedKeys()
        return self._judge(key, question)

    def release(self, question: OpenQuestion) -> SortedKeys:
        """Nothing followed the key that is held back: decide about it."""
        key, self._held = self._held, None
        if key is None:
            return SortedKeys()
        if question.subject is not self._subject:  # it was pressed at the question before this one
            self._turn_to(question)
            self._wait(key)
            return SortedKeys(notice=CAME_TOO_EARLY)
        return self._judge(key, question)

    def _turn_to(self, question: OpenQuestion) -> None:
        """What was pressed at the question before answers this one no more, but may still prove to be text."""
        if question.subject is not self._subject:
            if self._held is not None:
                self._wait(self._held)
            self._held, self._again, self._subject = None, "", question.subject

    def is_in_burst(self, key: events.Key) -> bool:
        """Whether it was pressed so soon after text, or a key that is held back, that it belongs to that."""
        return self._held is not None or 0 <= key.time - self._text_at < self._pace.burst_secs

    def _is_text(self, key: events.Key, question: OpenQuestion) -> bool:
        if is_pasted(key):
            return True
        if key.key == "enter":
            return self._held is not None or 0 <= key.time - self._enter_at < self._pace.enter_secs
        if key.is_printable:
            return self.is_in_burst(key) or not question.knows(key)
        if key.key not in _EDITING:
            return False
        has_text = question.has_draft or bool(self._waiting)
        return self.is_in_burst(key) or (has_text and not question.knows(key))

    def _sort_text(self, key: events.Key, question: OpenQuestion) -> SortedKeys:
        text = (*self.take_unplaced(), key)
        self._confirmed = None
        self.note_typed(key.time)
        has_text = question.has_draft or any(each.is_printable for each in text)
        return SortedKeys(text, notice=WENT_TO_PROMPT if has_text else ENTER_DID_NOTHING)

    def _sort_escape(self, key: events.Key, question: OpenQuestion) -> SortedKeys:
        if self.is_in_burst(key) and question.keeps_escape(key):
            text = (*self.take_unplaced(), key)
            self._text_at = float("-inf")
            return SortedKeys(text, notice=ESC_AGAIN)
        return SortedKeys(self._take_held(), answer=key, notice="")

    def _judge(self, key: events.Key, question: OpenQuestion) -> SortedKeys:
        is_second, self._again = self._again == key.key, ""
        if not question.admits(key):
            self._wait(key)
            return SortedKeys(notice=CAME_TOO_EARLY)
        if key.is_printable and not question.offers(key):
            self._wait(key)
            return SortedKeys(notice=NO_USE)
        if is_second:
            self._confirmed = question.subject
        elif self._needs_second(key, question):
            self._wait(key)
            self._again = key.key
            holds = "your prompt holds text: " if question.has_draft else ""
            return SortedKeys(notice=f"{holds}press {label_key(key.key)} again for this question")
        self._waiting.clear()
        return SortedKeys(answer=key, notice="")

    def _needs_second(self, key: events.Key, question: OpenQuestion) -> bool:
        if key.key == "enter":
            is_open = question.has_draft or question.asks_enter_twice
        else:
            is_open = question.has_draft and key.key not in _MOVES and question.offers(key)
        return is_open and self._confirmed is not question.subject

    def _wait(self, key: events.Key) -> None:
        if key.is_printable and not (self._waiting and self._waiting[-1].key == key.key):
            self._waiting.append(key)

    def _take_held(self) -> tuple[events.Key, ...]:
        held = () if self._held is None else (self._held,)
        self._forget()
        return held

    def _forget(self) -> None:
        self._held, self._again = None, ""
        self._waiting = []
