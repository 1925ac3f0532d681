"""Sorts what is typed while a question is in front: what answers it, and what is text for the prompt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual import events

from quorum.tui.keys.keyboard_guard import CAME_TOO_EARLY, is_pasted
from quorum.tui.keys.names import label_key

WENT_TO_PROMPT = "what you typed is in your prompt, not sent"
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
      it is text; so is what follows text without a pause, also where that began before the question appeared.
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

    def take_held(self) -> events.Key | None:
        """The key that is held back, which is held no more."""
        held, self._held = self._held, None
        return held

    def is_due(self, now: float) -> bool:
        """Whether a key has been held back for long enough."""
        return self._held is not None and now - self._held.time >= self._pace.hold_secs

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
        if self._is_in_burst(key) and key.key != "enter" and question.knows(key):
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

    def _is_in_burst(self, key: events.Key) -> bool:
        return self._held is not None or 0 <= key.time - self._text_at < self._pace.burst_secs

    def _is_text(self, key: events.Key, question: OpenQuestion) -> bool:
        if is_pasted(key):
            return True
        if key.key == "enter":
            return self._held is not None or 0 <= key.time - self._enter_at < self._pace.enter_secs
        if key.is_printable:
            return self._is_in_burst(key) or not question.knows(key)
        if key.key not in _EDITING:
            return False
        has_text = question.has_draft or bool(self._waiting)
        return self._is_in_burst(key) or (has_text and not question.knows(key))

    def _sort_text(self, key: events.Key, question: OpenQuestion) -> SortedKeys:
        text = (*self.take_unplaced(), key)
        self._confirmed = None
        self.note_typed(key.time)
        has_text = question.has_draft or any(each.is_printable for each in text)
        return SortedKeys(text, notice=WENT_TO_PROMPT if has_text else ENTER_DID_NOTHING)

    def _sort_escape(self, key: events.Key, question: OpenQuestion) -> SortedKeys:
        if self._is_in_burst(key) and question.keeps_escape(key):
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
            return SortedKeys(notice=f"{holds}press {label_key(key.key)} again to answer")
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
