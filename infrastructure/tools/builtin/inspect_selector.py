"""What a call of `inspect` asks to see of a stored output."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from quorum.domain.errors import ToolError
from quorum.domain.text.json_text import describe_value, quote_key
from quorum.domain.text.json_value import JsonValue

_SHOWN_CHARS = 200
_SHOWN_KEYS = 20
_PAGE = re.compile(r"(?:(lines|chars):([0-9]{1,12})-([0-9]{1,12})|(slice):([0-9]{1,12})\.\.([0-9]{1,12}))")
_NARROWED = re.compile(rf"key:(.*?)(?:\s+({_PAGE.pattern}))?", re.DOTALL)
_FORMS = (
    "use lines:20-50 for lines of text or chars:1-2000 for characters of it (from 1, the last included), "
    "slice:3..8 for entries of an array (from 0, the last left out), key:results or key:results.0.name for a "
    "part of JSON, or a key and a page of it: key:results slice:3..8"
)


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a text, counted from 1, the last included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Slice:
    """Entries of an array, counted from 0, the last left out."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Characters:
    """Characters of a text, counted from 1, the last included; for lines too long for a page."""

    first: int
    last: int


Page: TypeAlias = Lines | Slice | Characters


@dataclass(frozen=True, slots=True)
class Selector:
    """A part of a JSON value by its path, and a page of that; None stands for the whole."""

    path: str | None = None
    page: Page | None = None


def parse_selector(selector: str) -> Selector:
    """What a selector means; an empty one asks for the whole. Raises ToolError."""
    selector = selector.strip()
    if not selector:
        return Selector()
    if page := _PAGE.fullmatch(selector):
        return Selector(None, _parse_page(page))
    narrowed = _NARROWED.fullmatch(selector)
    if narrowed is None or not narrowed[1]:
        raise ToolError(f"selector {shorten_piece(ascii(selector))} is not understood: {_FORMS}")
    return Selector(narrowed[1], _parse_page(_PAGE.fullmatch(narrowed[2])) if narrowed[2] else None)


def _parse_page(match: re.Match[str] | None) -> Page:
    assert match is not None
    unit = match[1] or match[4]
    first, last = int(match[2] or match[5]), int(match[3] or match[6])
    if unit == "slice":
        if first >= last:
            raise ToolError(f"{match[0]} holds no entry: the end is left out and must be past the start")
        return Slice(first, last)
    if not 1 <= first <= last:
        raise ToolError(f"{match[0]} is empty: {unit} count from 1, and the last comes second")
    return Lines(first, last) if unit == "lines" else Characters(first, last)


def select_path(value: JsonValue, path: str) -> JsonValue:
    """The part of a value at a dotted path of keys and indices. Raises ToolError that says what there is.

    A key that holds dots itself is found too: the longest that fits is taken.
    """
    names = path.split(".")
    place = 0
    while place < len(names):
        above = shorten_piece(".".join(names[:place])) if place else "the output"
        match value:
            case Mapping():
                value, place = _select_in_object(value, names, place, above)
            case Sequence() if not isinstance(value, str):
                value, place = _select_in_array(value, names[place], above), place + 1
            case _:
                raise ToolError(f"{above} is {add_article(describe_value(value))}, in which there are no keys")
    return value


def _select_in_object(
    value: Mapping[str, JsonValue], names: Sequence[str], place: int, above: str
) -> tuple[JsonValue, int]:
    for end in range(len(names), place, -1):
        key = ".".join(names[place:end])
        if key in value:
            return value[key], end
    keys = ", ".join(shorten_piece(quote_key(key)) for key in list(value)[:_SHOWN_KEYS]) or "none"
    more = f" and {len(value) - _SHOWN_KEYS} more" if len(value) > _SHOWN_KEYS else ""
    raise ToolError(f"{above} has no key {shorten_piece(quote_key(names[place]))}: its keys are {keys}{more}")


def _select_in_array(value: Sequence[JsonValue], name: str, above: str) -> JsonValue:
    if not value:
        raise ToolError(f"{above} is an empty array")
    allowed = f"its entries are 0 to {len(value) - 1}"
    if not re.fullmatch("[0-9]{1,12}", name):
        raise ToolError(f"{above} is an array, and {shorten_piece(quote_key(name))} is not an index: {allowed}")
    if int(name) >= len(value):
        raise ToolError(f"{above} has no entry {name}: {allowed}")
    return value[int(name)]


def shorten_piece(text: str) -> str:
    """A piece of a call or an output that is short enough to stand in a sentence."""
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"


def add_article(kind: str) -> str:
    """What a value is, as it stands in a sentence."""
    if kind == "null":
        return kind
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
