from __future__ import annotations

import pytest

from quorum.domain.calls.tool import ParameterType, RiskLevel, ToolDefinition, ToolParameter, ToolSpec
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.tools.json_schema import JsonSchema, find_schema_problem


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
    }


def test_a_parameter_whose_name_says_it_all_has_no_description_in_the_schema() -> None:
    schema = JsonSchema().tool_to_schema(a_definition("t", ToolParameter(name="p", type="string")))

    assert schema["input_schema"] == {"type": "object", "properties": {"p": {"type": "string"}}, "required": []}


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
        },
    }


def test_bounds_of_a_tool_are_checked_without_being_part_of_each_request() -> None:
    step: JsonObject = {
        "type": "object",
        "properties": {"text": {"type": "string", "minLength": 1}},
        "required": ["text"],
        "additionalProperties": False,
    }
    definition = a_definition(
        "t",
        ToolParameter(name="limit", type="integer", description="d", minimum=1),
        ToolParameter(name="steps", type="array", description="s", items=step),
    )
    schemas = JsonSchema()

    assert schemas.tool_to_schema(definition)["input_schema"] == {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "description": "d"},
            "steps": {
                "type": "array",
                "description": "s",
                "items": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
            },
        },
        "required": [],
    }
    for refused in ({"limit": 0}, {"other": 1}, {"steps": [{"text": ""}]}, {"steps": [{"text": "a", "b": 1}]}):
        assert schemas.find_problems(definition, refused)
    assert not schemas.find_problems(definition, {"limit": 1, "steps": [{"text": "a"}]})


def a_brought_definition(schema: JsonObject) -> ToolDefinition:
    return ToolDefinition(name="t", description="d", parameters=(), input_schema=schema)


def test_a_schema_that_a_tool_brings_is_shown_as_it_is_and_checked() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"unit": {"enum": ["mm", "in"]}, "at": {"type": "object", "required": ["x"]}},
        "required": ["unit"],
    }
    definition = a_brought_definition(schema)

    assert JsonSchema().tool_to_schema(definition)["input_schema"] == schema
    assert JsonSchema().find_problems(definition, {"unit": "mm", "at": {"x": 1}}) == ()
    (unit, at) = sorted(JsonSchema().find_problems(definition, {"unit": "km", "at": {}}))
    assert "'x' is a required property" in unit
    assert '"km" is not one of "mm", "in"' in at


def test_an_argument_with_nothing_near_and_a_value_outside_an_enumeration_are_told_what_there_is() -> None:
    kinds = ["open", "closed", *(f"state {number}" for number in range(300))]
    schema: JsonObject = {
        "type": "object",
        "properties": {"path": {"type": "string"}, "state": {"type": "string", "enum": kinds}},
        "required": ["path"],
        "additionalProperties": False,
    }
    arguments: JsonObject = {"path": "a", "state": "opened", "zzzzzz": 1}
    definition = a_brought_definition(schema)

    told = "; ".join(JsonSchema().find_problems(definition, arguments))

    assert 'its arguments are "path", "state"' in told
    assert '"opened" is not one of "open", "closed"' in told
    assert len(told) < 800
    assert JsonSchema().give_example(definition, arguments) == '{"path": "a", "state": "open"}'


def test_a_schema_that_is_replaced_is_checked_by_the_new_one() -> None:
    schema = JsonSchema()
    assert schema.find_problems(a_brought_definition({"type": "object"}), {}) == ()

    assert schema.find_problems(a_brought_definition({"type": "object", "required": ["x"]}), {}) != ()


@pytest.mark.parametrize(
    "part",
    [
        pytest.param({"$ref": "https://example.invalid/schema.json"}, id="a reference to elsewhere"),
        pytest.param({"$ref": "file:///etc/hostname"}, id="a reference to a file"),
        pytest.param({"$ref": "#/properties/x"}, id="a reference to itself"),
    ],
)
def test_a_schema_that_cannot_be_followed_is_a_problem_and_nothing_is_fetched(part: JsonObject) -> None:
    definition = a_brought_definition({"type": "object", "properties": {"x": part}})

    (problem,) = JsonSchema().find_problems(definition, {"x": 1})

    assert problem.startswith("they cannot be checked, as the schema of t fails: ")


def test_a_pattern_that_takes_for_ever_is_left_to_the_server() -> None:
    schema: JsonObject = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^(a+)+$"}}}

    assert JsonSchema().find_problems(a_brought_definition(schema), {"x": "a" * 60 + "!"}) == ()


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "object"}, None),
        ({"type": "array"}, 'its type is not "object"'),
        ({}, 'its type is not "object"'),
        ({"type": "object", "required": "x"}, "'x' is not of type 'array'"),
    ],
)
def test_what_keeps_a_schema_from_being_used_is_said(schema: JsonObject, problem: str | None) -> None:
    assert find_schema_problem(schema) == problem
