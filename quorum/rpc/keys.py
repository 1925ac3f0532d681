"""Keys as they are named over the socket, read before any of them is pressed."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from textual.keys import Keys, _character_to_key

from quorum.rpc.json_rpc import build_invalid_params

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
