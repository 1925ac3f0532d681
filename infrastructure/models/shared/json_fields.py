"""Reading foreign JSON, in which any field may be missing, null or of another kind."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from quorum.domain.text.json_text import require_one_value
from quorum.domain.text.json_value import JsonObject, JsonValue

_NOTHING: JsonObject = {}
_LARGEST_COUNT = 2**53
_DEEPEST = 100
_LONGEST_NUMBER = 10
_OPENINGS = ("[", "{")


def read_text_field(source: JsonObject, key: str) -> str:
    """The string at `key`, or ""."""
    value = source.get(key)
    return value if isinstance(value, str) else ""


def read_count_field(source: JsonObject, key: str) -> int | None:
    """The whole number at `key`, or None; what is negative or beyond all reason counts nothing."""
    value = source.get(key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # some servers count in floating point
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _LARGEST_COUNT else None


def read_object_field(source: JsonObject, key: str) -> JsonObject:
    """The object at `key`, or an empty one."""
    value = source.get(key)
    return value if isinstance(value, Mapping) else _NOTHING


def read_objects_field(source: JsonObject, key: str) -> Sequence[JsonObject]:
    """The objects of the array at `key`; whatever else it holds is left out."""
    value = source.get(key)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


class WrongKindError(ValueError):
    """A field on which a call depends is of another kind than it must be. The text says which."""


def require_text_field(source: JsonObject, key: str) -> str:
    """Like `read_text_field`, for the fields of a call. Raises WrongKindError for a value that is no string."""
    value = source.get(key)
    if value is None or isinstance(value, str):
        return value or ""
    raise WrongKindError(f'"{key}" must be a string, not {_name_kind(value)}')


def require_count_field(source: JsonObject, key: str) -> int | None:
    """Like `read_count_field`, for a part of a call. Raises WrongKindError where it is there, but no count.

    Some servers number in text.
    """
    value = source.get(key)
    if isinstance(value, str) and value.isdecimal() and len(value) < _LONGEST_NUMBER:
        return int(value)
    number = read_count_field(source, key)
    if value is not None and number is None:
        raise WrongKindError(f'"{key}" must be a whole number from 0, not {_name_kind(value)}')
    return number


def require_object_field(source: JsonObject, key: str) -> JsonObject:
    """Like `read_object_field`, for what a call is made of: raises WrongKindError."""
    value = source.get(key)
    if value is None or isinstance(value, Mapping):
        return value or _NOTHING
    raise WrongKindError(f'"{key}" must be an object, not {_name_kind(value)}')


def require_objects_field(source: JsonObject, key: str) -> Sequence[JsonObject]:
    """Like `read_objects_field`, for what a call is made of: raises WrongKindError."""
    value = source.get(key)
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        return value
    raise WrongKindError(f'"{key}" must be an array of objects')


def parse_foreign_json(text: str | bytes, reader: json.JSONDecoder | None = None) -> JsonValue:
    """A JSON value from outside. Raises ValueError for what is not JSON, or could never be sent again.

    Python reads more than that: numbers that are none, or too large, and trees that it cannot write.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text))
        value: JsonValue = (reader or _READER).decode(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if isinstance(value, dict | list) and _is_deep(value, text):
        raise ValueError("it is nested too deeply")
    return value


def make_sendable(payload: JsonObject) -> JsonObject:
    """A payload that can be sent again: without halves of surrogate pairs, which no encoding can carry."""
    try:
        json.dumps(payload, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        cleaned: JsonObject = json.loads(replace_surrogates(json.dumps(payload, ensure_ascii=False)))
        return cleaned
    return payload


def replace_surrogates(text: str) -> str:
    """The text with halves of surrogate pairs, which no encoding can carry, replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def parse_arguments(raw: str) -> tuple[JsonObject, str | None]:
    """The arguments of a call, or an empty object and what is wrong with the text.

    Nothing and "null" stand for a call without arguments.
    """
    if raw.strip() in ("", "null"):
        return {}, None
    try:
        value = parse_foreign_json(raw, _ARGUMENTS_READER)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return {}, "the arguments hold half of a surrogate pair, which is no character"
    except ValueError as error:
        return {}, f"the arguments are not valid JSON: {error}"
    if not isinstance(value, dict):
        return {}, f"the arguments must be a JSON object, not {_name_kind(value)}"
    return value, None


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def _require_finite(text: str) -> float:
    number = float(text)
    if number in (math.inf, -math.inf):
        raise ValueError(f"{text[:40]} is too large a number")
    return number


_READER = json.JSONDecoder(parse_constant=_reject_constant, parse_float=_require_finite)
_ARGUMENTS_READER = json.JSONDecoder(
    parse_constant=_reject_constant, parse_float=_require_finite, object_pairs_hook=require_one_value
)


def _is_deep(value: JsonValue, text: str) -> bool:
    """Whether a tree has more levels than Python follows safely; the count of openings mostly tells."""
    if sum(map(text.count, _OPENINGS)) <= _DEEPEST:
        return False
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for holder in level
            for inner in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _name_kind(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case Mapping():
            return "an object"
        case _:
            return "an array"
