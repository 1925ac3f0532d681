"""Files come back; what git keeps for itself is left to git, and said so. With real git."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.doomed_session import dies
from tests.support.real_session import SessionStage, shell, steps
from tests.support.rewind_rig import tree

if shutil.which("git") is None:
    pytest.skip("git is not installed here", allow_module_level=True)

GIT = "git -c user.name=Model -c user.email=model@example.com -c core.hooksPath=/dev/null"


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    return SessionStage(tmp_path)


@pytest.fixture
def root(stage: SessionStage) -> Path:
    return stage.root


@pytest.fixture
def repository(stage: SessionStage, root: Path) -> SessionStage:
    """A repository with two branches, whose person has staged something."""
    stage.git("init", "-q", "-b", "main")
    (root / "a").write_text("one\n")
    (root / "b").write_text("one\n")
    stage.git("add", ".")
    stage.git("commit", "-qm", "one")
    stage.git("checkout", "-qb", "side")
    (root / "a").write_text("side\n")
    (root / "only here").write_text("side\n")
    stage.git("add", ".")
    stage.git("commit", "-qm", "side")
    stage.git("checkout", "-q", "main")
    (root / "staged").write_text("staged by the person\n")
    stage.git("add", "staged")
    return stage


def files_of_person(root: Path) -> dict[bytes, tuple[object, ...]]:
    return {path: state for path, state in tree(root).items() if not path.startswith(b".git/")}


def git_folder(root: Path) -> dict[bytes, tuple[object, ...]]:
    return tree(root / ".git")


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("work", "moved"),
    [
        (f"echo two > a; {GIT} commit -qam two", "refs/heads/main"),
        ("git stash -q; echo other > b", "refs/stash"),
        (f"{GIT} commit -qm staged; git checkout -q side", "HEAD"),
        (f"echo two > a; {GIT} commit -qam two; {GIT} rebase -q side; rm -r .git/rebase*", "refs/heads/main"),
        (
            "git reset -q --hard; git branch -D side; git reflog expire --expire=now --all; git gc --prune=now",
            "",
        ),
    ],
    ids=["commit", "stash", "checkout", "rebase", "gc"],
)
async def test_the_files_come_back_and_what_git_keeps_for_itself_stays_sound(
    repository: SessionStage, root: Path, work: str, moved: str
) -> None:
    before = files_of_person(root)
    async with repository.opened() as session:
        report = await session.turn(shell(work))
        assert report.calls[0].outcome == "ok"
    kept = git_folder(root)
    async with repository.opened() as session:
        plan = await session.undo()
        assert files_of_person(root) == before
        assert git_folder(root) == kept
        assert set(steps(plan, root).values()) <= {"given back"}
        assert any(moved in reported and "git" in reported for reported in plan.unseen)
        await session.continue_turn()
    repository.git("fsck", "--strict")
    repository.git("status")
    repository.git("add", ".")
    repository.git("commit", "-qm", "goes on")
    repository.git("gc", "-q")


@pytest.mark.long
async def test_a_repository_that_a_command_made_stays_with_all_that_was_committed(
    stage: SessionStage, root: Path
) -> None:
    (root / "a").write_text("one\n")
    async with stage.opened() as session:
        await session.turn(shell(f"git init -q; git add .; {GIT} commit -qm one; echo two > a"))
    async with stage.opened() as session:
        plan = await session.undo()
        assert steps(plan, root) == {"a": "given back"}
        assert any(".git" in reported for reported in plan.unseen)
    assert stage.git("show", "HEAD:a") == "one\n"
    assert stage.git("status", "--porcelain") == ""


@pytest.mark.long
async def test_a_hook_that_a_command_planted_is_named(repository: SessionStage, root: Path) -> None:
    async with repository.opened() as session:
        await session.turn(shell(f"echo x > .git/hooks/pre-commit; {GIT} commit -qm x; git tag a; git tag b"))
    async with repository.opened() as session:
        plan = await session.agent.rewind.plan(0)
        assert any("hooks/pre-commit" in reported for reported in plan.unseen)


@pytest.mark.long
async def test_what_git_keeps_for_itself_is_not_mentioned_where_it_did_not_change(
    repository: SessionStage, root: Path
) -> None:
    async with repository.opened() as session:
        await session.turn(shell("echo two > a"))
        assert (await session.undo()).unseen == ()


@pytest.mark.long
async def test_a_command_of_git_that_was_killed_leaves_the_repository_as_it_is(
    repository: SessionStage, root: Path
) -> None:
    before = files_of_person(root)
    dies(repository, ("run_command", {"command": f"echo two > a; {GIT} commit -qam two; echo now; sleep 600"}))
    kept = git_folder(root)
    async with repository.opened() as session:
        plan = await session.undo(overwrite={"a"})
        assert steps(plan, root) == {"a": "asked"}
        assert any("refs/heads/main" in reported for reported in plan.unseen)
        assert files_of_person(root) == before
        assert git_folder(root) == kept
