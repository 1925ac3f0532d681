"""Arguments whose meaning is plain are read in the form of the schema; others stay errors that help."""

from __future__ import annotations

import json

import pytest

from quorum.domain.calls.tool import ToolDefinition, ToolParameter
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.tools.json_schema import JsonSchema

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer"},
        "all": {"type": "boolean"},
        "edits": {"type": "array", "items": {"type": "object"}},
        "names": {"type": "array", "items": {"type": "string"}},
        "kind": {"type": "string", "enum": ["file", "folder"]},
        "filter": {"type": "string", "enum": ["All", "None"]},
        "ratio": {"type": "number"},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "options": {"type": "object"},
        "first": {"type": "integer", "minimum": 1},
        "copies": {"type": "integer", "minimum": 1},
        "line_1": {"type": "integer"},
        "folder": {"type": "string", "minLength": 1},
        "old_text": {"type": "string"},
        "new_text": {"type": "string"},
        "content": {"type": "string"},
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}
TOOL = ToolDefinition(name="t", description="d", parameters=(), input_schema=SCHEMA)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"path": "a", "limit": None}, {"path": "a"}),
        ({"path": "a", "limit": "5", "all": "true"}, {"path": "a", "limit": 5, "all": True}),
        *(({"path": "a", "all": each}, {"path": "a", "all": bool(each)}) for each in (0, 1)),
        ({"path": "a", "edits": '[{"x": 1}]'}, {"path": "a", "edits": [{"x": 1}]}),
        ({"path": "a", "names": "b"}, {"path": "a", "names": ["b"]}),
        ({"file_path": "a"}, {"path": "a"}),
        ({"Path": "a", "limits": 5}, {"path": "a", "limit": 5}),
        *(({"path": "a", "limit": each}, {"path": "a"}) for each in ("", "null", "None")),
        ({"path": "a", "kind": "", "edits": {}, "options": []}, {"path": "a"}),
        ({"path": "a", "kind": " File"}, {"path": "a", "kind": "file"}),
        ({"path": "a", "filter": "none"}, {"path": "a", "filter": "None"}),
        ({"path": "a", "names": "['b', 'c']"}, {"path": "a", "names": ["b", "c"]}),
        ({"path": "a", "numbers": "3"}, {"path": "a", "numbers": [3]}),
        ({"arguments": {"path": "a", "limit": "5"}}, {"path": "a", "limit": 5}),
        ({"name": "t", "parameters": '{"path": "a"}'}, {"path": "a"}),
        ({"path": "a", "file_path": "a"}, {"path": "a"}),
        ({"path": "a", "unknown": None}, {"path": "a"}),
        *(({"path": "a", "first": each}, {"path": "a"}) for each in (0, "", None, 0.0)),
        ({"path": "a", "folder": ""}, {"path": "a"}),
        *(
            ({"path": "a", "all": each}, {"path": "a", "all": each == "Yes"})
            for each in ("Yes", "no", "off", "0")
        ),
        ({"path": "a", "old": "x", "new": "y"}, {"path": "a", "old_text": "x", "new_text": "y"}),
        ({"path": "a", "content": {"k": [1]}}, {"path": "a", "content": '{\n  "k": [\n    1\n  ]\n}'}),
        ({"path": "a", "todos": ["b", "c"]}, {"path": "a", "items": [{"text": "b"}, {"text": "c"}]}),
        ({"path": "a", "plan": [{"step": "b"}]}, {"path": "a", "items": [{"text": "b"}]}),
    ],
)
def test_a_plain_meaning_is_read_and_told(given: JsonObject, read: JsonObject) -> None:
    repaired, repairs = JsonSchema().repair(TOOL, given)

    assert repaired == read
    assert repairs


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"command": "ls", "description": "Lists files"}, {"command": "ls"}),
        ({"command": ["ls", "-l", "a b"]}, {"command": "ls -l 'a b'"}),
        ({"command": ["bash", "-lc", "make test"]}, {"command": "bash -lc 'make test'"}),
        ({"command": "ls", "workdir": "src"}, {"command": "ls", "working_dir": "src"}),
        ({"command": "make", "is_background": True}, {"command": "make", "background": True}),
        ({"command": '["ls", "-l", "a b"]'}, {"command": "ls -l 'a b'"}),
        ({"command": ' ["make test"]'}, {"command": "make test"}),
        ({"command": "make", "timeout": 60}, {"command": "make", "timeout_secs": 60}),
        ({"command": "make", "timeout": "999"}, {"command": "make", "timeout_secs": 999}),
        ({"command": "make", "timeout_seconds": 5000}, {"command": "make", "timeout_secs": 5000}),
    ],
)
def test_a_command_in_the_form_of_another_agents_tool_is_read(given: JsonObject, read: JsonObject) -> None:
    names = {"command": "string", "working_dir": "string", "background": "boolean", "timeout_secs": "integer"}
    parameters = tuple(ToolParameter(name=name, type=kind, description="d") for name, kind in names.items())
    tool = ToolDefinition(name="run_command", description="d", parameters=parameters)
    repaired, repairs = JsonSchema().repair(tool, given)

    assert repaired == read
    assert repairs
    assert JsonSchema().find_problems(tool, repaired) == ()


