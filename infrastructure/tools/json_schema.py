"""Tool definitions as JSON Schema, and arguments checked against it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import msgspec

from quorum.domain.calls.tool import ToolDefinition, ToolParameter, ToolSpec
from quorum.domain.text.json_value import JsonObject, JsonValue

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError


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


_TYPES = {
    "string": "string",
    "path": "string",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "array": "array",
}
_LONGEST_SENTENCE = 500


def _is_listed(tool: str, arguments: JsonObject) -> bool:
    """Whether a command line, which any text fits, is the list of its words: no shell reads it as such."""
    command = arguments.get("command")
    return tool == "run_command" and isinstance(command, str) and command.lstrip().startswith('["')


class JsonSchema:
    """The neutral schema {name, description, input_schema}; each provider puts it in its own envelope."""

    def __init__(self) -> None:
        self._checks: dict[str, _ArgumentCheck] = {}

    def tool_to_schema(self, definition: ToolDefinition) -> JsonObject:
        """The schema of one tool."""
        return {
            "name": definition.name,
            "description": definition.description,
            "input_schema": definition.input_schema
            if definition.input_schema is not None
            else _leave_out_bounds(_build_input_schema(definition)),
        }

    def all_tools_schema(self, spec: ToolSpec) -> tuple[JsonObject, ...]:
        """The schemas of all tools, in the order of registration."""
        return tuple(self.tool_to_schema(definition) for definition in spec.all_tools)

    def low_risk_tools_schema(self, spec: ToolSpec) -> tuple[JsonObject, ...]:
        """The schemas of the tools that run without review."""
        return tuple(self.tool_to_schema(definition) for definition in spec.low_risk_tools)

    def find_problems(self, definition: ToolDefinition, arguments: JsonObject) -> tuple[str, ...]:
        """What is wrong with these arguments, one sentence a field; empty when they fit."""
        check = self._get_check(definition)
        if check.accepted is not None and is_accepted(dict(arguments), check.accepted):
            return ()
        errors = check.validator.iter_errors(dict(arguments))
        try:
            found = sorted(errors, key=lambda error: str(error.json_path))
            problems = tuple(_render_sentence(error) for error in found if not _is_left_to_server(error))
        except Exception as error:
            if definition.input_schema is None:
                raise
            return (f"they cannot be checked, as the schema of {definition.name} fails: {_describe(error)}",)
        if not problems:
            return ()
        from quorum.infrastructure.tools.argument_repair import explain_unknown_names

        return (*problems, *explain_unknown_names(check.schema, arguments))

    def repair(self, definition: ToolDefinition, arguments: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
        """The arguments in the form that the schema asks for, and what was changed; unchanged where they fit,
        or where not all of them can be read in one way."""
        is_fit = not self.find_problems(definition, arguments) and not _is_listed(definition.name, arguments)
        if is_fit and definition.input_schema is None:  # whose names are all known
            return arguments, ()
        from quorum.infrastructure.tools.argument_repair import repair_arguments, respell_names

        schema, repaired = self._get_check(definition).schema, arguments
        repairs: tuple[str, ...] = ()
        if is_fit:
            repaired, repairs = respell_names(schema, arguments)
        if not is_fit or (repairs and self.find_problems(definition, repaired)):
            repaired, more = repair_arguments(schema, repaired, definition.name)
            repairs = (*repairs, *more)
        if not repairs or self.find_problems(definition, repaired):
            return arguments, ()
        return repaired, repairs

    def give_example(self, definition: ToolDefinition, arguments: JsonObject) -> str:
        """Arguments that fit, as JSON."""
        from quorum.infrastructure.tools.argument_repair import build_example

        return build_example(self._get_check(definition).schema, arguments)

    def warm_up(self, definitions: Iterable[ToolDefinition]) -> None:
        """Build what checks the arguments of each tool. Blocks: call it from a background thread."""
        for definition in definitions:
            check = self._get_check(definition)
            if check.accepted is None:
                _ = check.validator

    def _get_check(self, definition: ToolDefinition) -> _ArgumentCheck:
        known = self._checks.get(definition.name)
        if known is None or not _is_same(known.definition, definition):
            self._checks[definition.name] = known = _ArgumentCheck(definition)
        return known


class _ArgumentCheck:
    """What checks the arguments of one tool: a type that accepts usual ones, a validator for the others."""

    def __init__(self, definition: ToolDefinition) -> None:
        self.definition = definition
        self.schema = _build_input_schema(definition)
        self.accepted = build_accepted_type(self.schema)

    @cached_property
    def validator(self) -> Draft202012Validator:
        """Made, and its library loaded, when it is first needed."""
        return _build_validator(self.schema)


def find_schema_problem(schema: JsonObject) -> str | None:
    """What keeps a schema that a tool brings from being used; None where nothing does."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    if schema.get("type") != "object":
        return 'its type is not "object"'
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError) as error:
        return error.message if isinstance(error, SchemaError) else "it is nested too deeply"
    return None


