"""`quorum import`: what other agents keep is shown, and taken over once the person says so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from quorum.cli.importing import AGENTS
from quorum.domain.errors import LedgerError
from quorum.errors import UsageError
from quorum.infrastructure.importing import takeover
from quorum.infrastructure.store.sql.copying import WholeSessionWriter
from tests.support.command_line import run_command


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with settings of Claude Code and Codex."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    for name in (
        "XDG_CONFIG_HOME",
        "XDG_STATE_HOME",
        "QUORUM_CONFIG",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "COLUMNS",
    ):
        monkeypatch.delenv(name, raising=False)
    (home / ".codex/rules").mkdir(parents=True)
    (home / ".claude").mkdir()
    rules = {"deny": ["Read(~/private/**)", "Bash(git * main)"], "allow": ["Bash(make lint)", "Bash"]}
    (home / ".claude/settings.json").write_text(json.dumps({"permissions": rules}))
    (home / ".claude.json").write_text(
        json.dumps({"mcpServers": {"gh": {"command": "gh-mcp", "env": {"T": "1"}}}})
    )
    (home / ".codex/rules/a.rules").write_text('prefix_rule(pattern=["rm"], decision="forbidden")\n')
    return home


def _read_texts(home: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in home.rglob("*") if file.is_file()}


def test_what_is_taken_over_is_listed_denials_first(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    before = _read_texts(home)

    assert run_command(["import", "--dry-run"], tmp_path) == 0

    shown = " ".join(capsys.readouterr().out.split())
    assert "Claude Code (read as versions" in shown
    assert shown.index("deny run_command(git *)") < shown.index("allow run_command(make lint)")
    assert "wider: all that begins so" in shown
    assert _read_texts(home) == before


def test_rules_and_servers_are_written_once(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    theirs = _read_texts(home)

    assert run_command(["import", "--yes"], tmp_path) == 0

    saved = tomllib.loads((home / ".config/quorum/permissions.toml").read_text())["rule"]
    assert [next(iter(rule.items())) for rule in saved] == [
        ("deny", f"read_file({home}/private/**)"),
        ("deny", "run_command(git *)"),
        ("deny", "run_command(rm *)"),
        ("allow", "run_command(make lint)"),
    ]
    settings = tomllib.loads((home / ".config/quorum/quorum.toml").read_text())
    assert settings["mcp"]["servers"] == {"gh": {"command": ["gh-mcp"], "pass_env": ["T"]}}
    assert "review" not in settings  # its lists hold no absolute path
    written = _read_texts(home)
    assert {name: written[name] for name in theirs} == theirs

    capsys.readouterr()
    assert run_command(["import", "--yes"], tmp_path) == 0
    assert "nothing is left to take over" in capsys.readouterr().out
    assert _read_texts(home) == written


def test_denied_paths_are_shown_before_they_are_added_to_the_default_lists_of_review(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    rules = {"deny": ["Read(//etc/**)", "Read(secrets/**)", "Write(**/*.lock)"]}
    (home / ".claude/settings.json").write_text(json.dumps({"permissions": rules}))
    file = home / ".config/quorum/quorum.toml"

    assert run_command(["import", "claude", "--dry-run"], tmp_path) == 0
    shown = capsys.readouterr().out
    assert f"review.sensitive in {file} gets secrets\n" in shown
    assert f"review.protected in {file} gets *.lock\n" in shown

    assert run_command(["import", "claude", "--yes"], tmp_path) == 0
    assert "taken over: 3 rules" in capsys.readouterr().out
    review = tomllib.loads(file.read_text())["review"]
    assert review == {"sensitive": ["...", "secrets"], "protected": ["...", "*.lock"]}


def test_paths_are_added_to_a_list_of_the_persons_own(home: Path, tmp_path: Path):
    (home / ".claude/settings.json").write_text(json.dumps({"permissions": {"deny": ["Read(a)", "Read(b)"]}}))
    file = home / ".config/quorum/quorum.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[review]\nsensitive = ["a"]\n')

    run_command(["import", "claude", "--yes"], tmp_path)

    assert tomllib.loads(file.read_text())["review"]["sensitive"] == ["a", "b"]


def test_the_table_is_as_wide_as_the_terminal_also_into_a_pipe(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "80")

    run_command(["import", "claude", "--dry-run", "--no-sessions"], tmp_path)

    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_one_agent_alone_can_be_named(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run_command(["import", "codex", "--yes"], tmp_path) == 0

    assert "Claude Code" not in capsys.readouterr().out
    assert len(tomllib.loads((home / ".config/quorum/permissions.toml").read_text())["rule"]) == 1


def test_nothing_is_written_where_nobody_can_be_asked(home: Path, tmp_path: Path):
    before = _read_texts(home)

    with pytest.raises(UsageError, match="--yes writes without asking"):
        run_command(["import"], tmp_path)

    assert _read_texts(home) == before


def test_a_damaged_file_is_named_and_ends_with_exit_code_1(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (home / ".claude/settings.json").write_text("{")

    assert run_command(["import", "--yes"], tmp_path) == 1

    captured = capsys.readouterr()
    assert f"{home}/.claude/settings.json:1: this is no JSON" in captured.err
    assert "deny run_command(rm *)" in captured.out


def _write_session(home: Path, name: str, text: str) -> None:
    line = {"type": "user", "uuid": name, "timestamp": "2026-11-29T09:55:52Z", "cwd": "/w"}
    file = home / f".claude/projects/-w/{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**line, "message": {"role": "user", "content": text}}) + "\n{damaged\n")


def test_sessions_become_past_sessions_that_verify_and_are_added_once(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    for number in range(3):
        _write_session(home, f"s{number}", f"prompt {number} \ud83d\0")

    assert run_command(["import", "claude", "--yes"], tmp_path) == 1  # a line of each is damaged
    captured = capsys.readouterr()
    assert "3 sessions (quorum sessions list --all)" in captured.out
    assert "3 of 3 sessions (100 %)" in captured.err
    assert "s1.jsonl:2: the line is damaged and is left out" in captured.err

    run_command(["sessions", "list", "--all"], tmp_path)
    listed = capsys.readouterr().out
    assert "prompt 0" in listed
    name = next(line for line in listed.splitlines() if "prompt 1" in line).split()[0]
    assert run_command(["sessions", "verify", name], tmp_path) == 0
    run_command(["sessions", "show", name], tmp_path)
    assert "prompt 1" in capsys.readouterr().out

    _write_session(home, "s3", "a new one")
    run_command(["import", "claude", "--yes"], tmp_path)
    assert " 1 session (" in capsys.readouterr().out


@pytest.mark.long
def test_many_sessions_are_taken_over_by_several_processes(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(takeover, "_FEW_BYTES", 0)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    for number in range(9):
        _write_session(home, f"s{number}", f"prompt {number}")

    run_command(["import", "claude", "--yes"], tmp_path)
    captured = capsys.readouterr()
    assert " 9 sessions (" in captured.out
    assert "9 of 9 sessions (100 %)" in captured.err
    assert captured.err.count("the line is damaged") == 9
    run_command(["import", "claude", "--yes"], tmp_path)
    assert " 0 sessions (" in capsys.readouterr().out

    assert run_command(["sessions", "verify", "--all"], tmp_path) == 0
    assert not (home / ".local/state/quorum/ledger.sqlite-wal").exists()


def _die(_source: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.long
def test_a_killed_process_ends_the_import_which_can_be_begun_again(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(takeover, "_FEW_BYTES", 0)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    _write_session(home, "s0", "prompt")
    with monkeypatch.context() as patched:
        patched.setattr(takeover, "_take_over", _die)
        assert run_command(["import", "claude", "--yes"], tmp_path) == 1
    captured = capsys.readouterr()
    assert "run quorum import again" in captured.err
    assert " 0 sessions (" in captured.out

    run_command(["import", "claude", "--yes"], tmp_path)
    assert " 1 session (" in capsys.readouterr().out


_STARTS_ONE = """
import os, sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from quorum.infrastructure.importing.takeover import end_with_parent

pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=end_with_parent)
print(pool.submit(os.getpid).result(), flush=True)
sys.stdin.read()
"""


@pytest.mark.long
def test_a_process_of_the_import_ends_with_the_one_that_started_it():
    with subprocess.Popen(
        [sys.executable, "-c", _STARTS_ONE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as starter:
        assert starter.stdout is not None
        started = int(starter.stdout.readline())
        starter.kill()
        try:
            starter.communicate(timeout=60)  # until nobody has its output any more
        except subprocess.TimeoutExpired:
            os.kill(started, signal.SIGKILL)
            raise


def test_a_full_disk_is_told_once_for_all_sessions(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def refuse(_writer: object, _session: object) -> bool:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(WholeSessionWriter, "write", refuse)
    for number in range(3):
        _write_session(home, f"s{number}", "prompt")

    assert run_command(["import", "claude", "--yes"], tmp_path) == 1
    captured = capsys.readouterr()
    assert "3 sessions not taken over: the disk is full" in captured.err
    assert captured.err.count("the disk is full") == 1
    assert " 0 sessions (" in captured.out


def test_sessions_are_found_where_there_are_no_settings(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    for file in home.rglob("*.json"):
        file.unlink()
    _write_session(home, "s0", "prompt")

    assert run_command(["import", "claude", "--dry-run"], tmp_path) == 0
    shown = capsys.readouterr().out
    assert "no settings of claude are found" in shown
    assert "nothing of" not in shown
    assert "1 session of" in shown


def test_where_nothing_is_found_the_agents_that_were_looked_for_are_named(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    for name in _read_texts(home):
        Path(name).unlink()

    assert run_command(["import"], tmp_path) == 0
    assert f"nothing of {', '.join(AGENTS)} is found" in capsys.readouterr().out


def test_sessions_can_be_left_where_they_are(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    _write_session(home, "s0", "prompt")

    assert run_command(["import", "claude", "--yes", "--no-sessions"], tmp_path) == 0

    assert " 0 sessions (" in capsys.readouterr().out
    assert not (home / ".local/state/quorum/ledger.sqlite").exists()
