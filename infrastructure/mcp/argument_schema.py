"""The schema of a tool's arguments as every model API takes it, and arguments under the server's own names.

APIs refuse a whole request for one tool with a top-level `anyOf`, a key of other characters, or a reference or
type that they do not know. What is left out here the server checks by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from quorum.domain.text.json_value import JsonObject, JsonValue

_UNFIT = re.compile(r"[^a-zA-Z0-9_.-]")
_LONGEST_KEY = 64
_PLACE = re.compile("[0-9]{1,6}")
_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_OTHER_TYPES = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "dict": "object",
    "map": "object",
    "list": "array",
    "tuple": "array",
    "none": "null",
}
_UNIONS = ("anyOf", "oneOf")
_ONLY_BELOW = frozenset({"anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else"})
_LEFT_OUT = frozenset(
    [
        "$schema",
        "$id",
        "$anchor",
        "$comment",
        "$defs",
        "definitions",
        "$dynamicRef",
        "$dynamicAnchor",
        "$recursiveRef",
        "$recursiveAnchor",
        "$vocabulary",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "unevaluatedProperties",
        "unevaluatedItems",
        "patternProperties",
        "propertyNames",
        "additionalItems",
        "prefixItems",
    ]
)
_COUNTS = frozenset(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"])
_DEEPEST = 12
_MOST_NODES = 4_000
_MOST_BRANCHES = 500
_MOST_WITHIN = 2


class ArgumentSchema(Struct, frozen=True):
    """`schema` is what a model is given. `restore` takes its arguments back to the server's names."""

    schema: JsonObject
    _names: _Names

    def restore(self, arguments: JsonObject) -> JsonObject:
        """The arguments with the names that the server gave them."""
        restored = _restore(arguments, self._names)
        assert isinstance(restored, dict)
        return restored


class _Names(Struct):
    """The server's names of the properties of an object that have another here, and what is below all."""

    renamed: dict[str, str] = field(default_factory=dict)
    below: dict[str, _Names] = field(default_factory=dict)
    items: _Names | None = None

    @property
    def is_plain(self) -> bool:
        return not self.renamed and not self.below and self.items is None


def adapt_schema(schema: JsonObject) -> ArgumentSchema:
    """The schema with its references resolved, one plain object at the top, and keys of usual characters."""
    names = _Names()
    adapter = _Adapter(schema)
    adapted = adapter.adapt_top(names)
    return ArgumentSchema(adapted, names)


