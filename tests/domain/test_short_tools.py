"""The tools that a model with a small window is offered."""

from __future__ import annotations

from quorum.domain.calls.server_tools import shorten_tools
from quorum.domain.text.json_value import JsonObject

READ: JsonObject = {
    "name": "read_file",
    "description": "Read a text file, or look at an image. Each line has its number. Long files come in pages.",
    "input_schema": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, absolute or from the working directory."},
            "offset": {"type": "integer", "description": "Number of the first line to show; counted from 1."},
            "raw": {"type": "boolean", "description": "Show a notebook as the JSON that it is."},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
}


def test_each_tool_keeps_its_first_sentence_and_what_a_call_needs() -> None:
    assert shorten_tools([READ]) == (
        {
            "name": "read_file",
            "description": "Read a text file, or look at an image.",
            "input_schema": {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "offset": {"type": "integer", "description": "Number of the first line to show"},
                },
                "required": ["path"],
            },
        },
    )


def test_tools_for_which_others_do_are_left_out_and_those_of_servers_stay() -> None:
    offered = [{**READ, "name": name} for name in ("read_file", "glob_search", "task", "mcp__notes__find")]

    assert [each["name"] for each in shorten_tools(offered)] == ["read_file", "mcp__notes__find"]


def test_an_edit_has_one_form_which_is_required() -> None:
    properties: JsonObject = {name: {"type": "string"} for name in ("path", "old_text", "new_text", "edits")}
    edit: JsonObject = {"name": "edit_file", "input_schema": {"properties": properties, "required": ["path"]}}
    (short,) = shorten_tools([edit])

    schema = short["input_schema"]
    assert isinstance(schema, dict)
    assert list(schema["properties"]) == schema["required"] == ["path", "old_text", "new_text"]
