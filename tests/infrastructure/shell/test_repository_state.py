"""State in a repository's folder that leads elsewhere, with the real git."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

from quorum.infrastructure.execution.shell.gate import READ_ONLY_ENVIRONMENT
from tests.infrastructure.shell.repository_bench import git, run_as_judged
from tests.support.shell_gates import judge

if shutil.which("git") is None:
    pytest.skip("git is not installed here", allow_module_level=True)

LOOKING = [
    "git status",
    "git log --oneline",
    "git branch -a",
    "git worktree list",
    "git stash list",
    "git diff",
]
_DIGITS = "0123456789" * 4  # as old tokens have them
# What must be there as well for git to show it.
_WITH = {
    "rebase-merge": ("head-name", "onto"),
    "rebase-apply": ("head-name", "onto"),
    "worktrees": ("HEAD", "commondir"),
}


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text("refs/heads/the-secret\n")
    return file


@pytest.mark.parametrize(
    ("link", "command"),
    [
        ("rebase-merge/head-name", "git status"),
        ("rebase-merge/onto", "git status"),
        ("rebase-apply/head-name", "git status"),
        ("BISECT_START", "git status"),
        ("worktrees/x/gitdir", "git worktree list"),
    ],
)
async def test_state_that_git_would_read_elsewhere_is_asked_about(
    link: str, command: str, repository: Path, secret: Path
) -> None:
    place = repository / ".git" / link
    place.parent.mkdir(parents=True, exist_ok=True)
    usual = {
        "head-name": "refs/heads/x\n",
        "onto": "x\n",
        "HEAD": "ref: refs/heads/x\n",
        "commondir": "../..\n",
    }
    for name in _WITH.get(link.split("/")[0], ()):
        (place.parent / name).write_text(usual[name])
    if link == "BISECT_START":
        (repository / ".git" / "BISECT_LOG").touch()
    place.unlink(missing_ok=True)
    place.symlink_to(secret)

    verdict = await judge(command, repository)

    assert "the-secret" in run_as_judged(command, repository, READ_ONLY_ENVIRONMENT).stdout
    assert not verdict.is_read_only
    assert link in verdict.reason


@pytest.mark.long(after=7)
@pytest.mark.parametrize("command", LOOKING)
@pytest.mark.parametrize(
    "link",
    [
        *("HEAD", "index", "config", "packed-refs", "refs/heads/x", "logs/HEAD", "info/exclude", "MERGE_HEAD"),
        *("objects/aa/x", "objects/pack/x.pack", "objects/info/commit-graph", "worktrees", "sequencer"),
    ],
)
async def test_no_link_in_the_folder_of_a_repository_is_followed_unasked(
    link: str, command: str, repository: Path, secret: Path
) -> None:
    place = repository / ".git" / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(secret)

    verdict = await judge(command, repository)

    assert not verdict.is_read_only


@pytest.mark.parametrize("place", ["rebase-merge/head-name", "refs/heads/x", "objects/aa/x", "MERGE_HEAD"])
async def test_pipes_are_asked_about(place: str, repository: Path) -> None:
    (repository / ".git" / place).parent.mkdir(exist_ok=True)
    os.mkfifo(repository / ".git" / place)

    verdict = await judge("git status", repository)

    assert not verdict.is_read_only
    assert "not a regular file" in verdict.reason


async def test_alternates_are_asked_about_by_every_command(repository: Path, tmp_path: Path) -> None:
    (repository / ".git" / "objects" / "info" / "alternates").write_text(f"{tmp_path}\n")

    verdicts = [await judge(command, repository) for command in LOOKING]

    assert all("alternates" in verdict.reason for verdict in verdicts)


async def test_a_repository_elsewhere_is_not_shown_by_any_command(repository: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    (trap / ".git").write_text(f"gitdir: {repository / '.git'}\n")

    verdicts = [await judge(command, trap) for command in LOOKING]

    assert "another line" in run_as_judged("git log --oneline", trap, READ_ONLY_ENVIRONMENT).stdout
    assert not any(verdict.is_read_only for verdict in verdicts)


async def test_what_git_does_not_read_may_be_linked(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(repository / ".git" / "hooks")
    (repository / ".git" / "hooks").symlink_to("../hooks")
    (repository / ".git" / "lfs").mkdir()
    (repository / ".git" / "lfs" / "objects").symlink_to(tmp_path)
    with socket.socket(socket.AF_UNIX) as monitor:
        monkeypatch.chdir(repository / ".git")
        monitor.bind("fsmonitor--daemon.ipc")

    verdict = await judge("git status && git log -1 -p", repository)

    assert verdict.is_read_only, verdict.reason


@pytest.mark.parametrize("folder", ["hooks", "modules", "lfs", "annex"])
async def test_a_revision_that_is_called_like_a_linked_file_is_asked_about(
    folder: str, repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text(f"{_DIGITS}\n")
    (repository / ".git" / folder).mkdir(exist_ok=True)
    (repository / ".git" / folder / "x").symlink_to(tmp_path / "secret")

    verdict = await judge(f"git rev-parse {folder}/x", repository)
    other = await judge("git rev-parse HEAD", repository)

    printed = run_as_judged(f"git rev-parse {folder}/x", repository, READ_ONLY_ENVIRONMENT).stdout
    assert printed.strip() == _DIGITS
    assert not verdict.is_read_only
    assert other.is_read_only, other.reason


async def test_another_working_tree_does_not_lead_to_another_repository(
    repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere" / "refs").mkdir(parents=True)
    (tmp_path / "elsewhere" / "refs" / "secret").write_text(f"{_DIGITS}\n")
    tree = repository / ".git" / "worktrees" / "x"
    tree.mkdir(parents=True)
    (tree / "gitdir").write_text(f"{tmp_path / 'x' / '.git'}\n")
    (tree / "HEAD").write_text("ref: refs/secret\n")
    (tree / "commondir").write_text(f"{tmp_path / 'elsewhere'}\n")

    verdict = await judge("git worktree list --porcelain", repository)
    plain = await judge("git worktree list", repository)

    printed = run_as_judged("git worktree list --porcelain", repository, READ_ONLY_ENVIRONMENT).stdout
    assert _DIGITS in printed
    assert not verdict.is_read_only
    assert "commondir" in plain.reason


async def test_a_rebase_that_is_really_going_on_is_shown(repository: Path) -> None:
    git(repository, "stash")
    git(repository, "-c", "sequence.editor=sed -i s/pick/edit/", "rebase", "-q", "-i", "HEAD~1")

    verdict = await judge("git status", repository)

    assert "rebas" in run_as_judged("git status", repository, verdict.environment).stdout
    assert verdict.is_read_only, verdict.reason


@pytest.mark.parametrize(
    ("value", "harmless"),
    [
        ("-version:refname", True),
        ("creatordate", True),
        ("-committerdate", True),
        ("signature", False),
        ("-*signature:key", False),
        ('"refname"', False),
        ("describe", False),
    ],
)
async def test_tags_sorted_by_what_another_program_computes_are_asked_about(
    value: str, harmless: bool, repository: Path
) -> None:
    with (repository / ".git" / "config").open("a") as config:
        config.write(f"[tag]\n\tsort = {value}\n")

    verdict = await judge("git tag -l", repository)

    assert verdict.is_read_only is harmless
