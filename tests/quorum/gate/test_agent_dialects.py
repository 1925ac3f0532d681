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
        "cursor": {
            "read": ("Read", {"file_path": path}),
            "edit": ("StrReplace", {"path": path, **changes}),
            "run": ("Shell", {**command, "cwd": "", "timeout": 30000}),
        },
        "vibe": {
            "read": ("file_system.read_file", {"file_path": path}),
            "edit": ("file_system.search_replace", {"file_path": path, **changes, "replace_all": False}),
            "run": ("file_system.bash", command),
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
        case "cursor":
            given = {"tool_name": tool, "tool_input": given, "hook_event_name": "preToolUse"}
            return {"conversation_id": "s", "workspace_roots": [cwd], "cursor_version": "3.9.16", **given}
        case "opencode":
            return {"input": {"tool": tool, "sessionID": "s", "callID": "c"}, "output": {"args": given}}
        case _:
            event = {"gemini": "BeforeTool", "vibe": "pre_tool"}.get(agent, "PreToolUse")
            return {
                "session_id": "s",
                "cwd": cwd,
                "hook_event_name": event,
                "tool_name": tool,
                "tool_input": given,
            }


def assert_denied(answer: GateAnswer, agent: str) -> None:
    """Cursor takes all that is printed for the reason unless the exit code is 0, the others read that code."""
    if agent == "cursor":
        assert (answer.code, answer.err, answer.json["permission"]) == (0, "", "deny")
    else:
        assert answer.code == 2


AGENTS = ("gemini", "qwen", "kimi", "copilot", "cursor", "opencode", "vibe")
ASKING = ("qwen", "copilot")


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_may_read_files_of_the_workspace(rig: GateRig, agent: str) -> None:
    answer = ask(rig, agent, "read")

    assert (answer.code, answer.err) == (0, "")
    if agent in ASKING:
        assert answer.permission == "allow"
    elif agent == "cursor":
        assert answer.json["permission"] == "allow"
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
        assert_denied(answer, agent)
        assert "it has to be asked about" in answer.err + answer.out


@pytest.mark.parametrize("agent", AGENTS)
def test_rules_are_about_the_tools_of_an_agent_by_our_names(rig: GateRig, agent: str) -> None:
    rig.configure('[permissions]\nallow = ["run_command(touch *)"]\ndeny = ["write_file(a.txt)"]')

    assert ask(rig, agent, "run").code == 0
    denied = ask(rig, agent, "edit")
    assert_denied(denied, agent)
    assert "write_file(a.txt) denies it" in denied.err + denied.out


@pytest.mark.parametrize("agent", AGENTS)
def test_a_field_that_is_not_known_is_named(rig: GateRig, agent: str) -> None:
    answer = ask(rig, agent, "run", elevated=True)

    assert "'elevated'" in answer.err + answer.out
    if agent in ASKING:
        assert answer.permission == "ask"
    else:
        assert_denied(answer, agent)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_payload_of_another_shape_is_blocked_and_names_what_is_missing(rig: GateRig, agent: str) -> None:
    answer = rig.send(b'{"tool": "x"}', agent)

    assert (answer.code, "allow" in answer.out) == (2, False)
    found = ("is missing", "hook_event_name is none of", "workspace_roots is not a list of one folder")
    assert any(each in answer.err for each in found)


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


@pytest.mark.parametrize(
    ("tool", "given", "code"),
    [
        ("bash", {"command": "ls"}, 0),
        ("bash", {"command": "touch a"}, 2),
        ("edit", {"file_path": "a", "diff": "@@"}, 0),
    ],
)
def test_copilot_has_a_form_of_its_own_for_permissions_also_in_the_settings_of_claude_code(
    rig: GateRig, tool: str, given: dict[str, object], code: int
) -> None:
    rig.configure('[permissions]\ndeny = ["run_command(touch *)"]')
    rig.set_environment(COPILOT_CLI="1")
    call = {"hookName": "permissionRequest", "toolName": tool, "toolInput": given}
    sent = {"sessionId": "s", "timestamp": 1, "cwd": str(rig.root), **call}

    answer = rig.send(json.dumps(sent).encode())

    assert (answer.code, "allow" in answer.out) == (code, False)


def test_copilot_reads_the_reason_of_a_denial_on_standard_output(rig: GateRig) -> None:
    rig.configure('[permissions]\ndeny = ["run_command(touch *)"]')

    answer = ask(rig, "copilot", "run")

    assert answer.code == 2
    assert answer.json["permissionDecision"] == "deny"
    assert "run_command(touch *) denies it" in answer.json["permissionDecisionReason"]


@pytest.mark.parametrize(
    ("agent", "tool", "field"),
    [
        ("gemini", "run_shell_command", "dir_path"),
        ("qwen", "run_shell_command", "directory"),
        ("kimi", "Bash", "cwd"),
        ("opencode", "bash", "workdir"),
        ("cursor", "Shell", "working_directory"),
        ("vibe", "process.start", "cwd"),
    ],
)
def test_a_command_is_read_in_the_folder_that_it_names(rig: GateRig, agent: str, tool: str, field: str) -> None:
    rig.configure('[permissions]\nallow = ["run_command(touch *)"]')
    (rig.root / "inner").mkdir()

    for folder in ("inner", str(rig.root / "inner")):
        given: dict[str, object] = {"command": "touch a", field: folder}
        assert "allow" in run_and_read(rig, agent, tool, given)
    for folder in ("..", "/", "~", "inner/..", 7):
        assert "allow" not in run_and_read(rig, agent, tool, {"command": "touch a", field: folder})


def test_a_command_of_copilot_in_a_shell_of_its_own_asks_also_where_a_rule_allows_it(rig: GateRig) -> None:
    rig.configure('[review]\nmode = "auto"\n[permissions]\nallow = ["run_command(touch *)"]')

    assert ask(rig, "copilot", "run", initial_wait=30, shellId=None).permission == "allow"
    asked = ask(rig, "copilot", "run", shellId="one")
    assert (asked.permission, "folder is not known" in asked.json["permissionDecisionReason"]) == ("ask", True)
    rig.configure('[permissions]\ndeny = ["run_command(touch *)"]')
    assert ask(rig, "copilot", "run", shellId="one").code == 2


@pytest.mark.parametrize(
    ("agent", "tool", "given"),
    [
        ("kimi", "ReadMediaFile", {"path": "a.png", "full_resolution": True}),
        ("kimi", "GetGoal", {}),
        ("kimi", "Agent", {"description": "d", "prompt": "p", "subagent_type": "coder"}),
        ("gemini", "invoke_agent", {"agent_name": "generalist", "prompt": "p"}),
        (
            "copilot",
            "task",
            {"name": "n", "description": "d", "prompt": "p", "agent_type": "explore", "mode": "sync"},
        ),
        ("copilot", "stop_bash", {"shellId": "one"}),
        ("opencode", "skill", {"name": "release"}),
        ("gemini", "activate_skill", {"name": "release"}),
        ("kimi", "Skill", {"skill": "release", "args": "now"}),
        ("kimi", "CreateGoal", {"objective": "x", "completionCriterion": "y", "replace": False}),
        (
            "kimi",
            "AgentSwarm",
            {"description": "d", "prompt_template": "{{item}}", "items": ["p"], "subagent_type": "coder"},
        ),
        ("vibe", "skill.read", {"name": "release"}),
        ("vibe", "vibe.unified_harness_scratchpad", {"action": "write", "path": "a/b.md", "content": "x"}),
        ("vibe", "vibe.unified_harness_scratchpad", {"action": "list"}),
        ("qwen", "zoom_image", {"file_path": "a.png", "x1": 0, "y1": 0, "x2": 9, "y2": 9}),
        ("copilot", "sql", {"query": "select 1", "description": "d"}),
        ("opencode", "task", {"description": "d", "prompt": "p", "subagent_type": "general"}),
    ],
)
def test_notes_and_subagents_of_the_agents_run_unasked(
    rig: GateRig, agent: str, tool: str, given: dict[str, object]
) -> None:
    rig.file("a.png")

    assert run_and_read(rig, agent, tool, given) == "allowed"
    for kind in {"subagent_type", "agent_type", "agent_name"} & given.keys():
        assert run_and_read(rig, agent, tool, {**given, kind: "deployer"}) == "stopped"
    assert run_and_read(rig, agent, tool, {**given, "isolation": "remote", "path": "/etc/x"}) == "stopped"


@pytest.mark.parametrize(
    ("agent", "tool", "given"),
    [
        ("copilot", "skill", {"skill": "release"}),
        ("copilot", "sql", {"query": "attach database 'x.db' as x"}),
        ("copilot", "session_store_sql", {"query": "select 1"}),
        ("qwen", "skill", {"skill": "release"}),
        ("kimi", "skill", {"name": "release"}),
        ("kimi", "CreateGoal", {"objective": "x", "replace": True}),
        ("kimi", "SetGoalBudget", {"value": 9, "unit": "turns"}),
        ("kimi", "CronCreate", {"cron": "* * * * *", "prompt": "x"}),
        ("vibe", "vibe.unified_harness_scratchpad", {"action": "write", "path": "../x", "content": ""}),
        ("vibe", "vibe.unified_harness_scratchpad", {"action": "read", "path": "/etc/passwd"}),
        ("vibe", "vibe.cron", {"action": "create"}),
    ],
)
def test_what_may_lift_a_limit_or_does_what_nobody_can_read_does_not_run_unasked(
    rig: GateRig, agent: str, tool: str, given: dict[str, object]
) -> None:
    assert run_and_read(rig, agent, tool, given) == "stopped"


@pytest.mark.parametrize(
    ("query", "outcome"),
    [
        ("insert into todos values ('it''s -- done; attach it', 1); select * from todos", "allowed"),
        ("update todos set title = 'a \"b\" [c]' where id = 'x'", "allowed"),
        ("create table notes (id integer)", "allowed"),
        ("ATTACH 'x.db' AS x", "stopped"),
        ("select 1; vacuum into 'x.db'", "stopped"),
        ("select Load_Extension('x')", "stopped"),
        ("pragma journal_mode = off", "stopped"),
        ("select 1 -- '\n; attach 'x' as x -- '", "stopped"),
        ("select 1 /* ' */; attach 'x' as x /* ' */", "stopped"),
        ("select \"'\"; attach 'x' as \"'\"", "stopped"),
        ("select ['] ; attach 'x' as [']", "stopped"),
        ("select `'` ; attach 'x' as `'`", "stopped"),
        ("select 'open", "stopped"),
        ("create virtual table x using y", "stopped"),
        (7, "stopped"),
    ],
)
def test_copilot_keeps_its_lists_in_a_database_that_a_query_may_not_leave(
    rig: GateRig, query: object, outcome: str
) -> None:
    rig.configure('[review]\nmode = "auto"')

    assert run_and_read(rig, "copilot", "sql", {"query": query, "description": "d"}) == outcome
    assert run_and_read(rig, "copilot", "sql", {"query": "select 1", "database": "other"}) == "stopped"


@pytest.mark.parametrize("tool", ["grep", "glob", "Grep", "Glob"])
def test_a_search_of_copilot_is_looked_at_in_each_folder_that_it_names(rig: GateRig, tool: str) -> None:
    root = str(rig.root)
    for name in ("a", "b", "c"):
        (rig.root / name).mkdir()
    rig.configure('[permissions]\nask = ["read_file(c/**)"]')
    answers = {
        str(paths): rig.send(
            json.dumps(payload(rig, "copilot", tool, {"pattern": "x", "paths": paths})).encode(), "copilot"
        ).permission
        for paths in ("a", ["a"], ["a", f"{root}/b"], ["a", "c"], "..", ["a", "/etc"], ["a", "~"], [], ["a", 7])
    }

    assert list(answers.values()) == ["allow"] * 3 + ["ask"] * 6


def test_a_search_of_copilot_for_sensitive_files_asks_in_whichever_folder_they_are(rig: GateRig) -> None:
    rig.file("a/x")
    rig.file("b/.env")

    found = [
        rig.send(
            json.dumps(payload(rig, "copilot", "grep", {"pattern": "x", "paths": paths})).encode(), "copilot"
        ).permission
        for paths in (["a"], ["a", "b"], ["b", "a"])
    ]

    assert found == ["allow", "ask", "ask"]


def run_and_read(rig: GateRig, agent: str, tool: str, given: dict[str, object]) -> str:
    """What a call comes to."""
    answer = rig.send(json.dumps(payload(rig, agent, tool, given)).encode(), agent)
    if answer.code != 0 or '"deny"' in answer.out or '"ask"' in answer.out:
        return "stopped"
    return "allowed"


@pytest.mark.parametrize(
    ("agent", "tool", "more"),
    [
        ("gemini", "mcp_a_b_c", {"mcp_context": {"server_name": "a_b", "tool_name": "c"}}),
        ("vibe", "mcp_a_b.c", {}),
    ],
)
def test_rules_know_the_tool_of_a_server_by_one_name_for_all_agents(
    rig: GateRig, agent: str, tool: str, more: dict[str, object]
) -> None:
    rig.configure('[permissions]\ndeny = ["mcp__a_b__c"]')

    answer = rig.send(json.dumps(payload(rig, agent, tool, {"x": 1}) | more).encode(), agent)

    assert (answer.code, "mcp__a_b__c denies it" in answer.err) == (2, True)


def test_a_workspace_of_several_folders_is_refused_by_its_name(rig: GateRig) -> None:
    sent = payload(rig, "cursor", "Shell", {"command": "ls"}) | {"workspace_roots": [str(rig.root), "/"]}

    answer = rig.send(json.dumps(sent).encode(), "cursor")

    assert (answer.code, answer.out) == (2, "")
    assert "workspace_roots" in answer.err


def test_two_fields_that_name_two_folders_are_no_call(rig: GateRig) -> None:
    given: dict[str, object] = {"command": "ls", "cwd": "a", "working_directory": "b"}

    answer = rig.send(json.dumps(payload(rig, "cursor", "Shell", given)).encode(), "cursor")

    assert (answer.code, "another folder of the command" in answer.err) == (2, True)


def test_a_prompt_of_cursor_goes_on(rig: GateRig) -> None:
    sent = {"hook_event_name": "beforeSubmitPrompt", "prompt": "go", "conversation_id": "c"}

    answer = rig.send(json.dumps(sent | {"workspace_roots": [str(rig.root)]}).encode(), "cursor")

    assert (answer.code, answer.json) == (0, {"continue": True})


def test_a_command_outside_the_workspace_asks_also_where_a_rule_allows_it(rig: GateRig) -> None:
    rig.configure('[permissions]\nallow = ["run_command(touch *)"]')

    inside, outside = (
        rig.send(json.dumps(rig.payload("Bash", command="touch a") | {"cwd": cwd}).encode())
        for cwd in (str(rig.root), str(rig.root.parent))
    )

    assert (inside.permission, outside.permission) == ("allow", "ask")
    assert "outside the workspace" in outside.reason


@pytest.mark.parametrize("name", [".vibe/hooks.toml", ".cursor/hooks.json", ".kimi-code/mcp.json"])
def test_hooks_of_the_agents_are_asked_about_in_each_mode(rig: GateRig, name: str) -> None:
    rig.configure('[review]\nmode = "auto"')

    answer = rig.claude("Write", file_path=str(rig.root / name), content="x")

    assert answer.permission == "ask"
    assert name.partition("/")[0] in answer.reason
