"""Calls of tools of servers that no request lists, and what a model is told of these."""

from __future__ import annotations

import pytest

from quorum.domain.calls.server_tools import (
    RecordedTool,
    find_tool_changes,
    read_indirect_call,
    render_unread_changes,
)
from quorum.domain.conversation.response import TOOL_USE, LlmResponse, ToolUseBlock
from quorum.domain.text.json_value import JsonObject


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ({"tool": "mcp__a__b", "arguments": {"x": 1}}, {"x": 1}),
        ({"tool": "mcp__a__b", "arguments": '{"x": 1}'}, {"x": 1}),
        ({"tool": "mcp__a__b"}, {}),
        ({"tool": "mcp__a__b", "arguments": None}, {}),
        ({"tool": "mcp__a__b", "arguments": ""}, {}),
    ],
)
def test_a_call_is_read_where_there_is_one_reading(arguments: JsonObject, meant: JsonObject) -> None:
    assert read_indirect_call("call_tool", arguments) == ("mcp__a__b", meant)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"tool": "run_command", "arguments": {"command": "true"}},
        {"tool": "call_tool", "arguments": {"tool": "mcp__a__b"}},
        {"tool": ["mcp__a__b"]},
        {"tool": "mcp__a__b", "arguments": [1]},
        {"tool": "mcp__a__b", "arguments": "[1]"},
        {"tool": "mcp__a__b", "arguments": "{"},
    ],
)
def test_what_names_no_tool_of_a_server_stays_a_call_of_call_tool(arguments: JsonObject) -> None:
    assert read_indirect_call("call_tool", arguments) is None


def test_a_tool_of_another_name_is_called_as_it_is() -> None:
    assert read_indirect_call("other", {"tool": "mcp__a__b", "arguments": {}}) is None


def test_the_model_gets_back_what_it_said() -> None:
    block = ToolUseBlock(id="c", name="call_tool", input={"tool": "mcp__a__b", "arguments": {"x": 1}})
    response = LlmResponse(content=(block,), stop_reason=TOOL_USE, model="m")
    (call,) = response.tool_calls()
    assert (call.tool_name, call.arguments, call.native_id) == ("mcp__a__b", {"x": 1}, "c")
    assert response.without_unfinished_calls().content == (block,)


def test_many_new_tools_are_told_in_a_message_of_bounded_length() -> None:
    listed = [RecordedTool(name="call_tool", sha256="0")]
    new = [RecordedTool(name=f"mcp__a__{number}", sha256="1") for number in range(1_000)]
    changes = find_tool_changes(listed, [*listed, *new])
    assert changes is not None
    text = render_unread_changes(changes, [])
    assert text is not None
    assert "and 900 more" in text
    assert len(text) < 3_000