class _Adapter:
    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._nodes = 0
        self._branches = 0
        self._open: list[str] = []

    def adapt_top(self, names: _Names) -> JsonObject:
        merged = self._merge(self._root, frozenset())
        alternatives = self._describe_alternatives(self._root)
        top = {key: value for key, value in merged.items() if key not in _ONLY_BELOW}
        top["type"] = "object"
        adapted = self._adapt(top, names, 0)
        described = [
            text for text in (adapted.get("description"), alternatives) if isinstance(text, str) and text
        ]
        note = {"description": " ".join(described)} if described else {}
        return {**adapted, "properties": adapted.get("properties", {}), **note}

    def _describe_alternatives(self, schema: JsonObject) -> str:
        """In words, which of several sets of properties a call needs: no API takes that at the top."""
        groups = [
            " and ".join(str(name) for name in required)
            for union in _UNIONS
            for branch in _list_objects(schema.get(union))
            if isinstance(required := self._resolve(branch).get("required"), list) and required
        ]
        return f"Needs one of: {'; or '.join(groups)}." if len(groups) > 1 else ""

    def _merge(self, schema: JsonObject, within: frozenset[str]) -> dict[str, JsonValue]:
        """An object schema with the properties of all branches; required is what each of a union requires.

        What a branch refers to is left out `within` itself, where it adds nothing.
        """
        self._branches += 1
        reference = str(schema.get("$ref", ""))
        if reference in within or self._branches > _MOST_BRANCHES:
            return {}
        schema = self._resolve(schema)
        within |= {reference} - {""}
        merged = dict(schema)
        properties = dict(_get_object(schema, "properties"))
        required = _list_texts(schema.get("required"))
        for branch in _list_objects(schema.get("allOf")):
            part = self._merge(branch, within)
            properties = _join_properties(properties, _get_object(part, "properties"))
            required += _list_texts(part.get("required"))
        for union in _UNIONS:
            parts = [self._merge(branch, within) for branch in _list_objects(schema.get(union))]
            for part in parts:
                properties = _join_properties(properties, _get_object(part, "properties"))
            if parts:
                needed = [set(_list_texts(part.get("required"))) for part in parts]
                required += sorted(set.intersection(*needed))
                if schema.get("additionalProperties") is False:
                    merged.pop("additionalProperties", None)
        if properties:
            merged["properties"] = properties
        if required:
            merged["required"] = list(dict.fromkeys(required))
        return merged

    def _resolve(self, schema: JsonObject) -> JsonObject:
        """The schema that a reference within the document leads to, with what stands beside it."""
        seen: set[str] = set()
        while isinstance(reference := schema.get("$ref"), str):
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            found = None if reference in seen else self._look_up(reference)
            seen.add(reference)
            schema = {**(found or {}), **beside}
            if found is None:
                break
        return schema

    def _look_up(self, reference: str) -> JsonObject | None:
        if not reference.startswith("#"):
            return None  # what is elsewhere is never fetched
        value: JsonValue = self._root
        for step in filter(None, reference[1:].split("/")):
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(value, Mapping) and key in value:
                value = value[key]
            elif isinstance(value, list) and _PLACE.fullmatch(key) and int(key) < len(value):
                value = value[int(key)]
            else:
                return None
        return value if isinstance(value, Mapping) else None

    def _adapt(self, schema: JsonValue, names: _Names, depth: int) -> dict[str, JsonValue]:
        self._nodes += 1
        if not isinstance(schema, Mapping) or depth > _DEEPEST or self._nodes > _MOST_NODES:
            return {}  # anything goes: the server checks it
        reference = str(schema.get("$ref", ""))
        if reference and self._open.count(reference) >= _MOST_WITHIN:
            return {}  # a model that has read it twice knows it
        self._open.append(reference)
        adapted = self._adapt_resolved(self._resolve(schema), names, depth)
        self._open.pop()
        return adapted

    def _adapt_resolved(self, schema: JsonObject, names: _Names, depth: int) -> dict[str, JsonValue]:
        adapted: dict[str, JsonValue] = {}
        for key, value in schema.items():
            if key not in _LEFT_OUT and _is_sound(key, value):
                adapted[key] = value
        _fit_type(adapted)
        _fit_bounds(adapted)
        for union in ("anyOf", "oneOf", "allOf"):
            if union in adapted:
                branches: list[JsonValue] = [
                    self._adapt(one, names, depth + 1) for one in _list_objects(schema[union])
                ]
                adapted[union] = branches
                if not branches:
                    del adapted[union]
        if "not" in adapted:
            adapted["not"] = self._adapt(adapted["not"], _Names(), depth + 1)
        self._adapt_object(adapted, names, depth)
        self._adapt_array(adapted, schema, names, depth)
        return adapted

    def _adapt_object(self, adapted: dict[str, JsonValue], names: _Names, depth: int) -> None:
        extra = adapted.get("additionalProperties")
        if isinstance(extra, Mapping):
            adapted["additionalProperties"] = self._adapt(extra, _Names(), depth + 1)
        properties = adapted.get("properties")
        if isinstance(properties, Mapping):
            ours: dict[str, JsonValue] = {}
            by_server: dict[str, str] = {}
            for key, value in properties.items():
                if value is False:
                    continue
                own = by_server[key] = _choose_key(key, (*properties, *ours))
                if own != key:
                    names.renamed[own] = key
                below = names.below.get(own, _Names())
                ours[own] = self._adapt(value, below, depth + 1)
                if own != key and isinstance(ours[own], dict):
                    ours[own] = {**_note_name(ours[own], key)}
                if not below.is_plain:
                    names.below[own] = below
            adapted["properties"] = ours
            if "required" in adapted:
                listed = _list_texts(adapted["required"])
                adapted["required"] = [by_server[name] for name in listed if name in by_server]
        if not adapted.get("required"):
            adapted.pop("required", None)

    def _adapt_array(
        self, adapted: dict[str, JsonValue], schema: JsonObject, names: _Names, depth: int
    ) -> None:
        kinds = adapted.get("type")
        if kinds != "array" and not (isinstance(kinds, list) and "array" in kinds) and "items" not in adapted:
            return
        below = names.items or _Names()
        tuples = schema.get("prefixItems") or schema.get("items")
        if isinstance(tuples, list):
            kept = [self._adapt(one, below, depth + 1) for one in tuples]
            distinct = [one for place, one in enumerate(kept) if one not in kept[:place]]
            adapted["items"] = distinct[0] if len(distinct) == 1 else {"anyOf": distinct} if distinct else {}
        else:
            adapted["items"] = self._adapt(schema.get("items"), below, depth + 1)
        if not below.is_plain:
            names.items = below


