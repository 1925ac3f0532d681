"""Hooks of Claude Code: which are taken over, as what, and which are only named."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec
import pytest

from quorum.domain.errors import ConfigError
from quorum.domain.importing.foreign_session import TakeoverItem, TakeoverKind
from quorum.infrastructure.config.config_file import ConfigFile
from quorum.infrastructure.hooks.claude_dialect import CLAUDE_EVENTS
from quorum.infrastructure.importing.claude import may_run_open_folder
from quorum.infrastructure.importing.places import ImportPlaces
from quorum.infrastructure.importing.takeover import read_setups, take_over
from quorum.infrastructure.permissions.rule_file import RuleFile
from tests.support.settings_machine import Machine

EVENTS = tuple(CLAUDE_EVENTS)


def _find(
    machine: Machine, hooks: object, known: Sequence[Mapping[str, object]] = (), **more: object
) -> list[TakeoverItem]:
    file = machine.home / ".claude/settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"hooks": hooks, **more}), encoding="utf-8")
    places = ImportPlaces(
        home=machine.home,
        root=machine.repository,
        own=machine.user_file.parent,
        environ=machine.environ,
        hooks=known,
    )
    found = [finding for setup in read_setups(["claude"], places) for finding in setup.findings]
    return [each for each in found if each.kind is TakeoverKind.HOOK]


def _entry(command: str, matcher: str | None = None, **more: object) -> list[dict[str, object]]:
    entry = {"type": "command", "command": command, **more}
    return [{**({} if matcher is None else {"matcher": matcher}), "hooks": [entry]}]


@pytest.mark.parametrize("event", EVENTS)
def test_a_hook_that_has_a_point_here_becomes_a_table_in_its_own_form(machine: Machine, event: str) -> None:
    (found,) = _find(machine, {event: _entry("/opt/hooks/note --quiet", "a|b", timeout=5)})

    assert found.is_taken_over
    assert found.hook | {"event": ""} == {
        "event": "",
        "command": ["/opt/hooks/note", "--quiet"],
        "dialect": "claude",
        "matcher": "a|b",
        "timeout_secs": 5.0,
    }
    assert "/opt/hooks/note --quiet" in found.here


def test_a_hook_for_all_tools_becomes_one_for_all(machine: Machine) -> None:
    (found,) = _find(machine, {"PreToolUse": _entry("/opt/check", "*")})

    assert found.is_taken_over
    assert "matcher" not in found.hook


def test_the_gate_is_named_and_not_taken_over(machine: Machine) -> None:
    gate = _entry("/opt/bin/quorum gate --dialect claude || { exit 2; }", "*")
    hooks = {"PreToolUse": [*gate, *_entry("/opt/check")], "UserPromptSubmit": gate, "PermissionRequest": gate}

    found = _find(machine, hooks)

    assert [each.is_taken_over for each in found] == [False, True, False, False]
    assert all("quorum's own" in each.why for each in found if not each.is_taken_over)


def test_what_is_taken_over_loads_and_is_not_taken_twice(machine: Machine) -> None:
    machine.user('[[hooks]]\nevent = "on_turn_end"\ncommand = ["true"]  # mine\n')
    hooks = {event: _entry("say hello | cat") for event in EVENTS}
    settings = ConfigFile(machine.user_file, load=lambda file: machine.load())

    report = take_over(_find(machine, hooks), rules=RuleFile(machine.home / "rules"), settings=settings)

    loaded = machine.load().settings.hooks
    assert (report.hooks, len(loaded)) == (7, 8)
    assert [each.event for each in loaded[1:]] == [CLAUDE_EVENTS[event] for event in EVENTS]
    assert loaded[1].command == ("sh", "-c", "say hello | cat")
    assert "# mine" in machine.user_file.read_text(encoding="utf-8")
    again = _find(machine, hooks, [msgspec.to_builtins(each) for each in loaded])
    assert not any(each.is_taken_over for each in again)


def test_hooks_in_a_list_of_tables_on_one_line_are_left_as_they_are_with_an_error(machine: Machine) -> None:
    machine.user('hooks = [{ event = "on_turn_end", command = ["true"] }]\n')
    settings = ConfigFile(machine.user_file, load=lambda file: machine.load())

    with pytest.raises(ConfigError, match="edit the file itself"):
        take_over(
            _find(machine, {"Notification": _entry("beep")}),
            rules=RuleFile(machine.home / "rules"),
            settings=settings,
        )


@pytest.mark.parametrize(
    ("hooks", "why"),
    [
        ({"PostToolUse": _entry("/opt/check")}, "hooks of this event do not run here"),
        ({"SubagentStop": _entry("/opt/check")}, "hooks of this event do not run here"),
        ({"Notification": [{"hooks": [{"type": "http", "url": "https://x"}]}]}, "only commands run here"),
        ({"Notification": _entry("beep", **{"if": "Bash(git *)"})}, "quorum does not know its if"),
        ({"Notification": _entry("beep", "(")}, "its matcher is not understood"),
        ({"Notification": "beep"}, "only commands run here"),
        ({"Notification": [5, {"hooks": {}}]}, "only commands run here"),
        ({"SessionStart": _entry("./start.sh")}, "a file of whatever folder is open"),
        (
            {"SessionStart": _entry('"$CLAUDE_PROJECT_DIR"/.claude/start.sh')},
            "a file of whatever folder is open",
        ),
    ],
)
def test_a_hook_that_cannot_run_here_is_named_with_the_reason(
    machine: Machine, hooks: object, why: str
) -> None:
    found = _find(machine, hooks)

    assert found
    assert not any(each.is_taken_over for each in found)
    assert all(why in each.why for each in found)


def test_hooks_that_are_switched_off_there_stay_off(machine: Machine) -> None:
    (found,) = _find(machine, {"Notification": _entry("beep")}, disableAllHooks=True)

    assert (found.is_taken_over, found.why) == (False, "hooks are switched off there")


@pytest.mark.parametrize(
    "text",
    [
        *("hook.py", "python3 hook", "python3.12 -m hook", "python3 -c 'import hook'", "node hook", "sh hook"),
        *(
            "make note",
            "npx note",
            "git status",
            "cat notes/today.md",
            "/usr/bin/env python3 hook",
            "cd x; ./y",
        ),
        *(
            "bash -c 'python3 hook'",
            "echo a && scripts/note",
            "$PWD/hook",
            "~other/hook",
            "../hook",
            "true|sh -s",
        ),
    ],
)
def test_what_may_run_a_file_of_the_open_folder_is_seen(text: str) -> None:
    assert may_run_open_folder(text)


@pytest.mark.parametrize(
    "text",
    [
        *("beep", "notify-send 'quorum' 'look here'", "/opt/hooks/note --quiet", "python3 /opt/hooks/note.py"),
        *("~/bin/note", "$HOME/bin/note", "curl -s https://example.org/note", "sh -c 'beep; beep'"),
        *("printf '\\a' > /dev/tty", "bash /opt/hooks/note.sh now"),
    ],
)
def test_what_runs_the_same_in_every_folder_is_taken_over(text: str) -> None:
    assert not may_run_open_folder(text)
