"""A type that accepts what a simple JSON Schema accepts, and nothing else.

The library that explains what is wrong with arguments takes 70 ms to import, in the first turn, and most
arguments are right. So those of schemas of a few usual words are first converted to a type of `msgspec`, which
is loaded anyway; only what that refuses is checked by the schema itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from quorum.domain.text.json_value import JsonObject, JsonValue

_NOTES = frozenset({"type", "description", "title"})
_PLAIN: dict[str, Any] = {"string": str, "number": float, "integer": int, "boolean": bool}


def build_accepted_type(schema: JsonObject) -> Any | None:
    """The type; None where the schema uses words that have no exact counterpart."""
    match schema.get("type"):
        case "object":
            return _build_object_type(schema)
        case "array":
            return _build_array_type(schema)
        case str() as name if name in _PLAIN:
            return _build_plain_type(_PLAIN[name], schema)
        case _:
            return None


def is_accepted(value: JsonValue, accepted: Any) -> bool:
    """Whether a type from here takes the value. What it refuses may still fit the schema: 1.0 is an integer."""
    try:
        msgspec.convert(value, accepted)
    except (msgspec.ValidationError, UnicodeError, OverflowError, RecursionError):
        return False
    return True


def _build_plain_type(plain: Any, schema: JsonObject) -> Any | None:
    match {name: value for name, value in schema.items() if name not in _NOTES}:
        case {"minimum": int(least)} as rest if len(rest) == 1 and plain is int and abs(least) < 1 << 62:
            return Annotated[int, msgspec.Meta(ge=least)]
        case {"minLength": int(least)} as rest if len(rest) == 1 and plain is str and 0 <= least < 1 << 31:
            return Annotated[str, msgspec.Meta(min_length=least)]
        case {"enum": [*words]} as rest if len(rest) == 1 and plain is str and words:
            return Literal[tuple(words)] if all(isinstance(word, str) for word in words) else None
        case rest:
            return None if rest else plain


def _build_array_type(schema: JsonObject) -> Any | None:
    items = schema.get("items")
    if not schema.keys() <= _NOTES | {"items"} or not isinstance(items, Mapping):
        return None
    inner: Any = build_accepted_type(items)
    return None if inner is None else list.__class_getitem__(inner)


def _build_object_type(schema: JsonObject) -> Any | None:
    properties, required = schema.get("properties"), schema.get("required", [])
    if (
        not schema.keys() <= _NOTES | {"properties", "required", "additionalProperties"}
        or schema.get("additionalProperties") is not False
        or not isinstance(properties, Mapping)
        or not isinstance(required, list)
        or not set(map(str, required)) <= properties.keys()
    ):
        return None
    fields: list[Any] = []
    for number, (name, inside) in enumerate(properties.items()):
        inner = build_accepted_type(inside) if isinstance(inside, Mapping) else None
        if inner is None:
            return None
        field = f"field_{number}", inner
        fields.append(field if name in required else (*field, None))
    names = {f"field_{number}": name for number, name in enumerate(properties)}
    return msgspec.defstruct("Arguments", fields, rename=names, forbid_unknown_fields=True, kw_only=True)
