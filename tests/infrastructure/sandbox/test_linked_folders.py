"""Links of a worktree to ignored folders of the main working tree: read through the sandbox, and never more."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from quorum.infrastructure.git_worktrees import FolderLinks
from tests.infrastructure.sandbox.sandbox_bench import Household, a_repository, git, needs_bubblewrap

pytestmark = needs_bubblewrap


@pytest.fixture
def main(household: Household) -> Path:
    """The main working tree, with ignored folders; the household works in a worktree of it, elsewhere."""
    main = household.root
    a_repository(main)
    (main / ".gitignore").write_text(".venv/\nnode_modules/\n.env\nlocal/\n")
    git(main, "add", "-A")
    git(main, "commit", "--quiet", "--message", "ignore")
    for name in (".venv/bin", "node_modules/pkg", "local"):
        (main / name).mkdir(parents=True)
    (main / ".venv/bin/tool").write_text("#!/bin/sh\necho ran\n")
    (main / ".venv/bin/tool").chmod(0o755)
    (main / ".env").write_text("secret\n")
    (main / "local/.env").write_text("secret\n")
    household.root = household.home / "places/fix"
    git(main, "worktree", "add", "--quiet", str(household.root))
    return main


def link(household: Household, *names: str) -> list[str]:
    """Have the settings name these links, and make them; what is said of those that cannot be made."""
    household.links = list(names)
    return list(FolderLinks(str(household.root), household.environ, household.policy()).make(names))


async def test_a_linked_folder_is_read_and_run_and_not_written(household: Household, main: Path) -> None:
    assert link(household, ".venv", "node_modules") == []

    output = await household.run(".venv/bin/tool; ls node_modules; touch .venv/x; rm .venv/bin/tool")

    assert output.startswith("ran\npkg\n")
    assert output.count("Read-only file system") == 2
    assert (main / ".venv/bin/tool").exists()
    assert "?? " not in await household.run("git status --short")
    assert link(household, ".venv", "node_modules") == []


def test_a_worktree_that_is_removed_takes_its_links_and_nothing_of_the_folders(
    household: Household, main: Path
) -> None:
    assert link(household, ".venv", "node_modules") == []

    git(main, "worktree", "remove", "--force", str(household.root))

    assert not household.root.exists()
    assert (main / ".venv/bin/tool").exists()
    assert (main / "node_modules/pkg").exists()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (".env", "it is no folder"),
        ("../project/.venv", "leads out of the repository"),
        ("local/../../../.ssh", "leads out of the repository"),
        ("/etc", "must be a path from the top of the repository"),
        ("~/.ssh", "must be a path from the top of the repository"),
        ("", "cannot be linked"),
        (".", "cannot be linked"),
        ("./.venv", "cannot be linked"),
        (".venv/", "cannot be linked"),
        ("*", "cannot be linked"),
        (".venv\n!.env", "cannot be linked"),
        (".git", "cannot be linked"),
        ("GIT~1/hooks", "cannot be linked"),
        ("none", "it is not there"),
        ("chain", "reached through a link"),
        ("deep/inner", "reached through a link"),
        (".ssh", "it is sensitive"),
        (".claude", "it is protected"),
        ("unignored", "git does not ignore it"),
    ],
)
def test_what_could_lead_elsewhere_is_refused(household: Household, main: Path, name: str, why: str) -> None:
    household.write(".ssh/id")
    (main / "chain").symlink_to(household.home / ".ssh")
    (main / "deep").symlink_to(household.home)
    for folder in (".ssh", ".claude", "unignored"):
        (main / folder).mkdir()
    with (main / ".git/info/exclude").open("a") as file:
        file.write("chain\ndeep\n.ssh\n.claude\n")

    (said,) = link(household, name)

    assert why in said
    assert sorted(os.listdir(household.root)) == [".git", ".gitignore", "a.txt"]


async def test_sensitive_files_in_a_linked_folder_stay_closed(household: Household, main: Path) -> None:
    assert link(household, "local") == []

    output = await household.run(f"cat local/.env; cat {main}/local/.env; cat {main}/.env; ls {main}/.venv")

    assert "secret" not in output
    assert output.count("No such file or directory") == 2


async def test_a_link_that_a_command_turns_elsewhere_opens_nothing(household: Household, main: Path) -> None:
    household.write(".ssh/id")
    assert link(household, ".venv") == []

    await household.run(f"rm .venv; ln -s {household.home}/.ssh .venv; ln -s {main}/local node_modules")

    assert "secret" not in await household.run("cat .venv/id; cat node_modules/.env")
    assert link(household, ".venv") == [".venv is not linked: something else leads to it here"]


async def test_a_folder_that_became_a_link_in_the_main_working_tree_opens_nothing(
    household: Household, main: Path
) -> None:
    household.write("private/id")
    assert link(household, "local") == []
    (main / "local/.env").unlink()
    (main / "local").rmdir()
    (main / "local").symlink_to(household.home / "private")

    assert "secret" not in await household.run(f"cat local/id; cat {main}/local/id")


async def test_a_folder_that_names_a_repository_which_does_not_know_it_gets_nothing(
    household: Household, main: Path
) -> None:
    household.links = [".venv"]
    other = household.home / "other"
    other.mkdir()
    (other / ".git").write_text((household.root / ".git").read_text())
    household.root = other

    assert "ran" not in await household.run(f"{main}/.venv/bin/tool")


def test_nothing_is_written_where_the_list_of_ignored_files_is_a_link(household: Household, main: Path) -> None:
    aim = household.write("aim", "kept\n")
    exclude = main / ".git/info/exclude"
    exclude.unlink()
    exclude.symlink_to(aim)

    (said,) = link(household, ".venv")

    assert said.startswith(".venv is not linked: ")
    assert aim.read_text() == "kept\n"


def test_what_is_missing_is_named_without_caches(household: Household, main: Path) -> None:
    for name in (".pytest_cache", "dist"):
        (main / name).mkdir()
        (main / name / "file").write_text("")
    with (main / ".git/info/exclude").open("a") as file:
        file.write(".pytest_cache\ndist\nnotes.txt\n")
    (main / "notes.txt").write_text("")
    links = FolderLinks(str(household.root), household.environ, household.policy())

    said = links.describe_missing()

    assert said.startswith("this worktree lacks what git ignores: .env, .venv, dist, local")
    assert "cache" not in said
    assert "notes" not in said
    assert 'in quorum.toml, below [worktrees], links = [".venv", "node_modules"] links' in said
    assert said.endswith('setup = "COMMAND" makes what is needed')


def test_links_are_proposed_for_what_installers_bring_and_not_where_a_link_would_be_refused(
    household: Household, main: Path
) -> None:
    for name in ("target", "dist"):
        (main / name).mkdir()
        (main / name / "file").write_text("")
    (main / "vendor").symlink_to(main / "node_modules")
    with (main / ".git/info/exclude").open("a") as file:
        file.write("target\ndist\nvendor\n")
    links = FolderLinks(str(household.root), household.environ, household.policy())

    _, _, proposed = links.describe_missing().partition("links = ")
    names = json.loads(proposed[: proposed.index("]") + 1])

    assert names == [".venv", "node_modules"]
    assert list(links.make(names)) == []
