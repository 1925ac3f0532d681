"""An app that passes no key on to a screen it was not pressed at."""

from __future__ import annotations

import time
from collections.abc import Callable
from weakref import WeakKeyDictionary

from textual import events
from textual.await_complete import AwaitComplete
from textual.screen import Screen

from tui.keys.keyboard_guard import Guarded
from tui.screens.review.keys import LETTERS
from tui.tabs.tabbed_app import TabbedApp

_WINDOW_SECS = 5.0
"""How long after a question has closed a review key may still be meant for it."""
_TYPING_SECS = 0.5
"""The longest pause between two letters of one word: what follows sooner makes the first one text."""
_REPEAT_SECS = 0.4


class TrailingKeys:
    """Holds a review key back until what follows shows that it was text. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._closed_at = self._held_at = float("-inf")
        self._held = ""

    def note_closed(self, now: float) -> None:
        """A question has closed."""
        self._closed_at, self._held = now, ""

    def admit(self, key: str, character: str | None, pressed: float) -> str | None:
        """What has to be typed before this key, usually nothing; None where the key is not to be typed."""
        held, self._held = self._held, ""
        is_late = pressed > self._closed_at + _WINDOW_SECS
        if character is None or key == "enter":
            return None if key == "enter" and pressed <= self._closed_at + _REPEAT_SECS else ""
        if held and pressed <= self._held_at + _TYPING_SECS and character != held[-1]:
            self._closed_at = float("-inf")
            return held if len(held) == 1 else ""
        if character not in LETTERS or is_late:
            self._closed_at = float("-inf")
            return ""
        self._held = held + character if held and character == held[-1] else character
        self._held_at = pressed
        return None


class GatedApp(TabbedApp):
    """A key goes to the screen that was in front when it was pressed; to a question only if that admits it."""

    def __init__(self, *, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self._trailing = TrailingKeys()
        self._key_clock: Callable[[], float] = time.monotonic
        self._pressed_over: WeakKeyDictionary[events.Key, Screen[object]] = WeakKeyDictionary()

    def pop_screen(self) -> AwaitComplete:
        """Close what is on top. A question below it is seen anew: what was typed above it is no answer."""
        if isinstance(self.screen, Guarded):
            self._trailing.note_closed(self._key_clock())
        closing = super().pop_screen()
        if isinstance(self.screen, Guarded) and self.screen.is_awake:
            self.screen.arm()
        return closing

    async def on_event(self, event: events.Event) -> None:
        """Keep keys from screens they are not meant for, and have what is dropped find the prompt."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self._clear_the_way(event)
        if isinstance(event, events.Key) and not self._reaches_screen(event):
            return
        if isinstance(event, events.Paste) and not event.is_forwarded and not self.app_focus:
            self.app_focus = True  # as keys bring it back; without, nothing has the focus and takes the text
        if isinstance(event, events.Key) and event.is_forwarded and not self.app_focus:
            await self._act_before_focus_was_lost(event)
        else:
            await super().on_event(event)

    def _clear_the_way(self, event: events.Key | events.Paste) -> None:
        """Close a question that is answered and only stays for the next one, if this is for the chat behind."""
        if self.screen_stack and isinstance(screen := self.screen, Guarded) and screen.gives_way(event):
            screen.dismiss()

    async def _act_before_focus_was_lost(self, event: events.Key) -> None:
        """A key that was pressed just before the terminal lost the focus finds the bindings it was meant for.

        It has come back from its widget, and bindings are looked up where the focus is: a moment later that is
        nowhere, and Enter would not send the prompt.
        """
        self.app_focus = True
        try:
            await super().on_event(event)
        finally:
            self.app_focus = False

    def _reaches_screen(self, event: events.Key) -> bool:
        """Whether a key may act on the screen that is on top.

        A key comes by twice: when it is pressed, and again when the focused widget had no use for it. By then
        another screen may have appeared, which the person did not see when they pressed it.
        """
        if not self.screen_stack:  # the app is about to end
            return False
        if event.is_forwarded:
            return self._pressed_over.pop(event, None) is self.screen
        if self.screen is not self.chat and not self.screen.is_mounted:
            return False  # its widgets are not there yet, and its keys would look for them in vain
        if isinstance(self.screen, Guarded) and not self.screen.admits(event):
            return False
        if self._is_left_over(event):
            return False
        self._pressed_over[event] = self.screen
        self.chat.say("")
        return True

    def _is_left_over(self, event: events.Key) -> bool:
        """Whether a key was meant for a question that has just closed, and is not to be typed."""
        prompt = self.chat.prompt
        if self.screen is not self.chat or not prompt.has_focus:
            return False
        character = event.character if event.is_printable else None
        before = self._trailing.admit(event.key, character, event.time)
        if before is None:
            self.chat.say(f"{event.key} was not typed: it came after its question had closed")
            return True
        if before:
            prompt.insert(before)
        return False