@pytest.mark.parametrize(
    "given",
    [
        {"path": None},
        {"path": "a", "limit": "five"},
        {"path": "a", "all": 2},
        {"path": "a", "names": '["b"'},
        {"file": "a", "filename": "b"},
        {"path": "a", "unknown": 1},
        {"path": "a", "unknown": ""},
        {"path": "a", "file_path": "b"},
        {"path": "a", "kind": "fil"},
        {"path": "a", "ratio": "1e999"},
        {"name": "another", "arguments": {"path": "a"}},
        {"arguments": {"path": "a"}, "input": {"path": "b"}},
        {"limit": ""},
        {"path": "a", "limit": []},
        {"path": "a", "names": "b, c"},
        {"path": "a", "names": "b\nc"},
        {"path": "a", "content": 3.1},
        {"path": "a", "kind": "none"},
        {"path": "a", "copies": 0},
        {"path": "a", "line_2": 5},
        {"path": "a", "description": "what it is to be"},
    ],
)
def test_what_has_no_single_reading_stays_as_it_is(given: JsonObject) -> None:
    assert JsonSchema().repair(TOOL, given) == (given, ())
    assert JsonSchema().find_problems(TOOL, given)


@pytest.mark.parametrize(
    "kept",
    [
        {"anyOf": [{"type": "object", "properties": {"n": {"type": "integer"}}}, {"type": "null"}]},
        {"allOf": [{"type": "object", "properties": {"n": {"type": "integer"}}}], "description": "d"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
    ],
)
@pytest.mark.parametrize("given", [{"n": "5"}, '{"n": "5"}'])
def test_what_stands_in_the_only_form_of_a_value_is_read_as_well(kept: JsonObject, given: JsonValue) -> None:
    schema: JsonObject = {"type": "object", "properties": {"e": kept}}
    served = ToolDefinition(name="s", description="d", parameters=(), input_schema=schema)

    assert JsonSchema().repair(served, {"e": given})[0] == {"e": {"n": 5}}


def test_an_unknown_name_is_answered_with_the_nearest_and_a_default_is_left_to_the_server() -> None:
    assert any(
        "the nearest is 'limit'" in each for each in JsonSchema().find_problems(TOOL, {"path": "a", "lim": 1})
    )
    schema: JsonObject = {
        "type": "object",
        "properties": {"n": {"type": "integer", "default": 3}},
        "required": ["n"],
    }
    served = ToolDefinition(name="s", description="d", parameters=(), input_schema=schema)
    assert JsonSchema().find_problems(served, {}) == ()


REFERRING: JsonObject = {
    "type": "object",
    "$defs": {
        "Item": {
            "type": "object",
            "properties": {
                "n": {"type": "integer"},
                "kind": {"$ref": "#/$defs/Kind"},
                "inner": {"anyOf": [{"$ref": "#/$defs/Item"}, {"type": "null"}]},
            },
            "additionalProperties": False,
        },
        "Kind": {"type": "string", "enum": ["file", "folder"]},
        "Loop": {"$ref": "#/$defs/Loop"},
    },
    "properties": {
        "item": {"$ref": "#/$defs/Item"},
        "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
        "loop": {"$ref": "#/$defs/Loop"},
        "lost": {"$ref": "#/$defs/None"},
    },
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"item": {"n": "3", "kind": "File"}}, {"item": {"n": 3, "kind": "file"}}),
        ({"item": '{"n": 3}'}, {"item": {"n": 3}}),
        ({"item": {"N": 3, "inner": {"n": "4"}}}, {"item": {"n": 3, "inner": {"n": 4}}}),
        ({"items": {"n": "1"}}, {"items": [{"n": 1}]}),
        ({"items": '[{"n": 1}]'}, {"items": [{"n": 1}]}),
    ],
)
def test_what_a_schema_refers_to_is_read_as_if_it_stood_there(given: JsonObject, read: JsonObject) -> None:
    tool = ToolDefinition(name="t", description="d", parameters=(), input_schema=REFERRING)
    repaired, repairs = JsonSchema().repair(tool, given)

    assert repaired == read
    assert repairs


