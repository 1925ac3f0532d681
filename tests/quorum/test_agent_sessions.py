"""An agent of another vendor at work: what it asks for is reviewed, and what it does unasked is told."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from quorum.domain.errors import ConfigError, ProviderError
from quorum.errors import UsageError
from tests.support.agent_rig import PROGRAM, AgentRig
from tests.support.headless_run import Ended


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> AgentRig:
    return AgentRig(tmp_path, monkeypatch, capsys)


def find(ended: Ended, kind: str) -> list[dict[str, Any]]:
    return [event for event in ended.events if event["type"] == kind]


def join_text(ended: Ended) -> str:
    return "".join(event["text"] for event in find(ended, "text_delta"))


def test_the_answer_of_the_agent_is_the_answer_of_the_run(rig: AgentRig) -> None:
    ended = rig.run(["say", "all "], ["say", "done"])

    assert (ended.code, ended.out) == (0, "all done\n")


@pytest.mark.long
def test_a_call_that_needs_a_person_is_withheld_and_the_agent_is_told(rig: AgentRig) -> None:
    ended = rig.run(["run", "touch made"], options=("--output", "json"))

    assert ended.code == 3
    assert ended.report["text"] == "[refused: touch made]"
    assert [call["decision"] for call in ended.report["calls"]] == ["needs_approval"]
    assert not (rig.root / "made").exists()


@pytest.mark.long
def test_an_allowed_call_runs_and_its_output_and_effects_are_recorded(rig: AgentRig) -> None:
    ended = rig.watch(["run", "echo hello; touch made"])

    (finished,), (effects,) = find(ended, "call_finished"), find(ended, "effects_observed")
    assert (finished["tool"], finished["outcome"], finished["output"]) == ("run_command", "ok", "hello\n")
    assert [change["path"] for change in effects["effects"]["changes"]] == [str(rig.root / "made")]
    assert not find(ended, "unasked_changes_found")


@pytest.mark.long
def test_a_call_that_fails_at_the_agent_has_failed(rig: AgentRig) -> None:
    (finished,) = find(rig.watch(["run", "echo no; exit 3"]), "call_finished")

    assert (finished["outcome"], finished["output"]) == ("error", "no\n")


@pytest.mark.long
def test_an_edit_is_reviewed_with_its_diff_and_held_against_what_was_approved(rig: AgentRig) -> None:
    rig.file("a.txt", "one\ntwo\n")

    ended = rig.watch(["edit", "a.txt", "one", "ONE"], ["edit", "a.txt", "two", "TWO", "other"])

    as_approved, otherwise = find(ended, "call_finished")
    assert "-one\n+ONE" in find(ended, "call_started")[0]["diff"]
    assert as_approved["outcome"] == "ok"
    assert otherwise["outcome"] == "error"
    assert f"not what was approved: {rig.root / 'a.txt'}" in otherwise["output"]


@pytest.mark.long
def test_what_the_agent_does_without_asking_is_told_and_recorded(rig: AgentRig) -> None:
    ended = rig.watch(["edit_unasked", "sly.txt", "x"], ["say", "done"])

    (call,), (found,) = find(ended, "unasked_call_reported"), find(ended, "unasked_changes_found")
    assert (call["title"], call["kind"], call["status"]) == ("Edit sly.txt", "edit", "completed")
    assert [change["path"] for change in found["changes"]] == [str(rig.root / "sly.txt")]
    assert "sly.txt" in ended.err


@pytest.mark.long
def test_what_is_said_before_an_unasked_call_is_recorded_before_it_and_all_of_it_is_the_answer(
    rig: AgentRig,
) -> None:
    ended = rig.watch(
        ["say", "first "],
        ["edit_unasked", "a", "x"],
        ["say", "then "],
        ["edit_unasked", "b", "x"],
        ["say", "done"],
    )

    told = [
        event["response"]["content"][0]["text"] if "response" in event else event["title"]
        for event in ended.events
        if event["type"] in ("response_completed", "unasked_call_reported")
    ]
    assert told == ["first ", "Edit a", "then ", "Edit b", "done"]
    assert find(ended, "turn_finished")[0]["report"]["text"] == "first then done"


@pytest.mark.long
def test_an_unasked_change_beside_asked_ones_is_told_and_theirs_are_not(rig: AgentRig) -> None:
    ended = rig.watch(["run", "touch made"], ["write", "c.txt", "new"], ["edit_unasked", "sly.txt", "x"])

    (found,) = find(ended, "unasked_changes_found")
    assert [change["path"] for change in found["changes"]] == [str(rig.root / "sly.txt")]


@pytest.mark.long
def test_a_later_unasked_change_of_an_approved_file_is_told(rig: AgentRig) -> None:
    ended = rig.watch(["write", "c.txt", "approved"], ["edit_unasked", "c.txt", "another"])

    (found,) = find(ended, "unasked_changes_found")
    assert [change["path"] for change in found["changes"]] == [str(rig.root / "c.txt")]


@pytest.mark.long
def test_files_that_the_agent_reaches_through_quorum_are_reviewed(rig: AgentRig) -> None:
    rig.file("a.txt", "held")
    rig.file(".env", "KEY=value-of-a-secret-key-1234")

    ended = rig.run(
        ["read", "a.txt"], ["read", ".env"], ["write", "c.txt", "new"], options=("--output", "json")
    )

    assert ended.report["text"].startswith("[withheld")
    assert [(call["tool"], call["outcome"]) for call in ended.report["calls"]] == [
        ("read_file", "ok"),
        ("read_file", "rejected"),
        ("write_file", "rejected"),
    ]
    assert not (rig.root / "c.txt").exists()
    assert "value-of-a-secret-key-1234" not in ended.out


@pytest.mark.long
def test_an_approved_edit_may_be_made_through_quorum_and_nothing_else(rig: AgentRig) -> None:
    file = rig.file("a.txt", "one\ntwo\n")

    ended = rig.watch(
        ["edit_through_client", "a.txt", "one", "ONE"], ["edit_through_client", "a.txt", "two", "TWO", "other"]
    )

    assert file.read_text() == "ONE\ntwo\n"
    assert [(event["tool"], event["outcome"]) for event in find(ended, "call_finished")] == [
        ("edit_file", "ok"),
        ("edit_file", "error"),
    ]
    assert not find(ended, "unasked_changes_found")


@pytest.mark.long
def test_a_command_in_a_terminal_is_reviewed_and_recorded_as_a_command(rig: AgentRig) -> None:
    ended = rig.watch(["in_terminal", "echo hello; touch made; exit 3"])

    (finished,), (effects,) = find(ended, "call_finished"), find(ended, "effects_observed")
    assert (finished["tool"], finished["output"]) == ("run_command", "hello\nexit code 3")
    assert [change["path"] for change in effects["effects"]["changes"]] == [str(rig.root / "made")]
    assert join_text(ended) == "hello 3\n"
    assert not find(ended, "unasked_changes_found")


@pytest.mark.long
def test_a_command_in_a_terminal_that_nobody_allows_does_not_run(rig: AgentRig) -> None:
    ended = rig.run(["in_terminal", "touch made"], options=("--output", "json"))

    assert ended.code == 3
    assert [call["decision"] for call in ended.report["calls"]] == ["needs_approval"]
    assert not (rig.root / "made").exists()


@pytest.mark.long
def test_what_the_agent_adds_to_a_command_stands_in_its_review(rig: AgentRig) -> None:
    (rig.root / "below").mkdir()

    ended = rig.watch(
        ["in_terminal_with", "GREETING", "it's", "echo $GREETING"],
        ["in_terminal_elsewhere", "pwd", str(rig.root / "below")],
        ["in_terminal_elsewhere", "touch made", "/"],
    )

    started = [call["arguments"] for call in find(ended, "call_started")]
    assert started[0] == {"command": "export GREETING='it'\"'\"'s'; echo $GREETING"}
    assert join_text(ended).startswith(f"it's 0\n{rig.root / 'below'} 0\n[")
    assert not Path("/made").exists()


@pytest.mark.long
def test_the_agent_reads_as_much_of_the_output_as_it_wants(rig: AgentRig) -> None:
    ended = rig.run(["in_small_terminal", "printf 'aäöü'"])

    assert ended.out.strip() == "…öü 0"


@pytest.mark.long
def test_the_agent_may_end_its_command(rig: AgentRig) -> None:
    ended = rig.watch(["in_terminal", "sleep 600", "kill"])

    assert join_text(ended) in {" SIGTERM\n", " 143\n"}  # a sandbox tells the signal by its number
    assert "SIGTERM" in find(ended, "call_finished")[0]["output"]


@pytest.mark.long
def test_a_command_that_was_allowed_runs_in_a_terminal_without_a_second_review(rig: AgentRig) -> None:
    ended = rig.watch(["ask_for_terminal", "echo hello; touch made"])

    (finished,) = find(ended, "call_finished")
    assert (finished["outcome"], finished["output"]) == ("ok", "hello\nexit code 0")
    assert not find(ended, "unasked_changes_found")


@pytest.mark.long
def test_an_allowed_command_that_fails_here_has_failed_whatever_the_agent_says(
    rig: AgentRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = rig.home / "config" / "quorum" / "quorum.toml"
    settings.write_text(settings.read_text() + '[tools.run_command]\nsandbox = "require"\n')
    monkeypatch.setenv("PATH", str(rig.home))

    (finished,) = find(rig.watch(["ask_for_terminal", "touch made"]), "call_finished")

    assert finished["outcome"] == "error"
    assert "nothing was run: tools.run_command.sandbox requires" in finished["output"]


@pytest.mark.long
def test_a_long_output_of_an_allowed_command_is_stored_whole(rig: AgentRig) -> None:
    (stored,) = find(rig.watch(["ask_for_terminal", "seq 100000"]), "output_stored")

    assert stored["size_bytes"] == sum(len(f"{number}\n") for number in range(1, 100_001))


@pytest.mark.long
def test_variables_that_only_change_how_an_allowed_command_looks_need_no_second_review(rig: AgentRig) -> None:
    ended = rig.watch(["ask_for_terminal_that_looks_plain", "echo hello"])

    assert [event["output"] for event in find(ended, "call_finished")] == ["hello\nexit code 0"]


@pytest.mark.long
@pytest.mark.parametrize(("shell", "option"), [("sh", "-c"), ("/bin/bash", "-lc")])
def test_an_allowed_command_runs_in_the_shell_that_it_was_reviewed_for(
    rig: AgentRig, shell: str, option: str
) -> None:
    command = "shopt -qo posix || shopt -q login_shell || echo ours $BASH_VERSION"

    ended = rig.watch(["ask_for_shell", command, shell, option])

    assert re.match(r"ours [45]\.", join_text(ended))


@pytest.mark.long
def test_an_allowed_command_in_a_shell_that_is_none_of_the_systems_is_reviewed(rig: AgentRig) -> None:
    ended = rig.watch(["ask_for_shell", "echo hello", str(rig.root / "bash")])

    assert len(find(ended, "call_finished")) == 2


@pytest.mark.long
def test_other_variables_of_an_allowed_command_are_reviewed(rig: AgentRig) -> None:
    ended = rig.watch(["ask_for_terminal_with_a_pager", "echo $PAGER"])

    assert len(find(ended, "call_finished")) == 2
    assert find(ended, "call_started")[1]["arguments"]["command"].startswith("export PAGER=true; ")


@pytest.mark.long
def test_another_command_than_the_allowed_one_is_reviewed(rig: AgentRig) -> None:
    ended = rig.watch(["ask_for_terminal", "echo hello", "touch made"])

    asked, really = find(ended, "call_finished")
    assert "how it ended is not known" in asked["output"]
    assert find(ended, "call_started")[1]["arguments"] == {"command": "bash -c 'touch made'"}
    assert really["output"] == "exit code 0"


@pytest.mark.long
def test_a_command_runs_on_beside_later_calls_and_ends_with_the_session(rig: AgentRig) -> None:
    ended = rig.watch(["in_terminal", "sleep 600", "leave"], ["run", "echo later"])

    assert [event["command"] for event in find(ended, "job_started")] == ["sleep 600"]
    assert [event["status"] for event in find(ended, "job_ended")] == ["stopped"]
    assert [job["status"] for job in find(ended, "session_finished")[0]["jobs"]] == ["stopped"]
    assert find(ended, "call_finished")[1]["output"] == "later\n"


@pytest.mark.long
@pytest.mark.parametrize(
    "step",
    [
        ["at_once", ["in_terminal", "sleep 600", "leave"], ["run", "echo later"]],
        ["run_beside_allowed_terminal", "sleep 600", "echo later"],
    ],
)
def test_a_command_that_begins_after_the_agent_has_gone_on_is_not_waited_for(
    rig: AgentRig, step: list[Any]
) -> None:
    ended = rig.watch(step)

    assert [event["command"] for event in find(ended, "job_started")] == ["sleep 600"]
    assert [event["outcome"] for event in find(ended, "call_finished")] == ["ok"] * 2
    assert find(ended, "call_finished")[1]["output"] == "later\n"


@pytest.mark.long
def test_a_command_without_room_in_the_background_ends_with_the_answer(rig: AgentRig) -> None:
    settings = rig.home / "config" / "quorum" / "quorum.toml"
    settings.write_text(settings.read_text() + "[tools.run_command]\nmax_jobs = 0\n")

    ended = rig.watch(["in_terminal", "sleep 600", "leave"])

    assert "SIGTERM" in find(ended, "call_finished")[0]["output"]


@pytest.mark.long
def test_an_agent_may_ask_about_several_calls_before_it_makes_one(rig: AgentRig) -> None:
    ended = rig.watch(["ask_before_running", "touch a", "touch b", "touch c"])

    assert {path.name for path in rig.root.iterdir()} == {"a", "b", "c"}
    assert [event["outcome"] for event in find(ended, "call_finished")] == ["ok"] * 3
    assert not find(ended, "unasked_changes_found")


@pytest.mark.long
def test_plan_and_thoughts_are_events(rig: AgentRig) -> None:
    ended = rig.watch(["think", "hm"], ["plan", ["look", "completed"], ["mend", "in_progress"]])

    assert find(ended, "reasoning_delta")[0]["text"] == "hm"
    assert [task["content"] for task in find(ended, "agent_plan_updated")[0]["tasks"]] == ["look", "mend"]
    assert "the agent's plan: 1 of 2 steps done; now: mend" in ended.err


@pytest.mark.long
@pytest.mark.parametrize(
    ("reason", "code", "status"),
    [("max_tokens", 5, "limit"), ("refusal", 1, "refused"), ("cancelled", 1, "failed")],
)
def test_how_the_agent_stops_is_how_the_run_ends(rig: AgentRig, reason: str, code: int, status: str) -> None:
    ended = rig.run(["say", "hm"], ["stop", reason], options=("--output", "json"))

    assert (ended.code, ended.report["status"]) == (code, status)


@pytest.mark.long
def test_an_agent_that_dies_fails_the_run_with_its_last_words(rig: AgentRig) -> None:
    ended = rig.run(["say", "hm"], ["die"], options=("--output", "json"))

    assert ended.code == 4
    assert ended.report["error"] == "the agent test: its program ended: the disk of the agent is full"


@pytest.mark.long
def test_what_the_agent_started_ends_with_it(rig: AgentRig) -> None:
    child = int(rig.run(["leave_a_child"]).out)

    assert not Path(f"/proc/{child}/exe").exists()


@pytest.mark.long
def test_calls_are_bounded_as_in_other_sessions(rig: AgentRig) -> None:
    rig.declare()
    settings = rig.home / "config" / "quorum" / "quorum.toml"
    settings.write_text(settings.read_text() + "[agent]\nmax_tool_turns = 2\n")

    ended = rig.run(
        *(["run", f"touch {name}"] for name in "abc"), options=("--mode", "auto", "--output", "json")
    )

    assert (ended.code, ended.report["status"]) == (5, "limit")
    assert {path.name for path in rig.root.iterdir()} == {"a", "b"}


@pytest.mark.long
def test_the_same_call_is_rejected_three_times_at_most(rig: AgentRig) -> None:
    ended = rig.run(*(["run", "touch a"] for _ in range(5)), options=("--output", "json"))

    assert ended.report["error"] == "the same call was rejected three times"
    assert len(ended.report["calls"]) == 3


@pytest.mark.long
def test_the_session_is_continued_by_the_agents_own_id(rig: AgentRig) -> None:
    rig.run(["say", "first"])
    ended = rig.watch(["say", "second"], options=("--continue",))

    assert find(ended, "agent_connected")[0]["agent_session"] == "theirs-1"
    assert [event["text"] for event in find(ended, "text_delta")] == ["second"]
    assert not find(ended, "session_started")


@pytest.mark.long
def test_an_agent_that_cannot_continue_says_so(rig: AgentRig) -> None:
    rig.declare("--no-load")
    rig.run(["say", "first"])

    with pytest.raises(ProviderError, match="it cannot continue a session"):
        rig.run(["say", "second"], options=("--continue",))


@pytest.mark.long
def test_a_mode_of_the_agent_is_chosen_where_it_is_offered(rig: AgentRig) -> None:
    ended = rig.watch(["say", "hm"], options=("--agent-mode", "plan"))

    assert (rig.root / "mode.txt").read_text() == "plan"
    assert find(ended, "agent_connected")[0]["mode"] == "plan"
    with pytest.raises(ProviderError, match="does not offer the mode fast; it offers build, plan"):
        rig.run(["say", "hm"], options=("--agent-mode", "fast"))


@pytest.mark.long
def test_a_mode_that_the_agent_changes_itself_is_told(rig: AgentRig) -> None:
    ended = rig.watch(["switch", "plan"], ["switch", "plan"], ["say", "done"])

    assert [event["mode"] for event in find(ended, "agent_mode_changed")] == ["plan"]
    assert "the agent changed its own mode to plan" in ended.err


@pytest.mark.long
@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--needs-login", "sign in to it first: .* it offers: Log in at the door"),
        ("--dies", "its program ended: no license found"),
    ],
)
def test_an_agent_that_does_not_begin_says_why(rig: AgentRig, flag: str, said: str) -> None:
    rig.declare(flag)

    with pytest.raises(ProviderError, match=said):
        rig.run(["say", "hm"])


@pytest.mark.long
def test_an_agent_that_says_nothing_is_ended(rig: AgentRig) -> None:
    rig.declare("--silent", timeout_secs=0.5)

    with pytest.raises(ProviderError, match=r"said nothing for 0\.5 s"):
        rig.run(["say", "hm"])


@pytest.mark.long
def test_noise_before_the_protocol_is_passed_over(rig: AgentRig) -> None:
    rig.declare("--noise")

    assert rig.run(["say", "done"]).out == "done\n"


def test_an_unknown_agent_names_the_known_ones(rig: AgentRig) -> None:
    with pytest.raises(ConfigError, match=r'no agent "strange"; .*claude, codex.*declare \[agents\.strange\]'):
        rig.run(["say", "hm"], agent="strange")


def test_a_missing_program_is_named_with_the_way_to_install_it(rig: AgentRig) -> None:
    with pytest.raises(
        ConfigError, match=r"claude-agent-acp.*npm install -g @agentclientprotocol/claude-agent-acp"
    ):
        rig.run(["say", "hm"], agent="claude")


@pytest.mark.long
def test_a_session_of_another_agent_is_not_continued(rig: AgentRig) -> None:
    rig.run(["say", "first"])
    settings = rig.home / "config" / "quorum" / "quorum.toml"
    settings.write_text(settings.read_text().replace("agents.test", "agents.other"))

    with pytest.raises(UsageError, match="is of the agent test"):
        rig.run(["say", "second"], options=("--continue",), agent="other")


def confine(rig: AgentRig, choice: str = "auto") -> None:
    """Have the agent run in the sandbox, where its own program can be read."""
    settings = rig.home / "config" / "quorum" / "quorum.toml"
    seen = [sys.prefix, sys.base_prefix, str(PROGRAM.parents[2])]
    settings.write_text(
        f"{settings.read_text()}sandbox = true\n[tools.run_command]\nsandbox = {json.dumps(choice)}\n"
        f'sandbox_readable = {json.dumps(seen)}\nsandbox_writable = ["~/.agent"]\n'
    )


@pytest.mark.long
def test_an_agent_in_the_sandbox_writes_to_the_workspace_and_to_its_own_folders(rig: AgentRig) -> None:
    (rig.home / ".agent").mkdir()
    confine(rig)

    ended = rig.watch(
        ["touch", "inside"],
        ["touch", str(rig.home / ".agent" / "session")],
        ["touch", str(rig.home / "outside")],
        ["run", "echo asked"],
    )

    assert {path.name for path in rig.root.iterdir()} == {"inside"}
    assert (rig.home / ".agent" / "session").exists()
    assert not (rig.home / "outside").exists()
    assert find(ended, "call_finished")[0]["output"] == "asked\n"
    assert "in the sandbox" in find(ended, "agent_connected")[0]["confinement"]
    assert [change["path"] for change in find(ended, "unasked_changes_found")[0]["changes"]] == [
        str(rig.root / "inside")
    ]


@pytest.mark.long
def test_an_agent_in_the_sandbox_does_not_change_what_it_obeys_outside(rig: AgentRig) -> None:
    folder = rig.home / ".vibe"
    folder.mkdir()
    (folder / "config.toml").write_text("mine")
    confine(rig)
    settings = rig.home / "config" / "quorum" / "quorum.toml"
    settings.write_text(settings.read_text().replace("[agents.test]", "[agents.vibe]"))

    ended = rig.watch(
        ["touch", str(folder / "session")],
        ["move", str(folder / "session"), str(folder / "config.toml")],
        ["touch", str(folder / "hooks.toml")],
        agent="vibe",
    )

    assert (folder / "config.toml").read_text() == "mine"
    assert {path.name for path in folder.iterdir()} == {"session", "config.toml", "set-aside-hooks.toml~1"}
    assert "but not to its settings" in find(ended, "agent_connected")[0]["confinement"]
    (told,) = find(ended, "unasked_call_reported")
    assert told["paths"] == [str(folder / "hooks.toml")]
    assert told["status"] == "renamed to set-aside-hooks.toml~1"


@pytest.mark.long
def test_an_agent_of_the_persons_own_does_not_change_what_it_is_said_to_obey(rig: AgentRig) -> None:
    folder = rig.home / ".agent"
    folder.mkdir()
    (folder / "rules").write_text("mine")
    rig.declare()
    settings = rig.home / "config" / "quorum" / "quorum.toml"
    settings.write_text(f'{settings.read_text()}obeys = ["~/.agent/rules", "~/.agent/hooks"]\n')
    confine(rig)

    rig.watch(
        ["touch", str(folder / "session")],
        ["move", str(folder / "session"), str(folder / "rules")],
        ["touch", str(folder / "hooks")],
    )

    assert (folder / "rules").read_text() == "mine"
    assert {path.name for path in folder.iterdir()} == {"session", "rules", "set-aside-hooks~1"}


@pytest.mark.long
def test_an_agent_that_is_to_run_in_the_sandbox_does_not_run_without(
    rig: AgentRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    confine(rig)
    monkeypatch.setenv("PATH", str(rig.home))

    with pytest.raises(ProviderError, match="the agent test is to run in the sandbox: there is no sandbox"):
        rig.run(["touch", "inside"])
    assert not (rig.root / "inside").exists()


@pytest.mark.long
def test_hooks_see_the_session_of_an_agent_and_deny_its_calls(rig: AgentRig) -> None:
    script = rig.root.parent / "hook.py"
    script.write_text(
        "import json, sys\n"
        "event = json.load(sys.stdin)['event']\n"
        "open(sys.argv[1], 'a').write(event + ' ')\n"
        "sys.exit(2 if event == 'on_permission_request' else 0)\n",
        encoding="utf-8",
    )
    log = rig.root.parent / "hooks.log"
    settings = rig.home / "config/quorum/quorum.toml"
    points = '["on_session_start", "on_session_end", "on_permission_request"]'
    text = settings.read_text(encoding="utf-8")
    hooks = f'[[hooks]]\nevent = {points}\ncommand = ["{sys.executable}", "{script}", "{log}"]\n'
    settings.write_text(text + hooks, encoding="utf-8")

    ended = rig.run(["run", "touch made"], options=("--output", "json"))

    assert [call["decision"] for call in ended.report["calls"]] == ["denied"]
    assert log.read_text(encoding="utf-8").split() == [
        *("on_session_start", "on_permission_request", "on_session_end")
    ]
