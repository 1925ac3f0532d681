"""`quorum mcp serve`, in the form of Claude Code's permission prompts."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from quorum.command_line.options import StartOptions
from quorum.gate.permission_tool import PermissionTool
from quorum.gate.plain_arguments import USUAL_SECS
from quorum.settings import load
from tests.support.gate_rig import GateRig
from tests.support.headless_run import QUORUM


async def ask(rig: GateRig, tool: str, **given: object) -> dict[str, Any]:
    asked = PermissionTool(StartOptions(), rig.root, load, tui=None, timeout_secs=USUAL_SECS)
    try:
        answered: dict[str, Any] = json.loads(await asked.answer({"tool_name": tool, "input": given}))
        return answered
    finally:
        await asked.aclose()


async def test_a_call_that_may_run_gets_its_input_back(rig: GateRig) -> None:
    given = {"command": "ls", "description": "look"}

    assert await ask(rig, "Bash", **given) == {"behavior": "allow", "updatedInput": given}


async def test_what_would_be_asked_about_is_denied_where_nobody_is_there(rig: GateRig) -> None:
    answer = await ask(rig, "Bash", command="touch a")

    assert answer["behavior"] == "deny"
    assert "nobody could be asked here" in answer["message"]


async def test_a_subagent_is_not_allowed_unasked_as_its_calls_may_not_reach_this_tool(rig: GateRig) -> None:
    asked = PermissionTool(StartOptions(), rig.root, load, tui=None, timeout_secs=USUAL_SECS)
    call = {"tool_name": "Agent", "input": {"description": "d", "prompt": "p"}}

    assert json.loads(await asked.answer(call))["behavior"] == "deny"
    await asked.aclose()


async def test_a_rule_denies_with_its_reason(rig: GateRig) -> None:
    rig.configure('[permissions]\ndeny = ["run_command(ls *)"]\n')

    assert "denies it" in (await ask(rig, "Bash", command="ls"))["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"tool_name": "Bash"},
        {"tool_name": 7, "input": {"command": "ls"}},
        {"tool_name": "Bash", "input": "ls"},
        {"tool_name": "Bash", "input": {"command": "ls"}, "cwd": "relative"},
        {"tool_name": "Bash", "input": {"command": "ls"}, "cwd": 7},
        {"tool_name": "AskUserQuestion", "input": {"questions": []}},
        {"tool_name": "Bash", "input": {"command": float("nan")}},
        {"tool_name": "Bash", "input": {"command": "x" * 5_000_000}},
    ],
    ids=lambda arguments: str(arguments)[:40],
)
async def test_what_does_not_fit_is_denied(rig: GateRig, arguments: dict[str, Any]) -> None:
    asked = PermissionTool(StartOptions(), rig.root, load, tui=None, timeout_secs=USUAL_SECS)

    assert json.loads(await asked.answer(arguments))["behavior"] == "deny"
    await asked.aclose()


async def test_a_quorum_that_does_not_run_is_named(rig: GateRig) -> None:
    asked = PermissionTool(StartOptions(), rig.root, load, tui=rig.root / "none", timeout_secs=USUAL_SECS)

    answer = json.loads(await asked.answer({"tool_name": "Bash", "input": {"command": "touch a"}}))
    await asked.aclose()

    assert answer["behavior"] == "deny"
    assert "no quorum answers at" in answer["message"]


@pytest.mark.long
async def test_the_client_of_the_sdk_is_served(rig: GateRig) -> None:
    server = StdioServerParameters(
        command=str(QUORUM), args=["mcp", "serve", "-C", str(rig.root)], env=dict(os.environ)
    )
    async with Client(stdio_client(server)) as client:
        (tool,) = (await client.list_tools()).tools
        allowed = await client.call_tool(tool.name, {"tool_name": "Bash", "input": {"command": "ls"}})
        denied = await client.call_tool(tool.name, {"tool_name": "Bash", "input": {"command": "touch a"}})
        unknown = await client.call_tool("other", {})

    assert tool.name == "review_call"
    assert json.loads(allowed.content[0].text) == {"behavior": "allow", "updatedInput": {"command": "ls"}}
    assert json.loads(denied.content[0].text)["behavior"] == "deny"
    assert unknown.is_error
