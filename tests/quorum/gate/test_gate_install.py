"""`quorum gate install` shows what it would write, and writes it only after a yes."""

from __future__ import annotations

import json
import tomllib
from hashlib import sha256
from pathlib import Path

import pytest

from quorum.__main__ import main


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, and a project in which the command runs."""
    for name in (
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "COPILOT_HOME",
        "KIMI_CODE_HOME",
        "VIBE_HOME",
        "XDG_CONFIG_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "home"
    folder.mkdir()
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(project)
    return folder


def run(*words: str) -> int:
    try:
        main(["gate", *words])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_without_a_terminal_and_without_yes_the_change_is_shown_and_refused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("install", "claude") == 2

    shown = capsys.readouterr()
    assert '+            "command": "quorum gate --dialect claude || {' in shown.out
    assert "--yes" in shown.err
    assert not (home / ".claude").exists()


def test_hooks_are_written_and_taken_back(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / ".claude/settings.json"
    assert run("install", "claude", "--yes") == 0
    assert path.exists()
    assert run("install", "claude") == 0  # nothing is left to ask about
    assert "are there" in capsys.readouterr().out

    assert run("uninstall", "claude", "--yes") == 0

    assert not path.exists()


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("cursor", ".cursor/hooks.json"),
        ("vibe", ".vibe/hooks.toml"),
        ("opencode", ".config/opencode/plugin/quorum.js"),
        ("copilot", ".copilot/hooks/quorum.json"),
    ],
)
def test_a_file_that_only_the_hooks_need_is_made_and_removed(
    home: Path, agent: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("install", agent, "--yes") == 0
    assert f"quorum gate --dialect {agent}" in (home / name).read_text() or agent == "opencode"
    run("status")
    assert f"{agent} " in (shown := capsys.readouterr().out)
    assert any(line.startswith(agent) and "  yes  " in line for line in shown.splitlines())

    assert run("uninstall", agent, "--yes") == 0

    assert not (home / name).exists()


def test_hooks_of_cursor_block_where_they_fail_and_leave_others_alone(home: Path) -> None:
    path = home / ".cursor/hooks.json"
    path.parent.mkdir()
    other = {"version": 1, "hooks": {"preToolUse": [{"command": "./mine.sh", "matcher": "Shell"}]}}
    path.write_text(json.dumps(other))

    assert run("install", "cursor", "--yes") == 0
    mine, ours = json.loads(path.read_text())["hooks"]["preToolUse"]

    assert (mine, ours["failClosed"]) == (other["hooks"]["preToolUse"][0], True)  # type: ignore[index]
    assert run("uninstall", "cursor", "--yes") == 0
    assert json.loads(path.read_text()) == other


def test_hooks_of_vibe_block_where_they_fail(home: Path) -> None:
    run("install", "vibe", "--yes")

    (hook,) = tomllib.loads((home / ".vibe/hooks.toml").read_text())["hooks"]
    assert (hook["type"], hook["strict"], "match" in hook) == ("pre_tool", True, False)


def test_the_plugin_of_another_quorum_is_replaced_and_what_another_wrote_is_not(home: Path) -> None:
    run("install", "opencode", "--yes")
    (path,) = home.rglob("quorum.js")
    written = path.read_text()
    older = "export const Older = 1\n"
    digest = sha256(older.encode()).hexdigest()
    path.write_text(f"{written.partition(chr(10))[0]}\n// {digest} is the SHA-256 of the lines below\n{older}")

    assert run("install", "opencode", "--yes") == 0
    assert path.read_text() == written
    path.write_text("export const Mine = 1\n")
    assert run("install", "opencode", "--yes") == 2
    assert run("uninstall", "opencode", "--yes") == 0
    assert path.read_text() == "export const Mine = 1\n"


def test_hooks_of_a_project_are_written_there(home: Path) -> None:
    assert run("install", "qwen", "--project", "--yes") == 0

    assert (Path.cwd() / ".qwen/settings.json").exists()
    assert list(home.iterdir()) == []
    assert run("install", "kimi", "--project", "--yes") == 2  # it has none for projects


def test_settings_that_cannot_be_read_are_refused_with_their_place(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text("{\n  oops\n}")

    assert run("install", "gemini", "--yes") == 2

    assert "settings.json:2" in capsys.readouterr().err


def test_the_status_names_each_agent_and_whether_it_asks(capsys: pytest.CaptureFixture[str]) -> None:
    run("install", "claude", "--yes")
    run("install", "codex", "--yes")
    capsys.readouterr()

    assert run("status") == 0

    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "  yes  " in rows["claude"]
    assert "if trusted" in rows["codex"]
    assert "  no  " in rows["opencode"]
    assert "not found" in rows["kimi"]
