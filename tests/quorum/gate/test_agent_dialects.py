"""Calls of agents that have tools and fields of their own names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.gate_rig import GateAnswer, GateRig


def ask(rig: GateRig, agent: str, effect: str, **more: object) -> GateAnswer:
    """Have an agent ask about reading a.txt, editing it, or a command that changes something."""
    rig.file("a.txt", "old\n")
    path = str(rig.root / "a.txt")
    changes = {"old_string": "old", "new_string": "new"}
    command: dict[str, object] = {"command": "touch b"}
    calls: dict[str, dict[str, tuple[str, dict[str, object]]]] = {
        "gemini": {
            "read": ("read_file", {"file_path": path, "absolute_path": path}),
            "edit": ("replace", {"file_path": path, **changes}),
            "run": ("run_shell_command", command),
        },
        "qwen": {
            "read": ("read_file", {"absolute_path": path}),
            "edit": ("edit", {"file_path": path, **changes}),
            "run": ("run_shell_command", {**command, "is_background": False}),
        },
        "kimi": {
            "read": ("Read", {"path": path}),
            "edit": ("Edit", {"path": path, **changes}),
            "run": ("Bash", command),
        },
        "copilot": {
            "read": ("view", {"path": path}),
            "edit": ("edit", {"path": path, "old_str": "old", "new_str": "new"}),
            "run": ("bash", {**command, "description": "make", "mode": "sync"}),
        },
        "opencode": {
            "read": ("read", {"filePath": path}),
            "edit": ("edit", {"filePath": path, "oldString": "old", "newString": "new"}),
            "run": ("bash", {**command, "description": "make"}),
        },
    }
    tool, given = calls[agent][effect]
    return rig.send(json.dumps(payload(rig, agent, tool, given | more)).encode(), agent)


def payload(rig: GateRig, agent: str, tool: str, given: dict[str, object]) -> dict[str, Any]:
    cwd = str(rig.root)
    match agent:
        case "copilot":
            return {"sessionId": "s", "timestamp": 1, "cwd": cwd, "toolName": tool, "toolArgs": given}
        case "opencode":
            return {"input": {"tool": tool, "sessionID": "s", "callID": "c"}, "output": {"args": given}}
        case _:
            event = "BeforeTool" if agent == "gemini" else "PreToolUse"
            return {
                "session_id": "s",
                "cwd": cwd,
                "hook_event_name": event,
                "tool_name": tool,
                "tool_input": given,
            }


AGENTS = ("gemini", "qwen", "kimi", "copilot", "opencode")
ASKING = ("qwen", "copilot")


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_may_read_files_of_the_workspace(rig: GateRig, agent: str) -> None:
    answer = ask(rig, agent, "read")

    assert (answer.code, answer.err) == (0, "")
    if agent in ASKING:
        assert answer.permission == "allow"
    else:
        assert answer.out in ("", '{"decision": "allow"}\n')


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("effect", ["edit", "run"])
def test_what_is_to_be_asked_about_is_forbidden_where_the_agent_cannot_ask(
    rig: GateRig, agent: str, effect: str
) -> None:
    answer = ask(rig, agent, effect)

    if agent in ASKING:
        assert answer.permission == "ask"
    else:
        assert (answer.code, answer.out) == (2, "")
        assert "it has to be asked about" in answer.err


@pytest.mark.parametrize("agent", AGENTS)
def test_rules_are_about_the_tools_of_an_agent_by_our_names(rig: GateRig, agent: str) -> None:
    rig.configure('[permissions]\nallow = ["run_command(touch *)"]\ndeny = ["write_file(a.txt)"]')

    assert ask(rig, agent, "run").code == 0
    denied = ask(rig, agent, "edit")
    assert (denied.code, "write_file(a.txt) denies it" in denied.err) == (2, True)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_field_that_is_not_known_is_named(rig: GateRig, agent: str) -> None:
    answer = ask(rig, agent, "run", elevated=True)

    assert "'elevated'" in answer.err + answer.out
    assert answer.code == 2 or answer.permission == "ask"


@pytest.mark.parametrize("agent", AGENTS)
def test_a_payload_of_another_shape_is_blocked_and_names_what_is_missing(rig: GateRig, agent: str) -> None:
    answer = rig.send(b'{"tool": "x"}', agent)

    assert (answer.code, answer.out) == (2, "")
    assert "is missing" in answer.err or "hook_event_name is none of" in answer.err


def test_two_fields_that_name_two_files_are_no_call(rig: GateRig) -> None:
    answer = ask(rig, "gemini", "read", absolute_path=str(rig.root / "other"))

    assert (answer.code, "absolute_path is another file_path" in answer.err) == (2, True)


@pytest.mark.parametrize(("agent", "tool"), [("kimi", "Edit"), ("gemini", "replace")])
def test_an_agent_that_runs_the_hooks_of_claude_code_is_read_in_its_own_form(
    rig: GateRig, agent: str, tool: str
) -> None:
    rig.configure('[permissions]\nallow = ["write_file(a.txt)"]')
    field = "path" if agent == "kimi" else "file_path"
    given: dict[str, object] = {field: rig.file("a.txt", "old\n"), "old_string": "old", "new_string": "new"}
    sent = payload(rig, agent, tool, given) | ({"client_type": "kimi_code_cli"} if agent == "kimi" else {})

    assert rig.send(json.dumps(sent).encode(), "claude").code == 0
