"""Requests list the same tools to the byte: what servers offer since is told, found and called without."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.history import ToolResults, UserMessage
from quorum.domain.plan.plan import PhaseScope
from quorum.domain.review.questions import Reject
from quorum.domain.text.json_value import JsonValue
from tests.infrastructure.instructions.test_instructions_in_a_session import Trusting
from tests.infrastructure.mcp.server_bench import SERVER
from tests.support.fake_ports import FakePerson
from tests.support.fake_session import Sent
from tests.support.real_session import RealSession, SessionStage, call

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def tool(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema or TEXT}


def stage_with(
    folder: Path, *tools: dict[str, Any], more: str = "", of_server: str = "", **plan: Any
) -> SessionStage:
    """A stage whose settings name a server with these tools; none without tools."""
    command = json.dumps([sys.executable, "-I", "-S", SERVER, json.dumps({"tools": tools, **plan})])
    server = f"[mcp.servers.db]\ncommand = {command}\n{of_server}\n" if tools else ""
    return SessionStage(folder, more_settings=f"{more}\n{server}")


def through(tool: str, arguments: JsonValue) -> ToolCall:
    return ToolCall(
        tool_name="call_tool", arguments={"tool": tool, "arguments": arguments}, native_id=f"call_{tool}"
    )


def list_told(sent: Sent) -> list[str]:
    texts = (message.text for message in sent.messages if isinstance(message, UserMessage))
    return [text for text in texts if text.startswith("[quorum: the tools of MCP servers")]


def list_names(sent: Sent) -> list[object]:
    return [each["name"] for each in sent.tools]


def read_outputs(session: RealSession) -> list[str]:
    messages: Sequence[object] = session.requests[-1].messages
    return [each.output for message in messages if isinstance(message, ToolResults) for each in message.results]


async def test_a_new_tool_leaves_the_list_as_it_was_and_is_found_and_called(tmp_path: Path) -> None:
    async with stage_with(tmp_path, tool("one")).opened() as session:
        await session.turn()
        before = session.requests[-1]
    person = FakePerson()
    async with stage_with(tmp_path, tool("one"), tool("echo")).opened(person=person) as session:
        report = await session.turn(
            call("find_tools", query="echo"),
            through("mcp__db__echo", {"text": "hello"}),
        )
        after = session.requests[-1]

        assert json.dumps(after.tools) == json.dumps(before.tools)
        (told,) = list_told(after)
        assert "New, not listed" in told
        assert "mcp__db__echo" in told
        assert "Does echo" not in told  # what a server says is data, and comes as the result of a call
        found, answer = read_outputs(session)
        assert json.loads(found)["input_schema"]["required"] == ["text"]
        assert answer == "hello"
        assert [record.tool for record in report.calls] == ["find_tools", "mcp__db__echo"]
        assert [request.packet.call.tool_name for request in person.requests] == ["mcp__db__echo"]
        await session.turn()
        assert list_told(session.requests[-1]) == [told]


async def test_a_call_through_call_tool_is_rejected_like_any_other(tmp_path: Path) -> None:
    async with stage_with(tmp_path, tool("one")).opened() as session:
        await session.turn()
    person = FakePerson(lambda _request: Reject("no"))
    async with stage_with(tmp_path, tool("one"), tool("echo")).opened(person=person) as session:
        report = await session.turn(through("mcp__db__echo", '{"text": "hello"}'))
    assert [record.outcome for record in report.calls] == [Outcome.REJECTED]
    assert [request.packet.call.arguments for request in person.requests] == [{"text": "hello"}]


async def test_call_tool_reaches_no_tool_of_quorums_own(tmp_path: Path) -> None:
    async with stage_with(tmp_path, tool("one")).opened() as session:
        report = await session.turn(through("run_command", {"command": "true"}))
        assert [(record.tool, record.outcome) for record in report.calls] == [("call_tool", Outcome.ERROR)]
        assert "Call tools of quorum's own directly" in read_outputs(session)[-1]


async def test_a_tool_that_is_gone_stays_listed_and_a_call_says_so(tmp_path: Path) -> None:
    async with stage_with(tmp_path, tool("one"), tool("two")).opened() as session:
        await session.turn()
        before = session.requests[-1]
    async with stage_with(tmp_path, tool("one")).opened() as session:
        await session.turn(call("mcp__db__two", text="x"))
        after = session.requests[-1]

        assert json.dumps(after.tools) == json.dumps(before.tools)
        (told,) = list_told(after)
        assert "Gone, though listed (a call runs nothing): mcp__db__two" in told
        assert "no MCP server offers mcp__db__two, and it was not run" in read_outputs(session)[-1]
    async with stage_with(tmp_path, tool("one"), tool("two")).opened() as session:
        await session.turn()
        assert list_told(session.requests[-1])[1:] == [
            "[quorum: the tools of MCP servers are told anew. They are those that the request lists.]"
        ]


async def test_a_tool_that_takes_something_else_is_told_as_changed(tmp_path: Path) -> None:
    async with stage_with(tmp_path, tool("one")).opened() as session:
        await session.turn()
        before = session.requests[-1]
    changed = tool("one", type="object", properties={"n": {"type": "number"}})
    async with stage_with(tmp_path, changed).opened() as session:
        await session.turn()
        after = session.requests[-1]
    assert json.dumps(after.tools) == json.dumps(before.tools)
    assert "Changed, no longer as listed" in list_told(after)[0]


async def test_tools_of_a_server_that_the_settings_name_no_more_are_in_no_request(tmp_path: Path) -> None:
    async with stage_with(tmp_path, tool("one")).opened() as session:
        await session.turn()
        assert "mcp__db__one" in list_names(session.requests[-1])
    async with stage_with(tmp_path).opened() as session:
        await session.turn()
        names = list_names(session.requests[-1])
        assert not {"mcp__db__one", "call_tool", "find_tools"} & set(names)
        assert list_told(session.requests[-1]) == []


@pytest.mark.parametrize(
    "setting", [{"more": 'tools.disabled = ["mcp__db__one"]'}, {"of_server": 'tools = ["two"]'}]
)
async def test_a_tool_that_the_settings_take_away_is_in_no_request(
    tmp_path: Path, setting: dict[str, str]
) -> None:
    tools = tool("one"), tool("two")
    async with stage_with(tmp_path, *tools).opened() as session:
        await session.turn()
    async with stage_with(tmp_path, *tools, **setting).opened() as session:
        await session.turn()
        names = list_names(session.requests[-1])
        assert "mcp__db__one" not in names
        assert "mcp__db__two" in names


async def test_without_call_tool_a_new_tool_is_listed(tmp_path: Path) -> None:
    more = 'tools.disabled = ["call_tool"]'
    async with stage_with(tmp_path, tool("one"), more=more).opened() as session:
        await session.turn()
    async with stage_with(tmp_path, tool("one"), tool("echo"), more=more).opened() as session:
        await session.turn()
        assert "mcp__db__echo" in list_names(session.requests[-1])
        assert list_told(session.requests[-1]) == []


async def test_another_mode_has_its_own_list_and_the_first_one_comes_back(tmp_path: Path) -> None:
    async with stage_with(tmp_path, tool("one")).opened() as session:
        await session.turn()
        before = session.requests[-1]
    async with stage_with(tmp_path, tool("one"), tool("echo")).opened() as session:
        await session.agent.plans.set_scope(PhaseScope.PLAN_ONLY)
        await session.turn()
        planning = list_names(session.requests[-1])
        await session.agent.plans.set_scope(PhaseScope.FULL)
        await session.turn()
        after = session.requests[-1]
    assert "create_plan" in planning
    assert not {"write_file", "mcp__db__one"} & set(planning)
    assert json.dumps(after.tools) == json.dumps(before.tools)
    assert "mcp__db__echo" in list_told(after)[-1]


async def test_a_tool_that_comes_while_the_session_runs_is_told_at_the_next_turn(tmp_path: Path) -> None:
    later = tmp_path / "later"
    plan = {"changes_to": [tool("one"), tool("echo")], "when": str(later)}
    async with stage_with(tmp_path, tool("one"), **plan).opened(person=Trusting()) as session:
        await session.turn()
        before = session.requests[-1]
        later.touch()
        await session.container.parts().conversation.tool_servers.restart("db")
        await session.turn()
        after = session.requests[-1]
    assert json.dumps(after.tools) == json.dumps(before.tools)
    assert "mcp__db__echo" in list_told(after)[0]