def _is_sound(key: str, value: JsonValue) -> bool:
    """Whether a keyword has a value of its kind."""
    match key:
        case "$ref":
            return False  # one that leads nowhere
        case "properties":
            return isinstance(value, Mapping)
        case "required":
            return isinstance(value, list)
        case "additionalProperties":
            return isinstance(value, bool | Mapping)
        case "enum":
            return isinstance(value, list) and bool(value)
        case "anyOf" | "oneOf" | "allOf":
            return isinstance(value, list)
        case "not":
            return isinstance(value, Mapping)
        case "description" | "title" | "format":
            return isinstance(value, str)
        case "pattern":
            return isinstance(value, str) and _is_expression(value)
        case "items":
            return value is not None
        case _ if key in _COUNTS:
            return isinstance(value, int) and not isinstance(value, bool) and value >= 0
        case _:
            return True


def _is_expression(text: str) -> bool:
    """Whether a regular expression can be checked here; many servers write them for another language."""
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _fit_type(adapted: dict[str, JsonValue]) -> None:
    if "type" not in adapted:
        return
    named = adapted["type"]
    kinds = [
        _OTHER_TYPES.get(one.lower(), one.lower())
        for one in (named if isinstance(named, list) else [named])
        if isinstance(one, str)
    ]
    known = list(dict.fromkeys(one for one in kinds if one in _TYPES))
    if not known:
        del adapted["type"]
    else:
        adapted["type"] = known[0] if len(known) == 1 else known


def _fit_bounds(adapted: dict[str, JsonValue]) -> None:
    """Bounds as draft 4 has them, true beside the bound, become those of today."""
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(adapted.get(exclusive), bool) and adapted.pop(exclusive) and bound in adapted:
            adapted[exclusive] = adapted.pop(bound)
        for name in (exclusive, bound):
            value = adapted.get(name)
            if name in adapted and (isinstance(value, bool) or not isinstance(value, int | float)):
                del adapted[name]
    step = adapted.get("multipleOf")
    if "multipleOf" in adapted and (not isinstance(step, int | float) or step <= 0):
        del adapted["multipleOf"]


def _choose_key(key: str, taken: Iterable[str]) -> str:
    """A name of usual characters; the same where it has only such."""
    if key and len(key) <= _LONGEST_KEY and not _UNFIT.search(key):
        return key
    used = set(taken)
    base = own = _UNFIT.sub("_", key)[: _LONGEST_KEY - 4].strip("_.") or "argument"
    number = 2
    while own in used:
        own = f"{base}_{number}"
        number += 1
    return own


def _note_name(adapted: JsonValue, key: str) -> JsonObject:
    assert isinstance(adapted, dict)
    described = adapted.get("description")
    return {**adapted, "description": f"{described} ({key})" if isinstance(described, str) else key}


def _join_properties(one: Mapping[str, JsonValue], other: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    joined = dict(one)
    for name, schema in other.items():
        known = joined.get(name, schema)
        if known == schema or not isinstance(known, Mapping) or not isinstance(schema, Mapping):
            joined[name] = known if known != {} and known is not True else schema
        elif not known:
            joined[name] = schema
        elif schema:
            branches = known["anyOf"] if known.keys() == {"anyOf"} else [known]
            assert isinstance(branches, list)
            joined[name] = {"anyOf": [*branches, *([] if schema in branches else [schema])]}
    return joined


def _restore(value: JsonValue, names: _Names) -> JsonValue:
    if isinstance(value, Mapping):
        return {
            names.renamed.get(key, key): _restore(each, names.below.get(key, _PLAIN))
            for key, each in value.items()
        }
    if isinstance(value, list | tuple) and names.items is not None:
        return [_restore(each, names.items) for each in value]
    return value


def _get_object(schema: JsonObject, key: str) -> JsonObject:
    value = schema.get(key)
    return value if isinstance(value, Mapping) else {}


def _list_objects(value: JsonValue) -> list[JsonObject]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _list_texts(value: JsonValue) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


_PLAIN = _Names()