def find_mismatch(schema: JsonObject, value: JsonValue) -> str:
    """In which way a value does not fit a schema from outside; empty where it does. A schema that cannot be
    used is one that everything fits."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
        error = next(iter(_build_validator(schema).iter_errors(value)), None)
    except (SchemaError, RecursionError):
        return ""
    except Exception as failure:  # noqa: BLE001 - a reference that leads nowhere, in the library's own types
        return f"the schema cannot be used: {failure}"[:_LONGEST_SENTENCE]
    return "" if error is None else _render_sentence(error)[:_LONGEST_SENTENCE]


def _build_validator(schema: JsonObject) -> Draft202012Validator:
    # A schema may come from a server: what it refers to is never fetched.
    from referencing import Registry

    return _define_safe_validator()(schema, registry=Registry())


@cache
def _define_safe_validator() -> type[Draft202012Validator]:
    """The class of all validators. To define one takes as long as to check twenty calls.

    Patterns of a schema, which could take for ever, are left to the server that it comes from.
    """
    # slow to import: neither the first paint nor the first request should wait for it
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    safe = extend(Draft202012Validator, {"pattern": None, "patternProperties": None})  # type: ignore[no-untyped-call]
    return cast("type[Draft202012Validator]", safe)


def _is_left_to_server(error: ValidationError) -> bool:
    """Whether it is only that something is missing for which the schema has a default."""
    if error.validator != "required" or not isinstance(error.instance, Mapping):
        return False
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    properties = schema.get("properties")
    listed = schema.get("required")
    missing = [name for name in (listed if isinstance(listed, list) else ()) if name not in error.instance]
    return isinstance(properties, Mapping) and all(
        isinstance(each := properties.get(name), Mapping) and "default" in each
        for name in missing
        if error.message.startswith(repr(name))
    )


def _is_same(one: ToolDefinition, other: ToolDefinition) -> bool:
    return one is other or (one.input_schema == other.input_schema and one.parameters == other.parameters)


def _describe(error: Exception) -> str:
    return "it refers to itself without end" if isinstance(error, RecursionError) else str(error)


def _build_input_schema(definition: ToolDefinition) -> JsonObject:
    if definition.input_schema is not None:
        return definition.input_schema
    return {
        "type": "object",
        "properties": {parameter.name: _build_property(parameter) for parameter in definition.parameters},
        "required": [parameter.name for parameter in definition.parameters if parameter.required],
        "additionalProperties": False,
    }


def _leave_out_bounds(schema: JsonObject) -> JsonObject:
    """The schema for a request: bounds cost tokens in each, and what a model sends beyond them is repaired or
    refused here."""
    shown: dict[str, JsonValue] = {}
    for key, value in schema.items():
        match key, value:
            case (("additionalProperties" | "minimum" | "minLength"), _):
                continue
            case "properties", Mapping():
                shown[key] = {
                    name: _leave_out_bounds(each) if isinstance(each, Mapping) else each
                    for name, each in value.items()
                }
            case "items", Mapping():
                shown[key] = _leave_out_bounds(value)
            case _:
                shown[key] = value
    return shown


def _build_property(parameter: ToolParameter) -> JsonObject:
    shown: dict[str, JsonValue] = {"type": _TYPES[parameter.type]}
    if parameter.description:
        shown["description"] = parameter.description
    if parameter.items is not None:
        shown["items"] = parameter.items
    if parameter.minimum is not None:
        shown["minimum"] = parameter.minimum
    if parameter.choices:
        shown["enum"] = [*parameter.choices]
    if parameter.type == "path" and not parameter.required:
        shown["minLength"] = 1  # an empty one is none
    return shown


def _render_sentence(error: ValidationError) -> str:
    where = error.json_path.removeprefix("$.")
    if error.validator in {"required", "additionalProperties"}:
        return error.message if where == "$" else f"{where}: {error.message}"
    if error.validator == "enum" and isinstance(allowed := error.validator_value, list):
        from quorum.infrastructure.tools.argument_repair import list_some

        return f"{where}: {list_some([cast('JsonValue', error.instance)])} is not one of {list_some(allowed)}"
    return f"{where}: {error.message}"