@pytest.mark.parametrize("name", ["loop", "lost"])
def test_a_reference_that_leads_nowhere_repairs_nothing(name: str) -> None:
    tool = ToolDefinition(name="t", description="d", parameters=(), input_schema=REFERRING)

    assert JsonSchema().repair(tool, {name: "5"}) == ({name: "5"}, ())


def test_several_commands_are_not_the_words_of_one() -> None:
    parameter = ToolParameter(name="command", type="string", description="d", required=True)
    tool = ToolDefinition(name="run_command", description="d", parameters=(parameter,))

    assert JsonSchema().repair(tool, {"command": ["ls", "a b"]})[0] == {"command": "ls 'a b'"}
    assert JsonSchema().repair(tool, {"commands": ["ls"]})[0] == {"command": "ls"}
    assert JsonSchema().repair(tool, {"commands": ["ls", "pwd"]}) == ({"commands": ["ls", "pwd"]}, ())
    for several in (["cd a", "make"], ["ls", "|", "wc"], ["make", "&&", "make test"], ["ls", 1]):
        assert JsonSchema().repair(tool, {"command": several}) == ({"command": several}, ())
        said = json.dumps(several)
        assert JsonSchema().repair(tool, {"command": said}) == ({"command": said}, ())
    for plain in ('["$a" = b ] && ls', "[ -f a ]", '["ls"', "[1]"):
        assert JsonSchema().repair(tool, {"command": plain}) == ({"command": plain}, ())


@pytest.mark.parametrize("limit", [1000, 120_000, "30000", 2500.5])
def test_a_limit_that_may_be_in_milliseconds_is_an_error_that_names_the_argument(limit: JsonValue) -> None:
    parameters = (
        ToolParameter(name="command", type="string", description="d", required=True),
        ToolParameter(name="timeout_secs", type="integer", description="d"),
    )
    tool = ToolDefinition(name="run_command", description="d", parameters=parameters)
    given = {"command": "make", "timeout": limit}

    assert JsonSchema().repair(tool, given) == (given, ())
    assert any("'timeout_secs'" in each for each in JsonSchema().find_problems(tool, given))


def test_an_example_shows_what_each_item_of_a_list_must_have() -> None:
    assert (
        JsonSchema().give_example(TOOL, {"path": "a", "items": 3}) == '{"path": "a", "items": [{"text": "…"}]}'
    )


@pytest.mark.parametrize(
    "given", [{"first": -1}, {"all": "perhaps"}, {"items": ["{b"]}, {"content": ["b", "c"]}]
)
def test_what_has_no_one_reading_stays_as_it_is(given: JsonObject) -> None:
    assert JsonSchema().repair(TOOL, {"path": "a", **given}) == ({"path": "a", **given}, ())


OPEN: JsonObject = {
    "type": "object",
    "properties": {
        "start_date": {"type": "string"},
        "duration_minutes": {"type": "integer"},
        "level": {"enum": [1, 2, 3]},
        "place": {"type": "object", "properties": {"zip_code": {"type": "string"}}},
        "guests": {
            "type": "array",
            "items": {"type": "object", "properties": {"email": {"type": "string"}}, "required": ["email"]},
        },
        "labels": {
            "type": "object",
            "properties": {"first_one": {"type": "string"}},
            "additionalProperties": {"type": "string"},
        },
    },
}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"startDate": "x"}, {"start_date": "x"}),
        ({"start-date": "x", "durationMinutes": "45"}, {"start_date": "x", "duration_minutes": 45}),
        ({"place": {"zipCode": "1"}}, {"place": {"zip_code": "1"}}),
        ({"guests": [{"Email": "a@b.c"}]}, {"guests": [{"email": "a@b.c"}]}),
        ({"guests": "a@b.c"}, {"guests": [{"email": "a@b.c"}]}),
        ({"level": "2"}, {"level": 2}),
    ],
)
def test_names_in_another_spelling_are_read_also_where_a_schema_leaves_room_for_others(
    given: JsonObject, read: JsonObject
) -> None:
    tool = ToolDefinition(name="t", description="d", parameters=(), input_schema=OPEN)
    repaired, repairs = JsonSchema().repair(tool, given)

    assert repaired == read
    assert repairs


@pytest.mark.parametrize(
    "given",
    [
        {"startDate": "x", "start_date": "y"},
        {"startDate": "x", "StartDate": "y"},
        {"begin": "x"},  # a word of its own, which the server may know
        {"labels": {"firstOne": "x"}},
        {"extra": {"a": [1]}},
        {"level": 2},
        {},
    ],
)
def test_other_names_that_a_schema_leaves_room_for_stay(given: JsonObject) -> None:
    tool = ToolDefinition(name="t", description="d", parameters=(), input_schema=OPEN)

    assert JsonSchema().repair(tool, given) == (given, ())
