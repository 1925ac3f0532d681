"""What keys are called: as a person writes them, as Textual knows them, as they are shown."""

from __future__ import annotations

import string
from functools import cache

from textual.binding import Binding
from textual.keys import Keys

MODIFIERS = ("alt", "ctrl", "hyper", "meta", "shift", "super")
_ALIASES = {
    "esc": "escape",
    "return": "enter",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "page_up": "pageup",
    "page_down": "pagedown",
    "del": "delete",
    "ins": "insert",
    "option": "alt",
    "control": "ctrl",
    "cmd": "super",
}
# A terminal sends the same for both.
_SAME = {
    "ctrl+i": "tab",
    "ctrl+m": "enter",
    "ctrl+left_square_bracket": "escape",
    "ctrl+h": "backspace",
    "ctrl+space": "ctrl+at",
}
_NAMED = frozenset(key.value for key in Keys if "+" not in key.value and not key.value.startswith("<"))
_SHORT = {"escape": "esc", "pageup": "pgup", "pagedown": "pgdn"}


def parse_key(text: str) -> str | None:
    """The key that a person means, as Textual calls it; None where there is no such key."""
    *modifiers, base = _split_parts(text.strip())
    base = base if len(base) == 1 else _ALIASES.get(base.lower(), base.lower())
    modifiers = [_ALIASES.get(each.lower(), each.lower()) for each in modifiers]
    if set(modifiers) - set(MODIFIERS) or len(set(modifiers)) < len(modifiers):
        return None
    if len(base) == 1:
        if not base.isprintable() or base == " ":
            return "space" if base == " " and not modifiers else None
        if modifiers == ["shift"] and base.isalpha():
            return base.upper()
        name = _name_character(base.lower() if modifiers else base)
    elif base in _NAMED or base in _list_characters():
        name = base
    else:
        return None
    whole = "+".join((*sorted(modifiers), name))
    return _SAME.get(whole, whole)


def label_key(key: str) -> str:
    """A key as it is shown: `ctrl+o`, `?`, `pgup`."""
    *modifiers, base = key.split("+")
    return "+".join((*modifiers, _SHORT.get(base) or _list_characters().get(base, base)))


def is_printable(key: str) -> bool:
    """Whether a key writes a character where something is typed."""
    return "+" not in key and (key == "space" or key not in _NAMED)


def _split_parts(text: str) -> list[str]:
    """The modifiers and the key: a plus sign may itself be the key."""
    if text == "+" or text.endswith("++"):
        return [*(part for part in text[:-1].split("+") if part), "+"]
    return text.split("+")


@cache
def _list_characters() -> dict[str, str]:
    """The signs on a keyboard that have names, by these."""
    return {_name_character(sign): sign for sign in string.punctuation}


def _name_character(character: str) -> str:
    if character == ",":  # which stands between keys for Textual
        return "comma"
    (bound,) = Binding.make_bindings([(character, "any")])
    return bound.key
