"""Files that a command reads without being given their names: by rules to ignore files, and tokens of git."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.shell_gates import judge

TOKEN = "https://x:tok-123@example.org/a.git"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    root = Path(os.path.realpath(tmp_path)) / "workspace"
    for folder in (home, root / "src"):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (root / ".env").write_text("KEY=secret\n")
    (root / "src" / "a").write_text("text\n")
    return root


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def printed_by_ripgrep(folder: Path) -> str:
    program = shutil.which("rg")
    if program is None:
        pytest.skip("ripgrep is not installed here")
    done = subprocess.run(
        [program, "--no-config", "KEY"], cwd=folder, capture_output=True, timeout=30, check=False
    )
    return done.stdout.decode()


def git_file(workspace: Path, common: str) -> None:
    """A `.git` that is a file, with the folder and the shared folder it leads to."""
    write(workspace / ".git", f"gitdir: {workspace}/inner/one\n")
    write(workspace / "inner" / "one" / "commondir", common)
    write(workspace / "inner" / "shared" / "info" / "exclude", "!.env\n")


async def test_a_search_without_rules_leaves_hidden_files_out(workspace: Path) -> None:
    assert (await judge("rg KEY", workspace)).is_read_only
    assert "secret" not in printed_by_ripgrep(workspace)


@pytest.mark.parametrize("common", ["../shared\n", "{workspace}/inner/shared\n"])
async def test_rules_behind_a_git_file_are_heeded(workspace: Path, common: str) -> None:
    git_file(workspace, common.format(workspace=workspace))

    assert "secret" in printed_by_ripgrep(workspace)
    assert not (await judge("rg KEY", workspace)).is_read_only
    assert not (await judge("rg text src ; rg KEY .", workspace)).is_read_only


async def test_a_git_file_with_a_relative_path_may_lead_to_any_rules(workspace: Path) -> None:
    write(workspace / ".git", "gitdir: inner/one\n")

    assert not (await judge("rg KEY", workspace)).is_read_only


async def test_a_linked_working_tree_without_such_rules_is_searched_unasked(workspace: Path) -> None:
    git_file(workspace, "../shared\n")
    write(workspace / "inner" / "shared" / "info" / "exclude", "# nothing\n*.log\n")

    assert (await judge("rg KEY", workspace)).is_read_only
    assert "secret" not in printed_by_ripgrep(workspace)


@pytest.mark.parametrize("name", [".gitignore", ".ignore", ".rgignore", ".git/info/exclude"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
async def test_a_rule_behind_a_byte_order_mark_is_heeded(workspace: Path, name: str, mark: str) -> None:
    write(workspace / name, f"{mark}!.env\n")

    assert not (await judge("rg KEY", workspace)).is_read_only


@pytest.mark.parametrize("settings", [".gitconfig", ".config/git/config"])
async def test_the_persons_own_ignore_file_is_heeded(workspace: Path, settings: str) -> None:
    home = workspace.parent / "home"
    write(home / settings, "[core]\n\texcludesFile = ~/mine\n")
    write(home / "mine", "!.env\n")

    assert not (await judge("rg KEY", workspace)).is_read_only


async def test_the_persons_default_ignore_file_is_heeded(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(workspace.parent / "xdg" / "git" / "ignore", "!.env\n")
    before = await judge("rg KEY", workspace)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(workspace.parent / "xdg"))

    assert before.is_read_only
    assert not (await judge("rg KEY", workspace)).is_read_only


@pytest.mark.parametrize(
    "command",
    [
        "cat .git/config",
        "head -5 .git/CONFIG",
        "grep url .git/config",
        "grep -r url .git/config",
        "rg url .git/config",
        "cd .git && cat config",
        "cat < .git/config",
        "cat .git/config.worktree",
        "cat .git/config~",
        "cat .git/modules/a/b/config",
        "cat .git/worktrees/w/config.worktree",
        "cat .git/credentials",
        "cat mirror.git/config",
        "cat bare/config",
        "cat linked/config",
        "cat looks_harmless",
        "cat .gitconfig",
        "cat .config/git/config",
        "diff .git/config src/a",
        "jq -R . .git/config",
    ],
)
async def test_settings_of_git_are_not_shown_unasked(workspace: Path, command: str) -> None:
    for name in (".git", "mirror.git", "bare", ".git/modules/a/b", ".config/git"):
        write(workspace / name / "config", "[core]\n\tbare = true\n")
    write(workspace / ".git" / "CONFIG", "[core]\n\tbare = true\n")
    for name in (".git/config.worktree", ".git/config~", ".git/credentials", ".gitconfig"):
        write(workspace / name, TOKEN)
    write(workspace / ".git/worktrees/w/config.worktree", TOKEN)
    write(workspace / "bare" / "HEAD", "ref: refs/heads/main\n")
    (workspace / "bare" / "objects").mkdir()
    (workspace / "linked").symlink_to(".git")
    (workspace / "looks_harmless").symlink_to(".git/config")

    verdict = await judge(command, workspace)

    assert not verdict.is_read_only


SETTINGS = '[core]\n\tbare = false\n[remote "origin"]\n\turl = {url}\n'


@pytest.mark.parametrize(
    "settings",
    [
        SETTINGS.format(url=TOKEN),
        SETTINGS.format(url="https://ghp_123@github.com/a/b"),
        SETTINGS.format(url="ssh://me:word@example.org/a"),
        SETTINGS.format(url="https://example.org/a?private_token=1"),
        "[http]\n\textraheader = AUTHORIZATION: basic 123\n",
        '[url "https://tok@example.org/"]\n\tinsteadOf = x:\n',
        "[sendemail]\n\tsmtppass = 123\n",
        "no settings at all",
    ],
)
async def test_a_search_that_would_show_a_token_of_git_is_asked_about(workspace: Path, settings: str) -> None:
    (workspace / ".env").unlink()
    write(workspace / ".git" / "config", settings)
    write(workspace / ".git" / "modules" / "a" / "config", SETTINGS.format(url="https://example.org/a"))

    verdict = await judge("grep -rn url .", workspace)

    assert not verdict.is_read_only
    assert "a token may stand" in verdict.reason
    assert not (await judge("rg --hidden url", workspace)).is_read_only
    assert (await judge("grep -rn url src", workspace)).is_read_only
    assert (await judge("grep -rn --include='*.py' url .", workspace)).is_read_only


@pytest.mark.parametrize(
    "url", ["https://example.org/a.git", "git@github.com:a/b.git", "ssh://git@github.com/a/b", "../elsewhere"]
)
async def test_a_search_through_an_ordinary_clone_is_not_asked_about(workspace: Path, url: str) -> None:
    (workspace / ".env").unlink()
    write(workspace / ".git" / "config", SETTINGS.format(url=url))

    assert (await judge("grep -rn url .", workspace)).is_read_only


async def test_a_file_called_config_that_is_not_gits_is_read_unasked(workspace: Path) -> None:
    write(workspace / "src" / "config", TOKEN)

    assert (await judge("cat src/config; grep -rn x src", workspace)).is_read_only


@pytest.fixture
def repository(workspace: Path) -> Path:
    if shutil.which("git") is None:
        pytest.skip("git is not installed here")
    subprocess.run(["git", "init", "-q", str(workspace)], check=True, timeout=60)
    subprocess.run(
        ["git", "remote", "add", "origin", "https://example.org/a"], cwd=workspace, check=True, timeout=60
    )
    return workspace


async def test_addresses_of_remotes_are_shown_unasked_where_no_token_stands_in_them(repository: Path) -> None:
    write(repository.parent / "home" / ".gitconfig", "[user]\n\tname = N\n")

    assert (await judge("git remote -v", repository)).is_read_only


@pytest.mark.parametrize("option", ["-v", "--verbose"])
async def test_addresses_of_remotes_that_hold_a_token_are_not_shown_unasked(
    repository: Path, option: str
) -> None:
    settings = repository / ".git" / "config"
    settings.write_text(settings.read_text().replace("https://example.org/a", TOKEN))

    verdict = await judge(f"git remote {option}", repository)

    assert not verdict.is_read_only
    assert "git may show a token" in verdict.reason
    assert (await judge("git remote", repository)).is_read_only


@pytest.mark.parametrize(
    "settings",
    ['[url "https://tok@example.org/"]\n\tinsteadOf = https://example.org/\n', "[include]\n\tpath = more\n"],
)
async def test_addresses_that_the_persons_settings_may_rewrite_are_not_shown_unasked(
    repository: Path, settings: str
) -> None:
    write(repository.parent / "home" / ".gitconfig", settings)

    assert not (await judge("git remote -v", repository)).is_read_only


@pytest.mark.parametrize("command", ["cat notes.txt", "grep x notes.txt", "grep -rn x sub", "cat sub/*"])
async def test_a_second_name_of_a_sensitive_file_is_asked_about(tmp_path: Path, command: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".env").write_text("x\n")
    for name in ("notes.txt", "sub/notes.txt"):
        os.link(tmp_path / ".env", tmp_path / name)

    verdict = await judge(command, tmp_path)

    assert not verdict.is_read_only
    assert ".env" in verdict.reason


async def test_a_file_with_two_harmless_names_is_read_unasked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    os.link(tmp_path / "a.txt", tmp_path / "b.txt")

    assert (await judge("cat a.txt", tmp_path)).is_read_only
