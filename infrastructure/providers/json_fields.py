"""Reading foreign JSON, in which any field may be missing, null or of another kind."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from domain.json_value import JsonObject, JsonValue

_NOTHING: JsonObject = {}


def text_of(source: JsonObject, key: str) -> str:
    """The string at `key`, or ""."""
    value = source.get(key)
    return value if isinstance(value, str) else ""


def count_of(source: JsonObject, key: str) -> int | None:
    """The whole number at `key`, or None."""
    value = source.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def object_of(source: JsonObject, key: str) -> JsonObject:
    """The object at `key`, or an empty one."""
    value = source.get(key)
    return value if isinstance(value, Mapping) else _NOTHING


def objects_of(source: JsonObject, key: str) -> Sequence[JsonObject]:
    """The objects of the array at `key`; whatever else it holds is left out."""
    value = source.get(key)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def whole(text: str) -> str:
    """The text with halves of surrogate pairs, which no encoding can carry, replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def parsed_arguments(raw: str) -> tuple[JsonObject, str | None]:
    """The arguments of a call, or an empty object and what is wrong with the text."""
    if not raw.strip():
        return {}, None
    try:
        value: JsonValue = json.loads(raw, parse_constant=_reject_constant)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return {}, "the arguments hold half of a surrogate pair, which is no character"
    except RecursionError:
        return {}, "the arguments are nested too deeply"
    except ValueError as error:
        return {}, f"the arguments are not valid JSON: {error}"
    if not isinstance(value, dict):
        return {}, f"the arguments must be a JSON object, not {_kind(value)}"
    return value, None


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def _kind(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case _:
            return "an array"
