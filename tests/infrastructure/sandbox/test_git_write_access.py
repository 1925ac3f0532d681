"""Commands that may write to `.git`, once the person was asked, and what they cannot leave in it."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from quorum.domain.calls.summary import extract_text
from quorum.domain.errors import StaleSeal, ToolError
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.tools.builtin.run_command import RunCommand
from tests.infrastructure.commands.command_bench import RecordingControls, context_with
from tests.infrastructure.sandbox.sandbox_bench import Household, a_repository, needs_bubblewrap

pytestmark = needs_bubblewrap

_COMMIT = "git add --all && git -c user.name=A -c user.email=a@example.com commit -qm second"


@pytest.fixture
def tool(household: Household) -> RunCommand:
    a_repository(household.root)
    (household.root / "new").write_text("new\n")
    return household.tool()


async def run(tool: RunCommand, command: str, *, was_asked: bool = False, **more: bool) -> str:
    given: JsonObject = {"command": command, **more}
    return extract_text(await tool.execute(given, context_with(RecordingControls(was_asked=was_asked))))


async def opened(tool: RunCommand) -> None:
    assert await run(tool, "true", was_asked=True, opens_git=True) == "exit code 0"


def git_in(household: Household, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=household.root, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


async def test_a_commit_that_is_refused_says_how_to_ask(tool: RunCommand) -> None:
    said = await run(tool, _COMMIT)

    assert "call run_command again with opens_git = true: the person is asked once for the session" in said


async def test_once_the_person_was_asked_this_and_later_commands_commit(
    tool: RunCommand, household: Household
) -> None:
    assert await run(tool, _COMMIT, was_asked=True, opens_git=True) == "exit code 0"
    assert await run(tool, "touch later && " + _COMMIT.replace("second", "third")) == "exit code 0"

    assert git_in(household, "log", "--format=%s").split() == ["third", "second", "first"]
    verdict = await tool.judge({"command": "make", "opens_git": True})
    assert verdict is None or not verdict.opens_git
    assert ".git is open" in str((await tool.seal({"command": "make"}, {})).sandbox)


async def test_where_the_person_was_not_asked_nothing_runs_and_nothing_opens(tool: RunCommand) -> None:
    with pytest.raises(ToolError, match=r"\.git is opened only once the person was asked"):
        await run(tool, _COMMIT, opens_git=True)

    assert "Read-only file system" in await run(tool, _COMMIT)


async def test_what_is_asked_about_is_part_of_the_seal(tool: RunCommand) -> None:
    verdict = await tool.judge({"command": "ls", "opens_git": True})
    seal = await tool.seal({"command": "ls"}, {})

    assert verdict is not None
    assert verdict.opens_git
    with pytest.raises(StaleSeal, match="sandbox"):
        await tool.execute(
            {"command": "ls", "opens_git": True}, context_with(RecordingControls(seal, was_asked=True))
        )
    assert "Read-only file system" in await run(tool, _COMMIT)


@pytest.mark.parametrize(
    "command",
    [
        "git config core.fsmonitor ./evil",
        "echo evil > .git/hooks/pre-commit",
        "mv .git/hooks .git/x; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
        "rm -rf .git/config; echo '[core]fsmonitor=./evil' > .git/config",
        "mv .git elsewhere; git init -q",
        "echo '* filter=evil' > .git/info/attributes",
    ],
)
async def test_settings_and_hooks_stay_as_they_are(
    tool: RunCommand, household: Household, command: str
) -> None:
    before = {
        name: (household.root / ".git" / name).read_bytes() for name in ("config", "hooks/pre-commit.sample")
    }
    await opened(tool)

    await run(tool, command)

    assert before == {name: (household.root / ".git" / name).read_bytes() for name in before}
    assert not (household.root / ".git/hooks/pre-commit").exists()
    assert "evil" not in git_in(household, "config", "--list")


@pytest.mark.long(after=2)
@pytest.mark.parametrize("was_asked", [True, False])
@pytest.mark.parametrize(
    "command",
    [
        "echo ../evil > .git/commondir",
        "mkdir -p .git/modules/x && echo x > .git/modules/x/config",
        "mkdir -p .git/worktrees/x && echo ../../../evil > .git/worktrees/x/commondir",
        "mkdir .git/rebase-merge && echo 'exec ./evil' > .git/rebase-merge/git-rebase-todo",
        "mkdir .git/sequencer && echo '[options]strategy=../evil' > .git/sequencer/opts",
        "mkdir -p .git/remotes && echo 'URL: ext::./evil' > .git/remotes/x",
        "rm .git/index; ln -s ../../.bashrc .git/index",
        "ln -sf ../../.bashrc .git/COMMIT_EDITMSG",
        "rm -rf .git/logs; ln -s ../.. .git/logs",
        "mkdir .git/refs/deep; ln -s ../../../x .git/refs/deep/head",
        "rm -rf .git/objects/info; ln -s ../.. .git/objects/info",
    ],
)
async def test_what_git_would_obey_or_follow_is_renamed_even_where_the_person_was_asked(
    tool: RunCommand, household: Household, command: str, was_asked: bool
) -> None:
    await opened(tool)

    said = await run(tool, command, was_asked=was_asked)

    assert "were renamed" in said
    assert "set-aside-" in said
    left = [path for path in (household.root / ".git").rglob("*") if path.is_symlink()]
    assert all(path.name.startswith("set-aside-") for path in left)
    for name in ("commondir", "modules", "worktrees", "rebase-merge", "sequencer", "remotes"):
        assert not (household.root / ".git" / name).exists()


async def test_a_link_in_the_place_of_the_hooks_cannot_be_replaced_by_a_folder(
    tool: RunCommand, household: Household
) -> None:
    (household.root / ".git/hooks").rename(household.root / "hooks-of-ours")
    (household.root / ".git/hooks").symlink_to("../hooks-of-ours")
    await opened(tool)

    await run(tool, "rm .git/hooks; mkdir .git/hooks; echo evil > .git/hooks/pre-commit")

    assert not (household.root / ".git/hooks/pre-commit").exists()


@pytest.mark.parametrize("kind", ["file", "link", "none"])
async def test_a_git_that_is_no_folder_of_the_workspace_is_not_opened(household: Household, kind: str) -> None:
    a_repository(household.home / "elsewhere")
    if kind == "file":
        (household.root / ".git").write_text(f"gitdir: {household.home}/elsewhere/.git\n")
    elif kind == "link":
        os.symlink(household.home / "elsewhere/.git", household.root / ".git")

    with pytest.raises(ToolError, match=r"the workspace has no \.git folder of its own"):
        await run(household.tool(), "true", was_asked=True, opens_git=True)


async def test_a_worktree_and_a_submodule_in_the_workspace_stay_closed(
    tool: RunCommand, household: Household
) -> None:
    git_in(household, "worktree", "add", "-q", "tree")
    await opened(tool)

    said = await run(tool, "echo x > tree/.git; echo ../../../evil > .git/worktrees/tree/commondir")

    assert said.count("Read-only file system\n") == 2


async def test_a_change_of_the_repository_needs_one_approval_and_runs_with_git_closed_without(
    tool: RunCommand, household: Household
) -> None:
    verdict = await tool.judge({"command": _COMMIT})
    seal = await tool.seal({"command": _COMMIT}, {})

    assert verdict is not None
    assert (verdict.offers_git, verdict.opens_git) == (True, False)
    assert str(seal.sandbox).endswith("once you approve it")
    assert "Read-only file system" in await run(tool, _COMMIT)
    assert await run(tool, _COMMIT, was_asked=True) == "exit code 0"
    assert await run(tool, "touch later && " + _COMMIT.replace("second", "third")) == "exit code 0"
    assert git_in(household, "log", "--format=%s").split() == ["third", "second", "first"]


@pytest.mark.parametrize("command", ["make", "git log", "git status", "echo git commit-graph", "ls .git"])
async def test_what_does_not_change_the_repository_offers_nothing(tool: RunCommand, command: str) -> None:
    verdict = await tool.judge({"command": command})

    assert verdict is None or not verdict.offers_git
    assert "opens .git" not in str((await tool.seal({"command": command}, {})).sandbox)


_PLACES = ("worktree", "submodule", "subfolder", "worktree of a submodule", "beside", "named")


def _make_place(household: Household, kind: str) -> Path:
    """Make the workspace a part of a repository elsewhere; the folder that git writes to there."""
    household.root.rmdir()
    elsewhere = household.root.parent
    if kind.startswith("worktree"):
        elsewhere = household.home / "main"
    elsewhere.mkdir(exist_ok=True)
    if kind not in ("beside", "named"):
        a_repository(elsewhere)
    match kind:
        case "worktree":
            _git(elsewhere, "worktree", "add", "-q", str(household.root))
            return elsewhere / ".git"
        case "submodule":
            (inner := household.home / "inner").mkdir()
            a_repository(inner)
            add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "project")
            _git(elsewhere, *add)
            return elsewhere / ".git/modules/project"
        case "worktree of a submodule":
            (inner := household.home / "inner").mkdir()
            a_repository(inner)
            _git(elsewhere, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
            _git(elsewhere / "sub", "worktree", "add", "-q", str(household.root))
            return elsewhere / ".git/modules/sub"
        case "beside" | "named":
            kept = elsewhere / "kept.git" if kind == "beside" else household.home / "kept"
            household.root.mkdir()
            a_repository(household.root)
            _git(household.root, "init", "-q", f"--separate-git-dir={kept}")
            if kind == "named":
                _git(household.root, "config", "core.worktree", str(household.root))
            return kept
        case _:
            household.root.mkdir()
            return elsewhere / ".git"


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long(after=1)
@pytest.mark.parametrize("kind", _PLACES)
async def test_a_commit_is_made_where_the_repository_keeps_itself_elsewhere(
    household: Household, kind: str
) -> None:
    folder = _make_place(household, kind)
    tool = household.tool()
    (household.root / "new").write_text("new\n")

    seal = await tool.seal({"command": "true", "opens_git": True}, {})
    assert str(folder) in str(seal.sandbox)
    assert await run(tool, _COMMIT, was_asked=True) == "exit code 0"

    assert _git(household.root, "log", "-1", "--format=%s") == "second\n"


@pytest.mark.long(after=1)
@pytest.mark.parametrize("kind", _PLACES)
@pytest.mark.parametrize(
    "command",
    [
        "echo x > $G/hooks/pre-commit",
        "git config core.fsmonitor ./x",
        "mkdir $G/sequencer && echo x > $G/sequencer/opts",
        "rm -f $G/HEAD; ln -s ../../.bashrc $G/HEAD",
        "mkdir -p $G/worktrees/x && echo x > $G/worktrees/x/commondir",
        "D=$(git rev-parse --absolute-git-dir); echo x > $D/commondir; echo x > $D/gitdir",
        "D=$(git rev-parse --absolute-git-dir); echo x > $D/config.worktree; mkdir $D/rebase-merge",
    ],
)
async def test_settings_and_hooks_stay_closed_where_the_repository_keeps_itself_elsewhere(
    household: Household, kind: str, command: str
) -> None:
    folder = _make_place(household, kind)
    tool = household.tool()
    await opened(tool)
    own = Path(_git(household.root, "rev-parse", "--absolute-git-dir").strip())
    names = (
        "hooks/pre-commit",
        "config",
        "sequencer",
        "commondir",
        "gitdir",
        "config.worktree",
        "rebase-merge",
    )
    places = [place / name for place in (folder, own) for name in (*names, "worktrees/x")]
    before = {place: place.read_bytes() if place.is_file() else place.exists() for place in places}

    await run(tool, command.replace("$G", str(folder)))

    assert before == {place: place.read_bytes() if place.is_file() else place.exists() for place in places}
    assert not any(path.is_symlink() and "set-aside" not in path.name for path in folder.rglob("*"))


async def test_a_file_that_names_the_folder_of_another_working_tree_opens_nothing(household: Household) -> None:
    folder = _make_place(household, "worktree")
    _git(folder.parent, "worktree", "add", "-q", str(household.home / "other"))
    (household.root / ".git").write_text((household.home / "other/.git").read_text())

    with pytest.raises(ToolError, match=r"no \.git folder of its own"):
        await run(household.tool(), "true", was_asked=True, opens_git=True)


@pytest.mark.parametrize("change", ["none", "bare", "of another tree"])
async def test_a_folder_put_elsewhere_that_does_not_know_the_workspace_is_not_opened(
    household: Household, change: str
) -> None:
    folder = _make_place(household, "beside" if change == "bare" else "named")
    match change:
        case "none":
            _git(household.root, "config", "--unset", "core.worktree")
        case "bare":
            _git(folder, "--git-dir=.", "config", "core.bare", "true")
        case _:
            _git(folder, "--git-dir=.", "config", "core.worktree", str(household.home))

    with pytest.raises(ToolError, match=r"no \.git folder of its own"):
        await run(household.tool(), "true", was_asked=True, opens_git=True)


async def test_a_commit_offers_nothing_where_the_settings_open_git(household: Household) -> None:
    a_repository(household.root)
    household.writable = [".git"]

    verdict = await household.tool().judge({"command": _COMMIT})

    assert verdict is None or not verdict.offers_git


async def test_changes_in_git_are_expected_of_commands_once_it_is_open(
    tool: RunCommand, household: Household
) -> None:
    assert (await tool.seal({"command": "make"}, {})).opened == ()
    await opened(tool)
    assert (await tool.seal({"command": "make"}, {})).opened == (str(household.root / ".git"),)


async def test_a_repository_that_does_not_know_its_folder_is_closed_with_a_remedy(household: Household) -> None:
    household.root.mkdir(exist_ok=True)
    a_repository(household.root)
    kept = household.home / "kept"
    _git(household.root, "init", "-q", f"--separate-git-dir={kept}")
    tool = household.tool()
    (household.root / "new").write_text("new\n")

    with pytest.raises(ToolError) as refused:
        await tool.seal({"command": "true", "opens_git": True}, {})
    remedy = str(refused.value).partition("`")[2].partition("`")[0]
    assert remedy in str((await tool.seal({"command": _COMMIT}, {})).sandbox)
    assert await run(tool, _COMMIT, was_asked=True) != "exit code 0"
    _git(household.home, *shlex.split(remedy)[1:])

    assert await run(tool, _COMMIT, was_asked=True) == "exit code 0"
    _git(kept, "config", "core.worktree", str(household.home))
    with pytest.raises(ToolError, match=r"config core\.worktree"):
        await household.tool().seal({"command": "true", "opens_git": True}, {})


async def test_a_worktree_that_was_moved_is_closed_with_a_remedy(household: Household) -> None:
    (main := household.home / "main").mkdir()
    a_repository(main)
    _git(main, "worktree", "add", "-q", str(household.home / "before"))
    (household.home / "before").rename(household.root)

    with pytest.raises(ToolError, match="run `git worktree repair` there"):
        await household.tool().seal({"command": "true", "opens_git": True}, {})
    _git(household.root, "worktree", "repair")
    assert str(main) in str((await household.tool().seal({"command": "true", "opens_git": True}, {})).sandbox)
