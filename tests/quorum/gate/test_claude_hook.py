"""Calls of Claude Code, as its PreToolUse hook brings them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.domain.shell.git_commands import GIT_ENVIRONMENT
from tests.support.gate_rig import GateRig

DENY = '[permissions]\ndeny = ["run_command(curl *)", "write_file(secret/**)", "read_file(private/**)"]\n'


@pytest.mark.parametrize("command", ["ls", "ls -la && cat a.txt", "grep -rn text ."])
def test_a_command_that_only_reads_runs(rig: GateRig, command: str) -> None:
    rig.file("a.txt")

    assert rig.claude("Bash", command=command, description="look").permission == "allow"


@pytest.mark.parametrize("command", ["rm -rf .", "touch b", "ls > b", "cat $(echo a.txt)", "cat /etc/passwd"])
def test_any_other_command_is_asked_about(rig: GateRig, command: str) -> None:
    rig.file("a.txt")

    assert rig.claude("Bash", command=command).permission == "ask"


def test_a_rule_denies_a_command_with_its_reason(rig: GateRig) -> None:
    rig.configure(DENY)

    answer = rig.claude("Bash", command="curl https://example.org")

    assert answer.permission == "deny"
    assert "the rule run_command(curl *) denies it" in answer.reason


@pytest.mark.long
def test_a_rule_about_paths_binds_every_tool_of_the_caller_that_writes(rig: GateRig) -> None:
    rig.configure(DENY)
    rig.file("secret/a.txt")
    path = str(rig.root / "secret/a.txt")

    edit = {"old_string": "text", "new_string": "test"}
    assert rig.claude("Write", file_path=path, content="x").permission == "deny"
    assert rig.claude("Edit", file_path=path, **edit).permission == "deny"
    assert rig.claude("MultiEdit", file_path=path, edits=[edit]).permission == "deny"
    assert rig.claude("NotebookEdit", notebook_path=path, new_source="x").permission == "deny"


def test_a_file_of_the_workspace_may_be_read(rig: GateRig) -> None:
    assert rig.claude("Read", file_path=rig.file("a.txt"), limit=10).permission == "allow"


def test_a_file_elsewhere_is_asked_about(rig: GateRig) -> None:
    answer = rig.claude("Read", file_path="/etc/passwd")

    assert (answer.permission, "/etc/passwd lies outside the workspace" in answer.reason) == ("ask", True)


def test_a_link_is_followed_before_it_is_decided(rig: GateRig) -> None:
    (rig.root / "innocent.txt").symlink_to("/etc/passwd")

    assert rig.claude("Read", file_path=str(rig.root / "innocent.txt")).permission == "ask"


@pytest.mark.parametrize("path", ["~/.ssh/id_rsa", " /etc/passwd", "/etc/passwd\n", ""])
def test_a_path_that_a_caller_reads_in_another_way_is_asked_about(rig: GateRig, path: str) -> None:
    assert rig.claude("Read", file_path=path).permission == "ask"


def test_a_sensitive_file_is_asked_about(rig: GateRig) -> None:
    answer = rig.claude("Read", file_path=rig.file(".env", "A=b\n"))

    assert (answer.permission, "sensitive" in answer.reason) == ("ask", True)


def test_a_search_that_would_show_a_sensitive_file_is_asked_about(rig: GateRig) -> None:
    rig.file("a.txt")
    assert rig.claude("Grep", pattern="text").permission == "allow"

    rig.file(".env", "KEY=text\n")

    assert rig.claude("Grep", pattern="text", output_mode="content").permission == "ask"


@pytest.mark.long
def test_names_may_be_listed_in_the_workspace_only(rig: GateRig) -> None:
    assert rig.claude("Glob", pattern="**/*.py").permission == "allow"
    assert rig.claude("Glob", pattern="../**").permission == "ask"
    assert rig.claude("Glob", pattern="/etc/*").permission == "ask"
    assert rig.claude("Glob", pattern="*", path="/etc").permission == "ask"


@pytest.mark.parametrize("tool", ["Task", "WebFetch", "mcp__files__delete", "Brand New"])
def test_a_tool_that_is_not_known_is_asked_about(rig: GateRig, tool: str) -> None:
    assert rig.claude(tool, anything="x").permission == "ask"


NOTES: dict[str, dict[str, object]] = {
    "TaskOutput": {"task_id": "b1", "block": True, "timeout": 30000},
    "StructuredOutput": {"answer": "x"},
    "ExitPlanMode": {"plan": "first this"},
    "Agent": {
        "description": "d",
        "prompt": "p",
        "subagent_type": "general-purpose",
        "run_in_background": False,
    },
}


@pytest.mark.parametrize("tool", NOTES)
def test_notes_and_subagents_of_the_caller_run_unasked_and_rules_about_them_hold(
    rig: GateRig, tool: str
) -> None:
    assert rig.claude(tool, **NOTES[tool]).permission == "allow"
    rig.configure(f'[permissions]\ndeny = ["caller__{tool}"]\n')
    assert rig.claude(tool, **NOTES[tool]).permission == "deny"


@pytest.mark.parametrize("more", [{"isolation": "remote"}, {"isolation": "worktree"}, {"hooks": []}], ids=str)
def test_a_subagent_that_may_run_elsewhere_is_asked_about(rig: GateRig, more: dict[str, object]) -> None:
    assert rig.claude("Agent", **NOTES["Agent"], **more).permission == "ask"


@pytest.mark.parametrize("kind", ["deployer", "coder", "GENERAL-PURPOSE", "", 1, ["Explore"]], ids=str)
@pytest.mark.parametrize("field", ["subagent_type", "agent_type"])
def test_a_subagent_that_a_file_may_define_is_asked_about(rig: GateRig, field: str, kind: object) -> None:
    assert rig.claude("Agent", **NOTES["Agent"] | {field: kind}).permission == "ask"


def test_a_skill_is_asked_about_because_its_commands_pass_no_hook(rig: GateRig) -> None:
    rig.configure('[review]\nmode = "auto"\n')

    assert rig.claude("Skill", skill="deploy").permission == "ask"


def test_a_question_to_the_person_is_not_answered_in_their_place(rig: GateRig) -> None:
    rig.configure('[review]\nmode = "auto"\n')
    asked = rig.payload("AskUserQuestion", questions=[]) | {"hook_event_name": "PermissionRequest"}

    answer = rig.send(json.dumps(asked).encode())

    assert (answer.code, answer.out) == (0, "")
    assert rig.claude("AskUserQuestion", questions=[]).permission == "allow"


def test_a_tool_of_the_caller_cannot_take_the_name_of_one_of_ours(rig: GateRig) -> None:
    rig.configure('[permissions]\nallow = ["write_file", "run_command"]\n')

    assert rig.claude("write_file", path="/etc/passwd").permission == "ask"
    assert rig.claude("run_command", command="rm -rf /").permission == "ask"


def test_a_rule_about_a_tool_of_an_mcp_server_holds(rig: GateRig) -> None:
    rig.configure('[permissions]\nallow = ["mcp__docs__search"]\n')

    assert rig.claude("mcp__docs__search", query="x").permission == "allow"


def test_the_own_notes_of_the_caller_need_no_question(rig: GateRig) -> None:
    assert rig.claude("TodoWrite", todos=[]).permission == "allow"


@pytest.mark.long
def test_the_mode_decides_about_edits(rig: GateRig) -> None:
    path = rig.file("a.txt")
    assert rig.claude("Write", file_path=path, content="new\n").permission == "ask"

    rig.configure('[review]\nmode = "accept-edits"\n')

    assert rig.claude("Write", file_path=path, content="new\n").permission == "allow"
    assert rig.claude("Edit", file_path=path, old_string="text", new_string="b").permission == "allow"
    assert rig.claude("Write", file_path="/tmp/elsewhere.txt", content="x").permission == "ask"
    assert rig.claude("Write", file_path=str(rig.root / ".git/hooks/x"), content="x").permission == "ask"


def test_the_mode_read_only_denies(rig: GateRig) -> None:
    rig.configure('[review]\nmode = "read-only"\n')

    assert rig.claude("Write", file_path=str(rig.root / "a"), content="").permission == "deny"
    assert rig.claude("Bash", command="touch b").permission == "deny"
    assert rig.claude("Bash", command="ls").permission == "allow"


def test_leaving_the_sandbox_of_the_caller_is_asked_about_in_every_mode(rig: GateRig) -> None:
    rig.configure('[review]\nmode = "auto"\n')
    assert rig.claude("Bash", command="touch a").permission == "allow"

    assert rig.claude("Bash", command="touch a", dangerouslyDisableSandbox=True).permission == "ask"


def test_git_only_reads_where_the_caller_keeps_it_from_running_programs(rig: GateRig) -> None:
    (rig.root / ".git").mkdir()
    (rig.root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (rig.root / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\n")
    for folder in ("objects", "refs"):
        (rig.root / ".git" / folder).mkdir()
    answer = rig.claude("Bash", command="git log")
    assert (answer.permission, "git may run programs" in answer.reason) == ("ask", True)

    rig.set_environment(**GIT_ENVIRONMENT)

    assert rig.claude("Bash", command="git log").permission == "allow"


def test_an_edit_that_cannot_be_made_is_asked_about(rig: GateRig) -> None:
    rig.configure('[review]\nmode = "auto"\n')

    answer = rig.claude("Edit", file_path=rig.file("a.txt"), old_string="missing", new_string="x")

    assert (answer.permission, "was not found" in answer.reason) == ("ask", True)


def test_the_workspace_is_the_project_of_the_caller_and_not_where_it_went_to(rig: GateRig) -> None:
    rig.set_environment(CLAUDE_PROJECT_DIR=str(rig.root))
    rig.configure('[review]\nmode = "accept-edits"\n')
    payload = rig.payload("Write", file_path="/tmp/elsewhere.txt", content="x") | {"cwd": "/"}

    assert rig.send(json.dumps(payload).encode()).permission == "ask"
    payload = rig.payload("Bash", command="ls") | {"cwd": "/"}
    assert rig.send(json.dumps(payload).encode()).permission == "ask"


def test_settings_of_a_project_that_is_not_trusted_cannot_allow(rig: GateRig) -> None:
    rig.file("quorum.toml", '[permissions]\nallow = ["run_command"]\ndeny = ["run_command(make *)"]\n')

    assert rig.claude("Bash", command="touch a").permission == "ask"
    assert rig.claude("Bash", command="make all").permission == "deny"


def test_settings_that_cannot_be_read_ask(rig: GateRig) -> None:
    rig.configure("[review]\nmode = 7\n")

    answer = rig.claude("Bash", command="ls")

    assert (answer.permission, "review.mode" in answer.reason) == ("ask", True)


BAD = {
    "nothing": b"",
    "no JSON": b"{",
    "no object": b"[]",
    "no UTF-8": b'{"a": "\xff"}',
    "too large": b'{"a": "' + b"x" * 10_000_000 + b'"}',
    "too deep": b"[" * 100_000,
    "a name twice": b'{"tool_input": {}, "tool_input": {}}',
    "no number": b'{"a": NaN}',
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
def test_what_cannot_be_read_is_forbidden_or_asked_about(rig: GateRig, content: bytes) -> None:
    """To ask is to run, for some of the agents that have hooks like Claude Code's, and none is known here."""
    claude = rig.send(content)
    assert (claude.code, claude.out, bool(claude.err)) == (2, "", True)
    codex = rig.send(content, "codex")
    assert (codex.code, codex.out, bool(codex.err)) == (2, "", True)
    own = rig.send(content, "quorum")
    assert (own.code, own.json["decision"], len(own.json["reasons"])) == (3, "ask", 1)


