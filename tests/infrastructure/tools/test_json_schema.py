from __future__ import annotations

import pytest

from domain.calls.tool import ParameterType, RiskLevel, ToolDefinition, ToolParameter, ToolSpec
from infrastructure.tools.json_schema import JsonSchema


def a_definition(name: str, *parameters: ToolParameter, risk: RiskLevel = RiskLevel.HIGH) -> ToolDefinition:
    return ToolDefinition(name=name, description=f"Does {name}.", parameters=parameters, risk=risk)


@pytest.mark.requirement("E03")
def test_the_schemas_of_one_tool_of_all_tools_and_of_the_low_risk_ones_are_given() -> None:
    read, write = a_definition("read", risk=RiskLevel.LOW), a_definition("write")
    spec = ToolSpec([read, write])
    schema = JsonSchema()

    assert schema.all_tools_schema(spec) == (schema.tool_to_schema(read), schema.tool_to_schema(write))
    assert schema.low_risk_tools_schema(spec) == (schema.tool_to_schema(read),)


@pytest.mark.requirement("E04")
@pytest.mark.parametrize(
    ("type_", "shown"),
    [
        ("string", "string"),
        ("path", "string"),
        ("number", "number"),
        ("integer", "integer"),
        ("boolean", "boolean"),
    ],
)
def test_each_type_of_parameter_has_its_type_in_the_schema(type_: ParameterType, shown: str) -> None:
    definition = a_definition("t", ToolParameter(name="p", type=type_, description="d"))

    schema = JsonSchema().tool_to_schema(definition)["input_schema"]

    assert schema == {
        "type": "object",
        "properties": {"p": {"type": shown, "description": "d"}},
        "required": [],
        "additionalProperties": False,
    }


@pytest.mark.requirement("E05")
def test_the_neutral_schema_has_name_description_and_input_schema() -> None:
    definition = a_definition("t", ToolParameter(name="p", type="path", description="d", required=True))

    assert JsonSchema().tool_to_schema(definition) == {
        "name": "t",
        "description": "Does t.",
        "input_schema": {
            "type": "object",
            "properties": {"p": {"type": "string", "description": "d"}},
            "required": ["p"],
            "additionalProperties": False,
        },
    }
