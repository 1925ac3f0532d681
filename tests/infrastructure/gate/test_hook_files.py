"""Hooks come into the settings of other agents and go again; all else in them stays as it is."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.infrastructure.gate.hook_files import (
    HOOKED_AGENTS,
    is_hooked,
    plan_installation,
    plan_removal,
    write_change,
)

CLAUDE = HOOKED_AGENTS["claude"]
OTHERS = '{"Stop": [{"hooks": [{"type": "command", "command": "say \\"}, //\\""}]}]}'


def install(path: Path, name: str = "claude") -> None:
    write_change(plan_installation(HOOKED_AGENTS[name], path))


def uninstall(path: Path, name: str = "claude") -> None:
    write_change(plan_removal(HOOKED_AGENTS[name], path))


@pytest.mark.parametrize("name", sorted(HOOKED_AGENTS))
def test_a_file_that_install_made_is_gone_after_uninstall(name: str, tmp_path: Path) -> None:
    path = HOOKED_AGENTS[name].locate({"HOME": str(tmp_path)})
    install(path, name)
    assert is_hooked(HOOKED_AGENTS[name], path)
    first = path.read_bytes()
    install(path, name)
    assert path.read_bytes() == first

    uninstall(path, name)

    assert not path.exists()
    assert not is_hooked(HOOKED_AGENTS[name], path)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '{\n    "a": 1 // why\n    /* } */\n}\n',
        '// head\n{\n\t"a": [1, 2,],\n\t"b": {},\n}\n// tail',
        f'{{"hooks": {OTHERS}, "z": null}}\n',
        f'{{\r\n  "hooks": {OTHERS}\r\n}}\r\n',
        '{"hooks": {"PreToolUse": [\n  {"matcher": "Bash", "hooks": []}, // first\n], "Stop": []}}',
        '\ufeff{"a": "\\"hooks\\": {"}\n',
    ],
    ids=["one line", "comments", "commas", "other hooks", "carriage returns", "same event", "mark"],
)
def test_all_else_in_a_file_stays_to_the_byte(text: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(text.encode())
    install(path)
    assert is_hooked(CLAUDE, path)

    uninstall(path)

    assert path.read_bytes() == text.encode()


def test_hooks_that_the_person_wrote_beside_stay_when_ours_go(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    install(path)
    data = json.loads(path.read_text())
    own = {"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}
    data["hooks"]["PreToolUse"].append(own)
    path.write_text(json.dumps(data))

    uninstall(path)

    assert json.loads(path.read_text()) == {"hooks": {"PreToolUse": [own]}}


def test_a_hook_with_another_matcher_is_not_taken_for_all_calls(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    hook = {"type": "command", "command": "quorum gate --dialect claude"}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}))

    assert not is_hooked(CLAUDE, path)


@pytest.mark.parametrize(("end", "is_added"), [(" || exit 2", False), ("", True)], ids=["blocks", "does not"])
def test_a_hook_written_by_hand_is_enough_if_it_blocks_without_an_answer(
    end: str, is_added: bool, tmp_path: Path
) -> None:
    path = tmp_path / "settings.json"
    hook = {"type": "command", "command": f"quorum gate --dialect claude --tui /run/quorum{end}"}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}))

    assert is_hooked(CLAUDE, path) is not is_added
    install(path)

    entries = json.loads(path.read_text())["hooks"]["PreToolUse"]
    assert (entries[0], len(entries)) == ({"hooks": [hook]}, 1 + is_added)
    assert is_hooked(CLAUDE, path)


_BLOCKS = " || exit 2"


@pytest.mark.parametrize(
    ("name", "members", "end", "is_enough"),
    [
        ("cursor", {"failClosed": True}, _BLOCKS, True),
        ("cursor", {}, _BLOCKS, False),
        ("cursor", {"failClosed": False}, _BLOCKS, False),
        ("claude", {"timeout": 600}, _BLOCKS, True),
        ("claude", {"timeout": 10}, _BLOCKS, False),
        ("claude", {"timeout": 59}, _BLOCKS, False),
        ("claude", {"timeout": 60}, _BLOCKS, True),
        ("claude", {"timeout": 10}, f" --timeout 8{_BLOCKS}", False),
        ("claude", {"timeout": 10}, f" --timeout 5{_BLOCKS}", True),
        ("gemini", {"timeout": 600}, _BLOCKS, False),
        ("gemini", {"timeout": 600_000}, _BLOCKS, True),
        ("claude", {"async": True}, _BLOCKS, False),
        ("claude", {"if": "Bash(git *)"}, _BLOCKS, False),
    ],
)
def test_a_hook_that_lets_a_call_run_when_its_time_is_over_is_not_enough(
    name: str, members: dict[str, object], end: str, is_enough: bool, tmp_path: Path
) -> None:
    agent = HOOKED_AGENTS[name]
    path = tmp_path / "settings.json"
    hook = {"command": f"quorum gate --dialect {name}{end}", **members}
    entry = hook if agent.is_flat else {"hooks": [hook]}
    path.write_text(json.dumps({"version": 1, "hooks": {agent.events[0]: [entry]}}))

    assert is_hooked(agent, path) is is_enough
    install(path, name)

    assert len(json.loads(path.read_text())["hooks"][agent.events[0]]) == 2 - is_enough
    assert is_hooked(agent, path)


def test_a_command_that_blocks_beside_one_that_does_not_is_not_enough(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    hooks = [{"command": "quorum gate --dialect claude"}, {"command": "mine || exit 2"}]
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": hooks}]}}))

    assert not is_hooked(CLAUDE, path)


def test_hooks_that_are_switched_off_are_not_taken_for_hooks(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"disableAllHooks": true}')
    install(path)

    assert not is_hooked(CLAUDE, path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1,\n "b" 2}', r"settings\.json:2"),
        ('{"a": 1,\n "hooks": []}', r"settings\.json:2: hooks"),
        ('{"hooks":\n {"PreToolUse": {}}}', r"settings\.json:2: PreToolUse"),
        ('{"hooks": {},\n "hooks": {}}', r"settings\.json:1: hooks"),
        ("[]", "no JSON object"),
    ],
    ids=["no JSON", "list", "event", "twice", "no object"],
)
def test_a_file_that_is_not_understood_is_refused_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text)

    with pytest.raises(ConfigError, match=said):
        install(path)
    assert path.read_text() == text


def test_mode_and_link_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "settings.json"
    real.write_text("{}\n")
    real.chmod(0o640)
    link.symlink_to(real)
    install(link)
    assert is_hooked(CLAUDE, link)
    uninstall(link)

    assert link.is_symlink()
    assert real.read_text() == "{}\n"
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_file_that_changed_meanwhile_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")
    change = plan_installation(CLAUDE, path)
    path.write_text('{"new": 1}')

    with pytest.raises(ConfigError, match="changed meanwhile"):
        write_change(change)
    assert path.read_text() == '{"new": 1}'
    assert os.listdir(tmp_path) == ["settings.json"]


def test_tables_of_kimi_stand_behind_those_of_the_person(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    text = 'model = "x" # keep\n\n[[hooks]]\nevent = "Stop"\ncommand = "mine"'
    path.write_text(text)
    install(path, "kimi")
    events = [hook["event"] for hook in tomllib.loads(path.read_text())["hooks"]]
    assert events == ["Stop", "PreToolUse", "UserPromptSubmit"]

    uninstall(path, "kimi")

    assert path.read_text() == text


def test_hooks_of_kimi_in_another_form_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("a = 1\nhooks = []\n")

    with pytest.raises(ConfigError, match=r"config\.toml:2: hooks"):
        install(path, "kimi")


def test_a_file_of_that_name_with_another_content_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "quorum.js"
    path.write_text("mine")

    with pytest.raises(ConfigError, match="holds something else"):
        install(path, "opencode")
    uninstall(path, "opencode")
    assert path.read_text() == "mine"


def test_a_plugin_with_lines_of_the_person_is_left_and_named(tmp_path: Path) -> None:
    path = tmp_path / "quorum.js"
    install(path, "opencode")
    written = path.read_text()
    first = written.partition("\n")[0]

    for text in (
        f"{written}export const mine = 1\n",
        written.replace("QuorumGate", "Mine"),
        f"{first}\nmine\n",
    ):
        path.write_text(text)
        if written in text:
            install(path, "opencode")
        else:
            with pytest.raises(ConfigError, match="holds something else"):
                install(path, "opencode")
        with pytest.raises(ConfigError, match=r"quorum\.js holds lines that quorum did not write"):
            uninstall(path, "opencode")
        assert path.read_text() == text


def test_the_plugin_of_another_quorum_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "quorum.js"
    install(path, "opencode")
    first, _, body = path.read_text().split("\n", 2)
    path.write_text(f"{first}\n{body}")

    uninstall(path, "opencode")

    assert not path.exists()