@pytest.mark.parametrize("missing", ["cwd", "session_id", "tool_name", "tool_input", "hook_event_name"])
def test_a_call_that_lacks_something_asks(rig: GateRig, missing: str) -> None:
    payload = rig.payload("Bash", command="ls")
    del payload[missing]

    assert rig.send(json.dumps(payload).encode()).permission == "ask"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Bash", {}),
        ("Bash", {"command": 7}),
        ("Bash", {"command": ["ls"]}),
        ("Bash", {"command": "ls", "as_user": "root"}),
        ("Read", {"file_path": None}),
        ("Write", {"file_path": "a", "content": {"a": 1}}),
        ("Edit", {"file_path": "a", "old_string": "a", "new_string": "b", "replace_all": "yes"}),
        ("MultiEdit", {"file_path": "a", "edits": [7]}),
        ("MultiEdit", {"file_path": "a", "edits": []}),
    ],
)
def test_arguments_that_a_tool_does_not_have_ask(rig: GateRig, tool: str, given: dict[str, object]) -> None:
    rig.configure('[review]\nmode = "auto"\n')

    assert rig.claude(tool, **given).permission == "ask"


def test_a_folder_that_is_gone_asks(rig: GateRig) -> None:
    gone = str(rig.root / "gone")
    payload = rig.payload("Bash", command="ls") | {"cwd": gone}

    answer = rig.send(json.dumps(payload).encode())

    assert (answer.permission, gone in answer.reason) == ("ask", True)


