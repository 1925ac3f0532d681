"""Keys that come over the socket: all are read first, and each is pressed only if it may act where it would."""

from __future__ import annotations

import asyncio
import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from textual import events
from textual.keys import Keys, _character_to_key
from textual.message_pump import MessagePump

from quorum.rpc.json_rpc import build_invalid_params, make_refusal
from quorum.rpc.power import Hand, find_power, find_risk
from quorum.tui.agent.turns import MEMORY_MARK
from quorum.tui.prompt_box.prompt import Prompt

if TYPE_CHECKING:
    from quorum.tui.app.app import QuorumApp
    from quorum.tui.chat.chat_screen import ChatScreen


MOST_KEYS = 1000

_MODIFIERS = frozenset({"ctrl", "alt", "shift", "super", "hyper", "meta"})
_NAMED = frozenset(key.value for key in Keys if not key.value.startswith("<"))
_CHARACTERS = {"space": " ", "tab": "\t", "enter": "\r"}


class NamedKey(NamedTuple):
    """A key by Textual's name for it, and the character it types, if it types one."""

    name: str
    character: str | None


def read_keys(names: list[str]) -> list[NamedKey]:
    """All keys, in order. Raises RpcError for the first that there is not."""
    if len(names) > MOST_KEYS:
        raise build_invalid_params(
            f"at most {MOST_KEYS} keys are fed at once; input.send takes a text as a whole"
        )
    return [_read(name, place) for place, name in enumerate(names, 1)]


def _read(name: str, place: int) -> NamedKey:
    if len(name) == 1 and (name.isprintable() or name in "\t\r\n"):
        return _parse_character(name)
    *modifiers, base = name.split("+") if not name.endswith("++") else [*name[:-2].split("+"), "+"]
    if name in _NAMED and not modifiers:
        return NamedKey(name, _CHARACTERS.get(name))
    known = base in _NAMED or (len(base) == 1 and base.isprintable()) or _find_character(base) is not None
    if not known or not set(modifiers) <= _MODIFIERS or len(set(modifiers)) < len(modifiers):
        raise build_invalid_params(
            f"key {place}, {name!r}, is not known; a key is one character or a name such as enter, escape, "
            "pageup, f1, ctrl+o, shift+tab or question_mark"
        )
    if modifiers:
        return NamedKey("+".join([*modifiers, _character_to_key(base) if len(base) == 1 else base]), None)
    return NamedKey(base, _find_character(base))


def _parse_character(character: str) -> NamedKey:
    match character:
        case "\r" | "\n":
            return NamedKey("enter", "\r")
        case "\t":
            return NamedKey("tab", "\t")
        case _ if character.isalnum():
            return NamedKey(character, character)
        case _:
            return NamedKey(_character_to_key(character), character)


def _find_character(name: str) -> str | None:
    """The character of a name such as `question_mark`."""
    try:
        return unicodedata.lookup(name.replace("_", " ").upper())
    except KeyError:
        return None


_PATIENCE_SECS = 10.0
_LOOK_SECS = 0.05
FREE_SCREENS = frozenset(
    {
        "quorum.tui.screens.accounts.context_screen",
        "quorum.tui.screens.accounts.cost_screen",
        "quorum.tui.screens.accounts.sheet",
        "quorum.tui.screens.help",
        "quorum.tui.screens.model_picker",
        "quorum.tui.screens.pager_screen",
        "quorum.tui.screens.rewind.turn_list",
        "quorum.tui.screens.session_picker",
        "quorum.tui.themes.picker",
        "quorum.tui.screens.timeline.timeline_screen",
    }
)
"""Rooms of screens over the chat in which no key loosens anything."""

_SENDING = frozenset({"submit", "complete"})
"""What the prompt's keys do that may send, whichever keys the person has for it."""


@dataclass(slots=True)
class _Fed:
    hand: Hand
    refusal: str = ""
    never: bool = False


