"""Tool definitions as JSON Schema, and arguments checked against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from domain.calls.tool import ToolDefinition, ToolParameter, ToolSpec
from domain.text.json_value import JsonObject, JsonValue

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

_TYPES = {
    "string": "string",
    "path": "string",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "array": "array",
}


class JsonSchema:
    """The neutral schema {name, description, input_schema}; each provider puts it in its own envelope."""

    def __init__(self) -> None:
        self._validators: dict[str, Draft202012Validator] = {}

    def tool_to_schema(self, definition: ToolDefinition) -> JsonObject:
        """The schema of one tool."""
        return {
            "name": definition.name,
            "description": definition.description,
            "input_schema": _input_schema(definition),
        }

    def all_tools_schema(self, spec: ToolSpec) -> tuple[JsonObject, ...]:
        """The schemas of all tools, in the order of registration."""
        return tuple(self.tool_to_schema(definition) for definition in spec.all())

    def low_risk_tools_schema(self, spec: ToolSpec) -> tuple[JsonObject, ...]:
        """The schemas of the tools that run without review."""
        return tuple(self.tool_to_schema(definition) for definition in spec.low_risk_tools())

    def problems(self, definition: ToolDefinition, arguments: JsonObject) -> tuple[str, ...]:
        """What is wrong with these arguments, one sentence a field; empty when they fit."""
        errors = self._validator(definition).iter_errors(dict(arguments))
        return tuple(_sentence(error) for error in sorted(errors, key=lambda error: str(error.json_path)))

    def warm_up(self, spec: ToolSpec) -> None:
        """Load the validator and build one for each tool. Blocks: call it from a background thread."""
        for definition in spec.all():
            self._validator(definition)

    def _validator(self, definition: ToolDefinition) -> Draft202012Validator:
        if definition.name not in self._validators:
            # slow to import: neither the first paint nor the first request should wait for it
            from jsonschema import Draft202012Validator

            self._validators[definition.name] = Draft202012Validator(_input_schema(definition))
        return self._validators[definition.name]


def _input_schema(definition: ToolDefinition) -> JsonObject:
    return {
        "type": "object",
        "properties": {parameter.name: _property(parameter) for parameter in definition.parameters},
        "required": [parameter.name for parameter in definition.parameters if parameter.required],
        "additionalProperties": False,
    }


def _property(parameter: ToolParameter) -> JsonObject:
    shown: dict[str, JsonValue] = {"type": _TYPES[parameter.type], "description": parameter.description}
    if parameter.items is not None:
        shown["items"] = parameter.items
    if parameter.minimum is not None:
        shown["minimum"] = parameter.minimum
    return shown


def _sentence(error: ValidationError) -> str:
    where = error.json_path.removeprefix("$.")
    if error.validator in {"required", "additionalProperties"}:
        return error.message if where == "$" else f"{where}: {error.message}"
    return f"{where}: {error.message}"