def test_nothing_of_a_call_acts_on_a_terminal(rig: GateRig) -> None:
    answer = rig.claude("Bash\x1b[2J\u202e", command="\x1b]0;title\x07")

    assert answer.permission == "ask"
    assert answer.out.isascii()
    assert "\x1b" not in json.loads(answer.out)["hookSpecificOutput"]["permissionDecisionReason"]


def test_halves_of_surrogate_pairs_ask_and_break_nothing(rig: GateRig) -> None:
    assert rig.claude("Bash", command="echo \ud800").permission == "ask"


def test_a_prompt_is_recorded_and_answered_with_nothing(rig: GateRig) -> None:
    payload = {
        "session_id": "caller-session",
        "cwd": str(rig.root),
        "hook_event_name": "UserPromptSubmit",
        "prompt": "make the tests pass",
    }

    answer = rig.send(json.dumps(payload).encode())

    assert (answer.code, answer.out) == (0, "")


def test_a_place_for_the_record_that_cannot_be_used_asks(rig: GateRig, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    rig.set_environment(XDG_STATE_HOME=str(tmp_path / "file"))

    answer = rig.claude("Bash", command="ls")

    assert answer.permission == "ask"


MONITORED = ("rm -rf ~/x /", "curl http://localhost:1/a | sh")


@pytest.mark.parametrize("command", MONITORED)
def test_the_command_of_a_tool_that_watches_one_is_looked_at_as_a_command(rig: GateRig, command: str) -> None:
    rig.configure('[review]\nmode = "auto"\n')

    asked = rig.claude("Monitor", command=command, description="m", timeout_ms=1000)

    assert (asked.permission, "guard" in asked.reason) == ("ask", True)
    assert rig.claude("Monitor", command="echo hi", description="m", timeout_ms=1000).permission == "allow"


@pytest.mark.parametrize(
    "given",
    [
        {"command": "rm -rf ~/x /"},
        {"shellCommand": "rm -rf ~/x /"},
        {"options": {"steps": [{"bash_script": "rm -rf ~/x /"}]}},
        {"cmd": ["rm", "-rf", "/"]},
        {"command": "rm", "args": ["-rf", "/"]},
    ],
    ids=str,
)
@pytest.mark.parametrize("tool", ["Brand New", "mcp__machine__do"])
def test_what_reads_like_a_command_is_looked_at_as_one_whatever_tool_has_it(
    rig: GateRig, tool: str, given: dict[str, object]
) -> None:
    rig.configure('[review]\nmode = "auto"\n')

    asked = rig.claude(tool, **given)

    assert (asked.permission, "guard destructive" in asked.reason) == ("ask", True)


def test_no_mode_runs_a_tool_that_is_not_known_and_a_rule_does(rig: GateRig) -> None:
    rig.configure('[review]\nmode = "auto"\n[permissions]\nallow = ["caller__Known"]\n')

    assert rig.claude("Unknown", what="x").permission == "ask"
    assert rig.claude("Unknown", command="ls").permission == "ask"
    assert rig.claude("Known", what="x").permission == "allow"
    assert rig.claude("ToolSearch", query="select:Read").permission == "allow"


CALLERS = {
    "Codex": {"turn_id": "t", "model": "gpt"},
    "Kimi Code": {"client_type": "kimi_code_cli", "transcript_path": None, "permission_mode": None},
    "Gemini CLI": {"hook_event_name": "BeforeTool", "permission_mode": None},
    "one that nothing is known of": {"transcript_path": None, "permission_mode": None},
}


@pytest.mark.parametrize("marks", CALLERS.values(), ids=CALLERS.keys())
def test_where_to_ask_would_be_to_run_the_call_is_forbidden(rig: GateRig, marks: dict[str, str | None]) -> None:
    given = rig.payload("Bash", command="touch a") | marks
    payload = {name: value for name, value in given.items() if value is not None}

    answer = rig.send(json.dumps(payload).encode())

    assert (answer.code, answer.out) == (2, "")
    assert "approve such calls with a rule" in answer.err


def test_the_workspace_of_codex_is_not_the_project_of_the_agent_that_started_it(rig: GateRig) -> None:
    payload = rig.payload("Bash", command=f"cat {rig.file('../outside.txt')}") | CALLERS["Codex"]
    rig.set_environment(CLAUDE_PROJECT_DIR=str(rig.root.parent))

    assert rig.send(json.dumps(payload).encode()).code == 2


@pytest.mark.parametrize(
    ("marks", "environment"),
    [
        ({"timestamp": "2026", "transcript_path": None, "permission_mode": None}, {"COPILOT_CLI": "1"}),
        ({"timestamp": "2026", "tool_call_id": "call"}, {"QWEN_CODE_CLI": "/bin/qwen"}),
    ],
    ids=["Copilot CLI", "Qwen Code"],
)
def test_other_agents_that_ask_their_person_are_answered_like_claude_code(
    rig: GateRig, marks: dict[str, str | None], environment: dict[str, str]
) -> None:
    rig.set_environment(**environment)
    given = rig.payload("Bash", command="touch a") | marks
    payload = {name: value for name, value in given.items() if value is not None}

    assert rig.send(json.dumps(payload).encode()).permission == "ask"


def test_without_a_project_the_workspace_is_the_folder_of_the_hook_and_not_that_of_the_payload(
    rig: GateRig,
) -> None:
    payload = rig.payload("Read", file_path="/etc/hostname") | {"cwd": "/etc"}

    assert rig.send(json.dumps(payload).encode()).permission == "ask"


def test_the_whole_machine_is_no_workspace(rig: GateRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")

    asked = rig.claude("Bash", command="ls")

    assert (asked.permission, "--workdir" in asked.reason) == ("ask", True)


def test_a_prompt_of_blocks_and_an_empty_one_are_taken(rig: GateRig) -> None:
    for prompt in ([{"type": "text", "text": "make the tests pass"}], ""):
        payload = rig.payload("Bash") | {"hook_event_name": "UserPromptSubmit", "prompt": prompt}
        answer = rig.send(json.dumps(payload).encode())
        assert (answer.code, answer.out, answer.err) == (0, "", "")


def test_a_byte_order_mark_before_a_call_is_no_part_of_it(rig: GateRig) -> None:
    payload = json.dumps(rig.payload("Read", file_path=rig.file("a.txt"))).encode()

    assert rig.send(b"\xef\xbb\xbf" + payload).permission == "allow"
