"""Schemas of tools in the words of JSON Schema that every model API takes.

What is left out the tool, or its server, checks by itself; the description tells the model of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.models.shared.api_client import ApiRequest

_KINDS = ("string", "number", "integer", "boolean", "array", "object")
# Google takes no more levels, and some servers fail at what they make of many values.
_DEEPEST = 4
_MOST_VALUES = 60
_LONGEST_NOTE = 200
_TOLD = (
    "const",
    "default",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
)


def make_tools_plain(request: ApiRequest) -> ApiRequest:
    """The request with the schemas of its tools made plain."""
    return replace(request, tools=tuple(map(make_tool_plain, request.tools)))


def make_tool_plain(tool: JsonObject) -> JsonObject:
    """The tool with its schema made plain; one that is plain stays the same."""
    schema = tool.get("input_schema")
    merged = _merge(schema if isinstance(schema, Mapping) else {})
    return {**tool, "input_schema": _make_object(merged, 0)}


def _make_plain(schema: JsonValue, depth: int) -> dict[str, JsonValue]:
    if not isinstance(schema, Mapping):
        return {"type": "string"}
    merged = _merge(schema)
    match _find_kind(merged):
        case "object" if depth < _DEEPEST and merged.get("properties"):
            return _make_object(merged, depth)
        case "object":
            return _describe({"type": "string"}, merged, "A JSON object, as text.")
        case "array" if depth < _DEEPEST:
            items = merged.get("items")
            return _describe({"type": "array", "items": _make_plain(items, depth + 1)}, merged)
        case "array":
            return _describe({"type": "string"}, merged, "A JSON array, as text.")
        case "string":
            return _make_text(merged)
        case kind:
            return _describe({"type": kind}, merged, _list_values(merged))


def _make_object(schema: JsonObject, depth: int) -> dict[str, JsonValue]:
    given, listed = schema.get("properties"), schema.get("required")
    properties: dict[str, JsonValue] = {
        name: _make_plain(each, depth + 1)
        for name, each in (given.items() if isinstance(given, Mapping) else ())
    }
    required: list[JsonValue] = [
        name for name in (listed if isinstance(listed, list) else ()) if name in properties
    ]
    return _describe({"type": "object", "properties": properties, "required": required}, schema)


def _make_text(schema: JsonObject) -> dict[str, JsonValue]:
    values = schema.get("enum")
    if isinstance(values, list) and 0 < len(values) <= _MOST_VALUES and all(map(_is_word, values)):
        return _describe({"type": "string", "enum": values}, schema)
    return _describe({"type": "string"}, schema, _list_values(schema))


def _is_word(value: JsonValue) -> bool:
    return isinstance(value, str) and bool(value)


def _list_values(schema: JsonObject) -> str:
    values = schema.get("enum")
    if not isinstance(values, list) or not values:
        return ""
    return _shorten(f"One of {', '.join(_encode(each) for each in values[:_MOST_VALUES])}") + "."


def _describe(plain: dict[str, JsonValue], schema: JsonObject, note: str = "") -> dict[str, JsonValue]:
    """The plain schema with what the other says in words, and tells beside."""
    told = ", ".join(f"{key} {_encode(schema[key])}" for key in _TOLD if schema.get(key) is not None)
    described = schema.get("description")
    words = (described if isinstance(described, str) else "", note, f"({_shorten(told)})" if told else "")
    text = " ".join(filter(None, words))
    return {**plain, "description": text} if text else plain


def _encode(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_NOTE else text[: _LONGEST_NOTE - 1] + "…"


def _find_kind(schema: JsonObject) -> str:
    """The type, or the first that is not null; a text where anything goes, as that can be any JSON."""
    named = schema.get("type")
    for kind in named if isinstance(named, list) else (named,):
        if isinstance(kind, str) and kind in _KINDS:
            return kind
    if schema.get("properties"):
        return "object"
    if "items" in schema:
        return "array"
    values = schema.get("enum")
    first = values[0] if isinstance(values, list) and values else schema.get("const")
    match first:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case _:
            return "string"


def _merge(schema: JsonObject, depth: int = 0) -> JsonObject:
    """The schema with what it has in all parts, and in the first of several that a value can fit; those that
    are objects as well give it their properties."""
    merged = dict(schema)
    if depth > _DEEPEST:
        return merged
    for part in _list_objects(schema.get("allOf")):
        merged = _join(merged, _merge(part, depth + 1), needs_both=False)
    for union in ("anyOf", "oneOf"):
        branches = [_merge(each, depth + 1) for each in _list_objects(schema.get(union))]
        fitting = [each for each in branches if each.get("type") != "null"]
        if not fitting:
            continue
        chosen, *others = fitting
        if _find_kind(chosen) == "object":
            for other in others:
                if _find_kind(other) == "object":
                    chosen = _join(chosen, other, needs_both=True)
        merged = _join(merged, chosen, needs_both=False)
    return merged


def _join(one: JsonObject, other: JsonObject, *, needs_both: bool) -> dict[str, JsonValue]:
    """Both; of a keyword that both have the first counts, but for properties and what is required."""
    properties = {**_get_properties(other), **_get_properties(one)}
    ours, theirs = _list_required(one), _list_required(other)
    required: list[JsonValue] = (
        [name for name in ours if name in theirs]
        if needs_both
        else [*ours, *(name for name in theirs if name not in ours)]
    )
    joined = {**other, **one}
    return {
        **joined,
        **({"properties": properties} if properties else {}),
        **({"required": required} if required or "required" in joined else {}),
    }


def _get_properties(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _list_required(schema: JsonObject) -> list[JsonValue]:
    required = schema.get("required")
    return required if isinstance(required, list) else []


def _list_objects(value: JsonValue) -> list[JsonObject]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
