"""The completion in real shells. Those that are not installed are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pexpect
import pytest

BIN = Path(sys.executable).parent
TAB = "\t"


def shell(name: str) -> str:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed; apt-get install {name} brings it")
    return program


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    config = tmp_path / "config" / "quorum"
    config.mkdir(parents=True)
    (config / "quorum.toml").write_text('[models]\ndecision = "ollama/llama3:8b"\n', encoding="utf-8")
    return {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }


def run_in(name: str, script: str, environ: Mapping[str, str], cwd: Path, *options: str) -> list[str]:
    ended = subprocess.run(
        [shell(name), *options, "-c", script],
        env=environ,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.splitlines()


def bash_offers(line: str, environ: Mapping[str, str], cwd: Path, kind: int = 9) -> list[str]:
    script = (
        'eval "$(quorum completion bash)"; compopt() { echo "option ${@: -1}"; }; COMP_LINE=$LINE; '
        'COMP_POINT=${#LINE}; COMP_TYPE=$KIND; _quorum_complete quorum; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return run_in("bash", script, {**environ, "LINE": line, "KIND": str(kind)}, cwd, "--norc", "--noprofile")


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("quorum sess", ["sessions"]),
        ("quorum -m ollama/llama3:", ["8b"]),
        ("quorum --mode=re", ["read-only"]),
        ("quorum -C ", ["option dirnames", ""]),
        ("quorum --config ", ["option default", ""]),
        ("quorum nothing such", [""]),
    ],
)
def test_bash_completes(line: str, offered: list[str], environ: dict[str, str], tmp_path: Path) -> None:
    assert bash_offers(line, environ, tmp_path) == offered


@pytest.mark.long
def test_bash_shows_meanings_in_the_list_and_inserts_none(environ: dict[str, str], tmp_path: Path) -> None:
    assert "show  (Print what happened in a session; long outputs are shortened.)" in bash_offers(
        "quorum sessions ", environ, tmp_path, kind=63
    )
    assert "show" in bash_offers("quorum sessions ", environ, tmp_path)
    assert bash_offers("quorum sessions sh", environ, tmp_path, kind=63) == ["show"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        (
            "quorum sess",
            ["sessions\tList, show, diff, export, fork, verify, anchor, delete or resume sessions."],
        ),
        ("quorum --mode re", ["read-only"]),
        ("quorum -m ollama/", ["ollama/llama3:8b"]),
        ("quorum -C con", ["config/"]),
        (
            "echo x; quorum sess",
            ["sessions\tList, show, diff, export, fork, verify, anchor, delete or resume sessions."],
        ),
    ],
)
def test_fish_completes(line: str, offered: list[str], environ: dict[str, str], tmp_path: Path) -> None:
    script = "quorum completion fish | source; complete -C $LINE"

    found = run_in("fish", script, {**environ, "LINE": line}, tmp_path, "--no-config")

    assert [each.replace("\tDirectory", "") for each in found] == offered


@pytest.mark.long
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("quorum sess", "quorum sessions "),
        ("quorum -m ollama/", "quorum -m ollama/llama3:8b "),
        ("quorum --mode=re", "quorum --mode=read-only "),
    ],
)
@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_tab_completes_at_a_real_prompt(
    name: str, typed: str, completed: str, environ: dict[str, str], tmp_path: Path
) -> None:
    options = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}[name]
    prepare = {"bash": "bind 'set enable-bracketed-paste off'", "zsh": "autoload -U compinit; compinit -u -D"}[
        name
    ]
    terminal = pexpect.spawn(
        shell(name), options, env=environ, cwd=str(tmp_path), timeout=60, encoding="utf-8", dimensions=(24, 200)
    )
    try:
        terminal.sendline(
            f'PS1="ready> "; {prepare}; eval "$(quorum completion {name})"; printf "%s\\n" go-""on'
        )
        terminal.expect_exact("go-on")
        terminal.expect_exact("ready> ")
        terminal.send(f"{typed}{TAB}end\x01printf 'got [%s]' '\x05'\r")

        terminal.expect_exact(f"got [{completed}end]")
    finally:
        terminal.close(force=True)
