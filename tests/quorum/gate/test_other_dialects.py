"""Calls of Codex, and of programs that speak our own form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.domain.shell.git_commands import GIT_ENVIRONMENT
from tests.support.command_line import run_command
from tests.support.gate_rig import GateRig


def test_codex_goes_on_without_a_word_where_a_call_may_run(rig: GateRig) -> None:
    answer = rig.codex("Bash", command="ls")

    assert (answer.code, answer.out) == (0, "")


def test_what_a_hook_of_codex_cannot_ask_about_is_forbidden(rig: GateRig) -> None:
    answer = rig.codex("Bash", command="touch a")

    assert answer.permission == "deny"
    assert "it has to be asked about" in answer.reason


@pytest.mark.long
def test_codex_asks_its_person_itself_where_it_has_a_question_anyway(rig: GateRig) -> None:
    asked = rig.codex("Bash", "PermissionRequest", command="touch a", description="why")
    rig.configure('[permissions]\ndeny = ["run_command(touch *)"]\nallow = ["run_command(make *)"]\n')
    denied = rig.codex("Bash", "PermissionRequest", command="touch a")
    allowed = rig.codex("Bash", "PermissionRequest", command="make all")

    assert (asked.code, asked.out) == (0, "")
    assert denied.json["hookSpecificOutput"]["decision"]["behavior"] == "deny"
    assert "denies it" in denied.json["hookSpecificOutput"]["decision"]["message"]
    assert allowed.json["hookSpecificOutput"] == {
        "hookEventName": "PermissionRequest",
        "decision": {"behavior": "allow"},
    }


def test_a_patch_of_codex_is_read_file_by_file(rig: GateRig) -> None:
    rig.configure('[review]\nmode = "accept-edits"\n[permissions]\ndeny = ["write_file(b.txt)"]\n')
    rig.file("a.txt")
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-text\n+test\n*** End Patch\n"
    more = patch.replace("*** End", "*** Add File: b.txt\n+new\n*** End")

    assert rig.codex("apply_patch", command=patch).out == ""
    assert rig.codex("apply_patch", command=more).permission == "deny"
    assert rig.codex("apply_patch", command="*** Begin Patch\nnonsense").permission == "deny"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("get_goal", {}),
        ("update_goal", {"status": "complete"}),
        ("update_plan", {"plan": []}),
        ("request_user_input", {"questions": []}),
        ("view_image", {"path": "p.png"}),
        ("spawn_agent", {"message": "look"}),
        ("collaborationspawn_agent", {"task_name": "t", "message": "m", "fork_turns": "none"}),
        ("collaborationwait_agent", {"timeout_ms": 10000}),
        ("multi_agent_v1wait_agent", {"targets": ["x"]}),
    ],
)
def test_notes_of_codex_go_on_and_those_of_other_agents_with_its_names_do_not(
    rig: GateRig, tool: str, given: dict[str, object]
) -> None:
    rig.file("p.png")

    assert (rig.codex(tool, **given).out, rig.claude(tool, **given).permission) == ("", "ask")


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("view_image", {"path": "../p.png"}),
        ("view_image", {"path": "p.png", "crop": 1}),
        ("collaborationspawn_agent", {"message": "m", "machine": "other"}),
        ("collaborationspawn_agent", {"message": "m", "agent_type": "deployer"}),
        ("create_goal", {"objective": "o"}),
        ("new_tool", {}),
    ],
    ids=str,
)
def test_what_is_not_known_of_codex_is_forbidden(rig: GateRig, tool: str, given: dict[str, object]) -> None:
    assert rig.codex(tool, **given).permission == "deny"


CODES = {"allow": 0, "deny": 1, "ask": 3}


@pytest.mark.parametrize(
    ("tool", "given", "decision"),
    [
        ("run_command", {"command": "ls"}, "allow"),
        ("run_command", {"command": "curl x"}, "deny"),
        ("run_command", {"command": "touch a"}, "ask"),
        ("run_command", {"command": "ls", "working_dir": "/etc"}, "ask"),
        ("read_file", {"path": "a.txt"}, "allow"),
        ("read_file", {"path": "../x"}, "ask"),
        ("write_file", {"path": "a.txt", "content": "x"}, "ask"),
        ("edit_file", {"path": "a.txt", "old_text": "text", "new_text": "x"}, "ask"),
        ("glob_search", {"pattern": "*.py"}, "allow"),
        ("list_directory", {}, "allow"),
        ("web_fetch", {"url": "https://example.org"}, "ask"),
        ("unheard_of", {}, "ask"),
    ],
)
def test_our_own_form_has_an_answer_and_an_exit_code(
    rig: GateRig, tool: str, given: dict[str, object], decision: str
) -> None:
    rig.configure('[permissions]\ndeny = ["run_command(curl *)"]\n')
    rig.file("a.txt")

    answer = rig.own(tool, **given)

    assert (answer.json["decision"], answer.code) == (decision, CODES[decision])
    assert answer.json["reasons"]


def test_each_reason_is_said_once(rig: GateRig) -> None:
    reasons = "; ".join(rig.own("unheard_of").json["reasons"])

    assert reasons.count("what the tool unheard_of would do with this is not known") == 1


def test_the_digest_binds_the_answer_to_the_call(rig: GateRig) -> None:
    rig.file("a.txt")

    first = rig.own("write_file", path="a.txt", content="x").json["digest"]

    assert len(first) == 64
    assert first != rig.own("write_file", path="a.txt", content="y").json["digest"]


@pytest.mark.parametrize("strange", ["sudo", "decision", "arguments2"])
def test_a_field_that_is_not_known_asks(rig: GateRig, strange: str) -> None:
    payload = {"tool": "run_command", "arguments": {"command": "ls"}, "cwd": str(rig.root), strange: "x"}

    answer = rig.send(json.dumps(payload).encode(), "quorum")

    assert (answer.code, answer.json["decision"]) == (3, "ask")
    assert strange in answer.json["reasons"][0]


@pytest.mark.parametrize("cwd", [None, "", "relative", "/no/such/folder", 7])
def test_a_folder_that_cannot_be_used_asks(rig: GateRig, cwd: object) -> None:
    payload = {"tool": "run_command", "arguments": {"command": "ls"}, "cwd": cwd}

    assert rig.send(json.dumps(payload).encode(), "quorum").code == 3


def test_the_task_is_a_prompt_of_the_session(rig: GateRig) -> None:
    payload = {
        "tool": "run_command",
        "arguments": {"command": "ls"},
        "cwd": str(rig.root),
        "task": "look around",
        "session": "one",
    }

    assert rig.send(json.dumps(payload).encode(), "quorum").code == 0


def test_an_option_sets_the_mode(rig: GateRig) -> None:
    assert rig.own("run_command", "--mode", "auto", command="touch a").code == 0


def test_the_environment_that_git_needs_can_be_printed(
    rig: GateRig, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["gate", "--print-environment"], Path()) == 0

    assert json.loads(capsys.readouterr().out) == dict(GIT_ENVIRONMENT)


@pytest.mark.parametrize("folder", ["/etc", "/proc/self", "/"])
def test_the_folder_that_a_model_chooses_for_a_call_is_never_the_workspace(rig: GateRig, folder: str) -> None:
    payload = rig.payload("Bash", command="cat hostname status")
    payload |= {"cwd": folder, "turn_id": "turn", "model": "gpt"}

    answer = rig.send(json.dumps(payload).encode(), "codex")

    assert (answer.permission, "outside the workspace" in answer.reason) == ("deny", True)


def test_settings_of_the_folder_that_a_model_chooses_do_not_count(rig: GateRig) -> None:
    inner = rig.root / "inner"
    inner.mkdir()
    rig.file("quorum.toml", '[permissions]\ndeny = ["run_command(ls *)"]\n')
    payload = rig.payload("Bash", command="ls -a") | {"cwd": str(inner), "turn_id": "t", "model": "m"}

    assert rig.send(json.dumps(payload).encode(), "codex").permission == "deny"


@pytest.mark.parametrize(
    ("command", "may_run"), [("sh", False), ("cd . && python3 -i", False), ("touch a", True)]
)
def test_codex_may_not_start_unasked_what_runs_what_is_typed(rig: GateRig, command: str, may_run: bool) -> None:
    rig.configure('[review]\nmode = "auto"')
    call = json.dumps(rig.payload("Bash", command=command)).encode()

    answer = rig.send(call, "codex")

    assert rig.send(call).permission == "allow"  # Claude Code does not type into what runs
    assert (answer.out == "") is may_run
    assert may_run or "typed" in answer.reason
