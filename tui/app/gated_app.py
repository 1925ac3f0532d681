"""An app that passes no key on to a screen it was not meant for."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from weakref import WeakKeyDictionary

from textual import events
from textual.await_complete import AwaitComplete
from textual.screen import Screen
from textual.widgets import Input, TextArea

from quorum.tui.keys.keyboard_guard import (
    PART_OF_A_WORD,
    WENT_TO_FIELD,
    WENT_TO_PROMPT,
    Guarded,
    HoldsLetters,
    KeySorter,
    OpenQuestion,
    SortedKeys,
    is_line_break,
    list_bindings,
)
from quorum.tui.keys.line_fields import fit_to_field
from quorum.tui.tabs.tabbed_app import TabbedApp
from quorum.tui.widgets.dialog_parts import QueryInput

_WINDOW_SECS = 5.0
"""How long after a question has closed the key that answered it may still be meant for it."""
_TYPING_SECS = 1.0
"""The longest pause between two letters of one word: what follows sooner makes the first one text."""
_REPEAT_SECS = 0.4
_LINES_JOINED = "your prompt holds lines that you ended with enter at a question: enter again sends them as one"
_ALWAYS = frozenset({"escape", "ctrl+c"})
"""Keys that act in every state of a question."""


class TrailingKeys:
    """Holds the key that answered back, pressed once more, until what follows shows that it was text.

    Times are seconds of one clock.
    """

    def __init__(self) -> None:
        self._closed_at = self._text_kept_at = self._held_at = self._answered_at = float("-inf")
        self._answered_with = self._held = ""

    def note_answered(self, key: events.Key) -> None:
        """This key answered a question."""
        self._answered_with = key.character or "" if key.is_printable else ""
        self._answered_at = key.time

    def note_closed(self, now: float, *, keeps_text: bool = False) -> None:
        """A question has closed; `keeps_text`: while text was typed at it, which an Enter may still be for."""
        self._closed_at, self._held = now, ""
        self._text_kept_at = now if keeps_text else float("-inf")

    def is_late_answer(self, key: events.Key) -> bool:
        """Whether a key whose question is gone came soon after the one that answered it."""
        return 0 <= key.time - self._answered_at <= _WINDOW_SECS

    def admit(self, key: str, character: str | None, pressed: float) -> str | None:
        """What has to be typed before this key, usually nothing; None where the key is not to be typed."""
        held, self._held = self._held, ""
        is_late = pressed > self._closed_at + _WINDOW_SECS
        if key == "enter":
            is_for_text = pressed <= self._text_kept_at + _WINDOW_SECS
            self._text_kept_at = float("-inf")
            return None if is_for_text or pressed <= self._closed_at + _REPEAT_SECS else ""
        if character is None:
            return ""
        if held and pressed <= self._held_at + _TYPING_SECS and character != held[-1]:
            self._closed_at = float("-inf")
            return held if len(held) == 1 else ""
        if character != self._answered_with or is_late:
            self._closed_at = float("-inf")
            return ""
        self._held = held + character if held and character == held[-1] else character
        self._held_at = pressed
        return None


class GatedApp(TabbedApp):
    """A key goes to the screen that was in front when it was pressed; to a question only if it answers that.

    What else is typed while a question is in front goes to the prompt (see KeySorter).
    """

    def __init__(self, *, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self._trailing = TrailingKeys()
        self._sorter = KeySorter()
        self._key_clock: Callable[[], float] = time.monotonic
        self._has_joined_lines = False
        """Whether an Enter that the person pressed at a question stands in the prompt as a new line."""
        self._letter: events.Key | None = None
        """One that acts if nothing is typed right after it; see HoldsLetters."""
        self._letters: list[events.Key] = []
        """Those pressed at a list in one go: they are text if text follows, whether they acted or not."""
        self._field: tuple[Input, float] | None = None
        """The field of a screen without a question that was typed into last, and when."""
        self._pressed_over: WeakKeyDictionary[events.Key, Screen[object]] = WeakKeyDictionary()

    def pop_screen(self) -> AwaitComplete:
        """Close what is on top. A question below it is seen anew: what was typed above it is no answer."""
        if isinstance(screen := self.screen, Guarded):
            unsent = screen.unsent_text.lstrip()
            self._trailing.note_closed(self._key_clock(), keeps_text=bool(unsent))
            self.call_later(self._settle)
            if unsent:
                self._keep_in_prompt(unsent)
        closing = super().pop_screen()
        if isinstance(self.screen, Guarded) and self.screen.is_awake:
            self.screen.arm()
        return closing

    def keep_unsent_texts(self) -> None:
        """Have what is typed at a question or in the prompt of a tab outlive the process, which ends."""
        if isinstance(screen := self.screen, Guarded) and (unsent := screen.unsent_text.strip()):
            self._keep_in_prompt(unsent)
        for tab in self.tabs.all:
            tab.chat.prompt.keep_unsent()

    def _keep_in_prompt(self, text: str) -> None:
        """Add what was being typed at a question that is taken away to the prompt."""
        draft = self.chat.prompt.text
        self.chat.prompt.insert(text if not draft or draft[-1].isspace() else f" {text}")
        self.chat.say(WENT_TO_PROMPT)

    async def on_event(self, event: events.Event) -> None:
        """Keep keys from screens they are not meant for, and have what is dropped or typed find the prompt."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded and self.screen_stack:
            self._clear_the_way(event)
            if self._asks_for_help(event):
                await self.run_action("app.show_help")
                return
            if not await self._sort(event):
                return
        if isinstance(event, events.Key) and not self._reaches_screen(event):
            return
        if isinstance(event, events.Paste) and not event.is_forwarded and not self.app_focus:
            self.app_focus = True  # as keys bring it back; without, nothing has the focus and takes the text
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            fitted, notice = fit_to_field(event, self.focused)
            if notice:
                self._tell_of_field(notice)
            if fitted is None:
                return
            event = fitted
        if isinstance(event, events.Key) and event.is_forwarded and not self.app_focus:
            await self._act_before_focus_was_lost(event)
        else:
            await super().on_event(event)

    def _tell_of_field(self, notice: str) -> None:
        if isinstance(screen := self.screen, Guarded):
            screen.note(notice)
        else:
            self.chat.say(notice)

    def _clear_the_way(self, event: events.Key | events.Paste) -> None:
        """Close a question that is answered and only stays for the next one, if this is for the chat behind."""
        if isinstance(screen := self.screen, Guarded) and screen.gives_way(event):
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
        if not prompt.text:
            self._has_joined_lines = False
        character = event.character if event.is_printable else None
        before = self._trailing.admit(event.key, character, event.time)
        if before is None:
            self._say_left_over(event.key)
            return True
        if before:
            prompt.insert(before)
        return event.key == "enter" and self._keeps_joined_lines()

    def _keeps_joined_lines(self) -> bool:
        """Whether Enter is not to send yet: lines that were each ended with Enter would go as one."""
        has_joined, self._has_joined_lines = self._has_joined_lines, False
        if not has_joined or "\n" not in self.chat.prompt.text.strip():
            return False
        self.chat.say(_LINES_JOINED)
        return True

    def _say_left_over(self, key: str) -> None:
        self.chat.say(f"{key} was not typed: it came after its question had closed")

    # -- what is typed while a question is in front ---------------------------------------------------------

    def is_deliberate(self, event: events.Key) -> bool:
        """Whether a key is known not to be a part of what the person types."""
        return False

    def _asks_for_help(self, event: events.Key | events.Paste) -> bool:
        """Whether it is `?` over the chat, where nothing is being typed: as in an empty prompt."""
        screen = self.screen
        if not isinstance(event, events.Key) or event.key != "question_mark" or screen is self.chat:
            return False
        is_typing = (
            self._is_typed_into(screen)
            or (isinstance(screen, Guarded) and screen.takes_text)
            or self._letter is not None
            or self._sorter.is_in_burst(event)
            or bool(self.chat.prompt.text.strip())
        )
        return not is_typing and not list_bindings(screen, event)

    async def _sort(self, event: events.Key | events.Paste) -> bool:
        """Place a key or a paste that has just arrived. Whether it is for the screen in front."""
        following = event.key if isinstance(event, events.Key) else ""
        if (held := self._sorter.held) is not None and self._sorter.is_due(event.time, following):
            await self._release(held)
        await self._end_letter(event)
        screen = self.screen
        if not isinstance(screen, Guarded):
            await self._place_unplaced(event)
            if await self._place_text(event, screen):
                return False
            acts = not isinstance(event, events.Key) or self._acts_now(event, screen)
            if not self._is_typed_into(screen):
                return acts
            if isinstance(event, events.Paste) or event.is_printable or event.key == "backspace":
                self._sorter.note_typed(event.time)
                focused = screen.focused
                self._field = (focused, event.time) if isinstance(focused, Input) else None
            elif event.key == "enter":
                self._sorter.note_sent(event.time)
                self._field = None
            return acts
        if screen.takes_text:
            await self._type_in_field(event)
        if screen.takes_text or (isinstance(event, events.Key) and self.is_deliberate(event)):
            return (
                isinstance(event, events.Paste)
                or event.key in _ALWAYS
                or (screen.is_awake and screen.admits(event))
            )
        if isinstance(event, events.Paste):
            await self._type(*self._sorter.note_pasted(event.time))
            await self.chat.prompt.paste_behind(event)
            screen.note(WENT_TO_PROMPT)
            return False
        return await self._carry_out(self._sorter.sort(event, self._describe(screen)), screen, event)

    def _acts_now(self, key: events.Key, screen: Screen[object]) -> bool:
        """Whether a key may act at once; one that a word must not press waits for what follows."""
        is_held = isinstance(screen, HoldsLetters) and screen.is_held(key)
        if not is_held or self._sorter.hold_secs == 0 or self.is_deliberate(key):
            return True
        self._letter = key
        self.set_timer(self._sorter.hold_secs, partial(self._act_alone, key, screen))
        return False

    def _is_typed_into(self, screen: Screen[object]) -> bool:
        return screen is self.chat or isinstance(screen.focused, Input | TextArea)

    async def _place_text(self, event: events.Key | events.Paste, screen: Screen[object]) -> bool:
        """Have text that is typed at a list search it, where it can be searched, and else go to the prompt.

        Whether the prompt has taken the event.
        """
        letters, self._letters = self._letters, []
        if not letters or event.time - letters[-1].time >= self._sorter.hold_secs:
            letters = []
        if (
            screen is self.chat
            and self.chat.prompt.has_focus
            and isinstance(event, events.Key)
            and event.is_printable
        ):
            await self._type(*letters)  # of a word whose first letter has closed the list
        if self._is_typed_into(screen) or (isinstance(event, events.Key) and self.is_deliberate(event)):
            return False
        if isinstance(event, events.Key):
            has_use = bool(list_bindings(screen, event))
            if not self._sorter.is_text_at_list(event, has_use=has_use):
                self._letters = [*letters, event] if event.is_printable else []
                return False
        if (field := next(iter(screen.query(QueryInput)), None)) is not None:
            field.focus()
            return False
        await self._type(*letters)
        if isinstance(event, events.Paste):
            await self.chat.prompt.paste_behind(event)
        else:
            await self._type(event)
        self._sorter.note_typed(event.time)
        self.chat.say(WENT_TO_PROMPT)
        return True

    async def _end_letter(self, following: events.Key | events.Paste) -> None:
        """Another key or a paste has arrived: the letter that waits acts only if it came long after."""
        if (letter := self._letter) is None:
            return
        screen = self.screen
        is_continued = (
            isinstance(screen, HoldsLetters)
            and isinstance(following, events.Key)
            and screen.continues(letter, following)
        )
        if is_continued or following.time - letter.time >= self._sorter.hold_secs:
            await self._act_alone(letter, screen)
        else:
            self._letter = None
            self.chat.say(PART_OF_A_WORD.format(letter.key))

    async def _act_alone(self, letter: events.Key, screen: Screen[object]) -> None:
        if self._letter is not letter:
            return
        self._letter = None
        if self.screen_stack and self.screen is screen and self._reaches_screen(letter):
            self._sorter.note_left()
            await self._check_bindings(letter.key)

    async def _type_in_field(self, event: events.Key | events.Paste) -> None:
        """Note what comes for a field of a question; before it goes what was held back as the field opened."""
        if (held := self._sorter.take_held()) is not None:
            await super().on_event(held)
        if isinstance(event, events.Paste) or event.is_printable or event.key == "backspace":
            self._sorter.note_typed(event.time)
        elif event.key in ("enter", "escape"):
            self._sorter.note_left()

    def _describe(self, screen: Guarded) -> OpenQuestion:
        return OpenQuestion(
            screen.subject,
            screen.knows,
            screen.offers,
            lambda key: screen.is_awake and screen.admits(key),
            has_draft=bool(self.chat.prompt.text.strip()),
            asks_enter_twice=screen.asks_enter_twice,
            keeps_escape=lambda key: screen.is_unread(key) or self.chat.prompt.takes_escape,
        )

    async def _carry_out(self, decided: SortedKeys, screen: Guarded, pressed: events.Key | None = None) -> bool:
        """Do what was decided. Whether the key that was just pressed may act."""
        await self._type(*decided.text)
        if decided.notice is not None:
            is_in_field = self._field is not None and decided.notice == WENT_TO_PROMPT
            screen.note(WENT_TO_FIELD if is_in_field else decided.notice)
        if pressed is not None and self._sorter.held is pressed:
            self.set_timer(self._sorter.hold_secs, partial(self._release, pressed))
        if (answer := decided.answer) is None:
            return False
        self._trailing.note_answered(answer)
        if answer.is_printable and self._reaches_screen(answer) and await self._check_bindings(answer.key):
            return False  # it has acted: what is typed next may be for a field that it has opened
        if answer is pressed:
            return True
        if self._reaches_screen(answer):
            await super().on_event(answer)
        return False

    async def _release(self, held: events.Key) -> None:
        """Let a key act that was held back, if nothing has followed it and a question is still there."""
        if self._sorter.held is not held or not self.screen_stack:
            return
        if isinstance(screen := self.screen, Guarded) and screen.takes_text:
            await self._type_in_field(held)
        elif isinstance(screen, Guarded):
            await self._carry_out(self._sorter.release(self._describe(screen)), screen)
        else:
            await self._place_unplaced()

    async def _settle(self) -> None:
        """A question has closed: what was pressed at it is placed, unless another one is in front."""
        if self.screen_stack and not isinstance(self.screen, Guarded):
            await self._place_unplaced()

    async def _place_unplaced(self, following: events.Key | events.Paste | None = None) -> None:
        """Type what was pressed at a question that is gone, but for what may have been another answer to it."""
        if not (keys := self._sorter.take_unplaced()):
            return
        last = keys[-1]
        is_followed = (
            isinstance(following, events.Key)
            and following.is_printable
            and following.character != last.character
            and following.time - last.time < _TYPING_SECS
        )
        for key in keys:
            if not is_followed and self._trailing.is_late_answer(key):
                self._say_left_over(key.key)
            else:
                await self._type(key)

    async def _type(self, *keys: events.Key) -> None:
        """Do in the prompt what these keys do there, but send nothing; what continues a text in a field behind
        the question is for that."""
        prompt = self.chat.prompt
        for key in keys:
            if self._continues_field(key):
                continue
            before = prompt.text
            await prompt.press_behind(key)
            if key.key == "enter" and prompt.text != before and not is_line_break(key):
                self._has_joined_lines = True

    def _continues_field(self, key: events.Key) -> bool:
        field, typed_at = self._field or (None, 0.0)
        if (
            field is None
            or key.time - typed_at > _TYPING_SECS
            or not (field.is_attached and field.screen in self.screen_stack[:-1])
        ):
            self._field = None
            return False
        self._field = (field, key.time)
        if key.is_printable and key.character is not None:
            field.insert_text_at_cursor(key.character)
        elif key.key == "backspace":
            field.action_delete_left()
        return True
