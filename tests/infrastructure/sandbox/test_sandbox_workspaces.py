from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from quorum.domain.calls.summary import extract_text
from quorum.infrastructure.execution.sandbox import sandbox
from quorum.infrastructure.execution.sandbox.places import expand_path
from tests.infrastructure.commands.command_bench import RecordingControls, context_with
from tests.infrastructure.sandbox.sandbox_bench import Household, a_repository, git, needs_bubblewrap

pytestmark = needs_bubblewrap

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed here")


async def test_a_workspace_named_by_a_link_can_be_worked_in(household: Household, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(household.root)
    real, household.root = household.root, link

    assert await household.run("echo made > file; pwd") == f"{real}\nexit code 0"

    assert (real / "file").read_text() == "made\n"


async def test_each_of_several_roots_is_writable(household: Household, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    household.more_roots = [other]
    (other / ".env").write_text("secret")

    output = await household.run(f"touch here {other}/there; cat {other}/.env")

    assert "Permission denied" in output
    assert (household.root / "here").exists()
    assert (other / "there").exists()


async def test_a_folder_of_the_workspace_can_be_the_working_directory(household: Household) -> None:
    (household.root / "sub").mkdir()

    assert await household.run("cd sub && pwd") == f"{household.root}/sub\nexit code 0"


async def test_paths_with_odd_names_are_covered(household: Household) -> None:
    household.root = household.home / "a b\n'\"--é"
    household.root.mkdir()
    household.write(f"{household.root.name}/.env")

    output = await household.run("cat .env; touch made")

    assert "secret" not in output
    assert (household.root / "made").exists()


async def test_python_and_its_tests_run(household: Household) -> None:
    household.write(
        "src/project/test_it.py",
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 1)\n",
    )

    output = await household.run(f"{sys.executable} -m unittest -q")

    assert "OK" in output
    assert output.endswith("exit code 0")


async def test_what_the_person_opens_is_open(household: Household) -> None:
    household.write(".cache/models/weights", "numbers\n")
    (household.home / "cache").mkdir()
    household.readable, household.writable = ["~/.cache/models"], [str(household.home / "cache")]

    output = await household.run(
        "cat ~/.cache/models/weights; touch ~/.cache/models/x; echo kept > ~/cache/file"
    )

    assert output.startswith("numbers\n")
    assert "Read-only file system" in output
    assert (household.home / "cache/file").read_text() == "kept\n"


async def test_our_own_folders_cannot_be_opened(household: Household) -> None:
    own = household.write(".config/quorum/quorum.toml").parent
    household.own = [own]
    household.readable, household.writable = [str(own), "~/.config"], [str(own)]

    assert "secret" not in await household.run("cat ~/.config/quorum/quorum.toml")


@needs_git
async def test_git_tells_the_state_of_a_repository(household: Household) -> None:
    a_repository(household.root)

    assert await household.run("echo b > a.txt; git status --short; git log --format=%s") == (
        " M a.txt\nfirst\nexit code 0"
    )


@needs_git
async def test_a_commit_is_refused_with_the_remedy(household: Household) -> None:
    a_repository(household.root)

    output = await household.run("git commit --allow-empty -m second")

    assert "Read-only file system" in output
    assert "call run_command again with opens_git = true" in output.split("\n")[-1]


@needs_git
async def test_with_git_opened_a_commit_works_and_what_git_runs_stays_closed(household: Household) -> None:
    a_repository(household.root)
    household.writable = [".git"]

    output = await household.run(
        "git commit --quiet --allow-empty -m second; git log --format=%s;"
        "git config core.fsmonitor evil; echo evil > .git/hooks/pre-commit; mv .git elsewhere"
    )

    assert output.startswith("second\nfirst\n")
    assert "evil" not in (household.root / ".git/config").read_text()
    assert not (household.root / ".git/hooks/pre-commit").exists()
    assert not (household.root / "elsewhere").exists()


@needs_git
async def test_git_works_in_a_folder_below_the_top_of_its_repository(household: Household) -> None:
    top = household.root
    a_repository(top)
    household.root = top / "sub"
    household.root.mkdir()
    (top / ".env").write_text("secret")

    output = await household.run(
        "git log --format=%s; git status --short; cat ../.env; touch ../new ../.git/new"
    )

    assert output.startswith("first\n")
    assert "secret" not in output
    assert sorted(path.name for path in top.iterdir()) == [".env", ".git", "a.txt", "sub"]


@needs_git
async def test_git_works_in_a_worktree_whose_repository_is_elsewhere(household: Household) -> None:
    main = household.home / "main"
    a_repository(main)
    household.root.rmdir()
    git(main, "worktree", "add", "--quiet", str(household.root))

    output = await household.run(
        f"git log --format=%s; git status --short; touch {main}/.git/new; cat {main}/a.txt"
    )

    assert output.startswith("first\n")
    assert "Read-only file system" in output
    assert "No such file" in output  # of the other worktree nothing is seen


async def test_a_git_file_opens_no_folder_that_is_no_repository(household: Household) -> None:
    household.write(".ssh/HEAD")
    household.write("x.git/HEAD")
    for named in (".ssh", "x.git"):
        (household.root / ".git").write_text(f"gitdir: {household.home / named}\n")

        assert "secret" not in await household.run(f"cat ~/{named}/HEAD")


@needs_git
async def test_a_git_file_opens_no_repository_that_does_not_know_it(household: Household) -> None:
    private = household.home / "private"
    a_repository(private)
    (household.root / ".git").write_text(f"gitdir: {private}/.git\n")

    output = await household.run(f"ls {private}; git show HEAD")

    assert "No such file" in output
    assert "a.txt" not in output


@pytest.mark.parametrize(
    ("named", "link"),
    [(".venv/bin", ".venv"), (".venv", ".venv"), ("a/../b/.ssh", "b"), ("~/cache/x/bin", "~/cache/x")],
)
@pytest.mark.long(after=1)
async def test_a_link_that_a_command_could_have_made_opens_nothing(
    household: Household, named: str, link: str
) -> None:
    secret, program = household.write(".ssh/id"), household.write("inst/bin/p", "mine\n")
    household.write("cache/file")
    household.writable, household.readable = ["~/cache", named], [named]
    target = household.home if link == "b" else program.parent.parent

    await household.run(f"ln -s {target} {link}")
    output = await household.run(f"cat {named}/id {named}/p; echo evil > {program}; echo evil > {secret}")

    assert (program.read_text(), secret.read_text()) == ("mine\n", "secret\n")
    assert "stays closed to commands" in output
    assert "secret\n" not in output
    assert "mine\n" not in output


async def test_a_folder_around_an_opened_one_keeps_its_place(household: Household) -> None:
    (household.root / "out/cache").mkdir(parents=True)
    household.writable = ["out/cache"]

    output = await household.run("mv out other; echo made > out/cache/x; echo made > out/y")

    assert "busy" in output
    assert (household.root / "out/cache/x").exists()
    assert (household.root / "out/y").exists()


async def test_programs_behind_a_link_that_was_there_first_run_and_no_later_link_opens_others(
    household: Household,
) -> None:
    program = household.write("envs/p/bin/greet", "#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    household.write("private/note")
    (household.root / ".venv").symlink_to(household.home / "envs/p")
    household.environ["PATH"] = f"{household.root}/.venv/bin:{household.environ['PATH']}"
    tool = household.tool()

    async def run(command: str) -> str:
        return extract_text(await tool.execute({"command": command}, context_with(RecordingControls())))

    first = await run("greet; rm .venv; mkdir .venv; ln -s ~/private .venv/bin")
    then = await run(f"cat .venv/bin/note; {program}")

    assert first == "hello\nexit code 0"
    assert "secret\n" not in then
    assert "hello" in then
    assert f"{household.root}/.venv/bin stays closed to commands" in then


def test_what_the_settings_open_is_not_looked_up_anew_for_each_folder_of_programs(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[str] = []

    def note(path: str, environ: Mapping[str, str], root: Path) -> str:
        looked_up.append(path)
        return expand_path(path, environ, root)

    household.writable = ["~/cache"]
    counts = []
    for folders in (1, 100):
        household.environ["PATH"] = ":".join(f"/opt/{number}/bin" for number in range(folders))
        monkeypatch.setattr(sandbox, "expand_path", note)
        household.sandbox()._read_surroundings()
        counts.append(len(looked_up))
        looked_up.clear()

    assert counts[0] == counts[1]