class KeyFeed:
    """Presses keys for clients, one after the other, and keeps back what the client may not press."""

    def __init__(self, app: QuorumApp) -> None:
        self._app = app
        self._one_at_a_time = asyncio.Lock()
        self._fed: WeakKeyDictionary[events.Key, _Fed] = WeakKeyDictionary()
        self._typed_into: WeakSet[Prompt] = WeakSet()

    async def press(self, keys: list[NamedKey], hand: Hand) -> None:
        """Press them all. Raises RpcError at the first that is kept back; those before it were pressed."""
        async with self._one_at_a_time:
            for place, key in enumerate(keys, 1):
                event = events.Key(key.name, key.character)
                fed = self._fed[event] = _Fed(hand)
                self._app.post_message(event)
                await self._wait_until_settled()
                if fed.refusal:
                    reason = "suppressed" if fed.never else "needs_approval"
                    message = f"key {place} of {len(keys)}, {key.name}, was not pressed: {fed.refusal}"
                    raise make_refusal(message, reason)

    def has_fed(self, event: events.Key) -> bool:
        """Whether a key came from a client."""
        return event in self._fed

    def keeps_back(self, event: events.Key) -> bool:
        """Whether a key must not act on what is in front now; the app asks each time one comes by it."""
        if (fed := self._fed.get(event)) is None:
            return False
        try:
            self._look_at(event, fed)
        except _KeptBack as reason:
            fed.refusal, fed.never = str(reason), reason.never
        return bool(fed.refusal)

    def explain_withholding(self, event: events.Key) -> str:
        """Why a key that the person presses now must not send what stands in the prompt: a sentence, said once.

        A program without the token typed into it, and it is what such a program may not send: the person may
        have pressed Enter for what they had written there themselves.
        """
        prompt = self._app.screen.focused
        if event in self._fed or not isinstance(prompt, Prompt) or prompt not in self._typed_into:
            return ""
        text = prompt.whole_text.strip()
        if not text:
            self._typed_into.discard(prompt)
            prompt.is_typed_by_person = True
        if not text.startswith(("!", "/", MEMORY_MARK)) or event.key == "tab" or not self._sends(event):
            return ""
        self._typed_into.discard(prompt)
        return "a program typed into this prompt: read it; enter again sends it"

    def _sends(self, event: events.Key) -> bool:
        """Whether a key that is pressed in the prompt may send what stands there."""
        return _may_send(event.key) or not _SENDING.isdisjoint(self._list_actions(event))

    def _list_actions(self, event: events.Key) -> set[str]:
        """What the key is bound to, in front and around it."""
        return {
            binding.action
            for _, bindings in self._app.screen._binding_chain
            for binding in bindings.key_to_bindings.get(event.key, ())
        }

    def _look_at(self, event: events.Key, fed: _Fed) -> None:
        app, screen = self._app, self._app.screen
        powers = [
            (find_power(binding.action), namespace)
            for namespace, bindings in screen._binding_chain
            for binding in bindings.key_to_bindings.get(event.key, ())
        ]
        if any(power == "never" for power, _ in powers):
            raise _KeptBack("it would hand the terminal to another program", never=True)
        if fed.hand.may_approve:
            return
        on_chat = screen is app.chat
        if not on_chat and type(screen).__module__ not in FREE_SCREENS:
            raise _KeptBack(f"an answer may be given here, and that takes approval: {fed.hand.lacks}")
        guarded = [namespace for power, namespace in powers if power == "approval"]
        if any(on_chat or namespace is app for namespace in guarded):
            raise _KeptBack(f"it takes approval: {fed.hand.lacks}")
        focused = screen.focused
        if on_chat and "interrupt" in self._list_actions(event) and _may_leave_mode(app.chat):
            raise _KeptBack(f"pressed twice it leaves a mode, and that takes approval: {fed.hand.lacks}")
        if isinstance(focused, Prompt) and focused.holds_keys:
            raise _KeptBack("the prompt is being written in an editor")
        if on_chat:  # a bar over the transcript may hand what is typed there on to the prompt
            self._typed_into.add(app.chat.prompt)
            app.chat.prompt.is_typed_by_person = False
        sends = isinstance(focused, Prompt) and self._sends(event)
        if sends and (what := find_risk(app.chat.prompt.whole_text, typed=True)):
            raise _KeptBack(f"{what} takes approval: {fed.hand.lacks}; command.exec takes the free ones")

    async def _wait_until_settled(self) -> None:
        """Wait until a key has been by everyone who may take it: the app, what has the focus, its screen."""
        try:
            async with asyncio.timeout(_PATIENCE_SECS):
                await _wait_until_idle(self._app)
                if not self._app.screen_stack:  # it was the key that ends the app
                    return
                screen = self._app.screen
                for pump in (screen.focused, screen, self._app):
                    if pump is not None:
                        await _wait_until_idle(pump)
        except TimeoutError:
            raise make_refusal("the app did not answer in time", "busy") from None


class _KeptBack(Exception):
    def __init__(self, why: str, *, never: bool = False) -> None:
        super().__init__(why)
        self.never = never


def _may_leave_mode(chat: ChatScreen) -> bool:
    """Whether Esc, pressed twice, leaves a mode in which less is done or more is looked at."""
    session, turns = chat.current.session, chat.turns
    acts_elsewhere = turns.running or turns.own.running or chat.prompt.whole_text
    return session is not None and not acts_elsewhere and not {"plan", "fast"}.isdisjoint(session.special_modes)


def _may_send(key: str) -> bool:
    """Whether a key may send what is typed, or have a menu make a command of it and send that."""
    return "enter" in key or key in {"ctrl+j", "ctrl+m", "tab"}


async def _wait_until_idle(pump: MessagePump) -> None:
    """Wait until all that a pump had to do so far is done, or it has ended."""
    reached = asyncio.Event()
    if pump.call_later(reached.set):
        while pump.is_running and not reached.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(reached.wait(), _LOOK_SECS)
