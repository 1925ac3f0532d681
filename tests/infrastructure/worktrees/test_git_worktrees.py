"""Worktrees of a real repository: made, shown, merged, dropped, and no program of the repository runs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from quorum.domain.errors import WorktreeRefused
from quorum.domain.worktree import OpenedWorktree, Worktree
from quorum.infrastructure.execution.shell.repository import find_repository
from quorum.infrastructure.git_worktrees import GitWorktrees
from tests.support.real_session import SessionStage


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    stage = SessionStage(tmp_path)
    stage.git("init", "-q", "-b", "main")
    (stage.root / "a.txt").write_text("one\n")
    commit(stage, "one")
    return stage


def commit(stage: SessionStage, message: str, cwd: Path | None = None) -> None:
    stage.git("config", "user.name", "n")
    stage.git("config", "user.email", "n@localhost")
    stage.git("add", "-A", cwd=cwd)
    stage.git("commit", "-qm", message, cwd=cwd)


def worktrees(stage: SessionStage, root: Path | None = None) -> GitWorktrees:
    return GitWorktrees(root or stage.root, stage.environ, stage.folder / "places")


def create(mine: GitWorktrees, name: str = "fix") -> Worktree:
    opened = mine.open(name)
    assert opened.is_new
    return opened.worktree


def merge(mine: GitWorktrees, worktree: Worktree) -> None:
    mine.merge(mine.read_change(worktree), "Change a.txt")


def drop(mine: GitWorktrees, worktree: Worktree) -> None:
    mine.drop(worktree, mine.find_loss(worktree))


@pytest.mark.long
def test_one_that_was_made_is_found_by_another_process_and_its_changes_are_shown(stage: SessionStage) -> None:
    made = create(worktrees(stage))
    folder = Path(made.folder)
    assert (folder / "a.txt").read_text() == "one\n"
    (folder / "a.txt").write_text("two\n")
    (folder / "new.txt").write_text("new\n")
    (again,) = worktrees(stage).list()
    assert again == made
    assert worktrees(stage).open("fix") == OpenedWorktree(worktree=made, folder=folder, is_new=False)
    assert worktrees(stage).find(folder / "deep") == made
    diff = worktrees(stage).read_change(again).diff
    assert "-one\n+two\n" in diff
    assert "+new\n" in diff
    assert worktrees(stage).find_loss(again).description == "2 files not committed"
    assert stage.git("status", "--porcelain", cwd=folder).splitlines() == [" M a.txt", "?? new.txt"]


@pytest.mark.long
def test_a_merge_brings_what_is_not_committed_and_a_drop_leaves_nothing(stage: SessionStage) -> None:
    mine = worktrees(stage)
    made = create(mine)
    (Path(made.folder) / "a.txt").write_text("two\n")
    merge(mine, made)
    assert (stage.root / "a.txt").read_text() == "two\n"
    assert stage.git("log", "-1", "--format=%s").strip() == "Change a.txt"
    assert not mine.find_loss(made).description
    assert mine.read_change(made).diff == ""
    drop(mine, made)
    assert not mine.list()
    assert not Path(made.folder).exists()
    assert stage.git("branch", "--list", "quorum/*") == ""


@pytest.mark.long
def test_what_changed_since_it_was_shown_is_neither_merged_nor_dropped(stage: SessionStage) -> None:
    mine = worktrees(stage)
    made = create(mine)
    file = Path(made.folder) / "a.txt"
    file.write_text("two\n")
    shown, loss = mine.read_change(made), mine.find_loss(made)
    file.write_text("three\n")
    (Path(made.folder) / "b.txt").write_text("b\n")
    with pytest.raises(WorktreeRefused, match="changed since it was shown"):
        mine.merge(shown, "x")
    with pytest.raises(WorktreeRefused, match="nothing is dropped"):
        mine.drop(made, loss)
    assert (stage.root / "a.txt").read_text() == "one\n"
    assert file.read_text() == "three\n"


@pytest.mark.long
def test_conflicts_leave_the_branch_as_it_was(stage: SessionStage) -> None:
    mine = worktrees(stage)
    made = create(mine)
    (Path(made.folder) / "a.txt").write_text("two\n")
    (stage.root / "a.txt").write_text("three\n")
    commit(stage, "three")
    with pytest.raises(WorktreeRefused, match=r"conflicts in a\.txt\. Nothing is merged"):
        merge(mine, made)
    assert (stage.root / "a.txt").read_text() == "three\n"
    assert stage.git("status", "--porcelain") == ""
    assert mine.find_loss(made).description == "1 commit"


@pytest.mark.long
def test_a_dirty_base_another_branch_a_detached_head_and_an_existing_branch_are_refused(
    stage: SessionStage,
) -> None:
    mine = worktrees(stage)
    made = create(mine)
    stage.git("branch", "quorum/taken")
    with pytest.raises(WorktreeRefused, match="the branch quorum/taken exists already"):
        mine.open("taken")
    with pytest.raises(WorktreeRefused, match="works in a worktree already"):
        worktrees(stage, Path(made.folder)).open("deeper")
    (stage.root / "a.txt").write_text("dirty\n")
    with pytest.raises(WorktreeRefused, match=r"main has changes that are not committed \(a.txt\)"):
        merge(mine, made)
    assert mine.read_change(made).obstacle.startswith("main has changes that are not committed (a.txt)")
    stage.git("checkout", "-q", "--", "a.txt")
    stage.git("switch", "-q", "-c", "other")
    with pytest.raises(WorktreeRefused, match="check out main first"):
        merge(mine, made)
    stage.git("switch", "-q", "--detach")
    with pytest.raises(WorktreeRefused, match="HEAD is on no branch"):
        mine.open("second")
    stage.git("checkout", "-q", "-b", "elsewhere", cwd=Path(made.folder))
    with pytest.raises(WorktreeRefused, match="another branch than quorum/fix is checked out"):
        mine.read_change(made)


def test_one_whose_folder_was_removed_gets_it_back_with_what_was_committed(stage: SessionStage) -> None:
    mine = worktrees(stage)
    made = create(mine)
    (Path(made.folder) / "a.txt").write_text("two\n")
    commit(stage, "two", cwd=Path(made.folder))
    shutil.rmtree(made.folder)
    assert mine.find_loss(made).description == "1 commit"
    again = worktrees(stage).open("fix")
    assert again.worktree == made
    assert not again.is_new
    assert (Path(made.folder) / "a.txt").read_text() == "two\n"
    shutil.rmtree(made.folder)
    drop(mine, made)
    assert not mine.list()


@pytest.mark.long
def test_it_is_merged_where_its_branch_is_checked_out_even_from_within(stage: SessionStage) -> None:
    made = create(worktrees(stage))
    (Path(made.folder) / "a.txt").write_text("two\n")
    inside = worktrees(stage, Path(made.folder))
    assert inside.read_change(made).target == str(stage.root)
    merge(inside, made)
    assert (stage.root / "a.txt").read_text() == "two\n"


def test_the_folder_in_it_is_the_one_that_was_worked_in(stage: SessionStage) -> None:
    for name in ("deep", "unknown"):
        (stage.root / name).mkdir()
    (stage.root / "deep/b.txt").write_text("b\n")
    commit(stage, "deep")
    opened = worktrees(stage, stage.root / "deep").open("fix")
    assert opened.folder == Path(opened.worktree.folder) / "deep"
    other = worktrees(stage, stage.root / "unknown").open("other")
    assert other.folder == Path(other.worktree.folder)
    assert other.notices == ("unknown is in no commit, so the tab works at the top",)


@pytest.mark.long
def test_a_submodule_has_none_and_a_repository_with_some_says_that_they_are_not_checked_out(
    stage: SessionStage,
) -> None:
    other = stage.folder / "other"
    other.mkdir()
    stage.git("init", "-q", "-b", "main", cwd=other)
    (other / "b.txt").write_text("b\n")
    stage.git("add", "-A", cwd=other)
    stage.git("commit", "-qm", "b", cwd=other)
    stage.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    commit(stage, "sub")
    with pytest.raises(WorktreeRefused, match=f"a submodule of {stage.root}"):
        worktrees(stage, stage.root / "sub").open("fix")
    assert worktrees(stage).open("fix").notices == ("submodules are not checked out in a worktree",)


def test_settings_that_lead_to_the_files_of_another_repository_are_refused(stage: SessionStage) -> None:
    other = stage.folder / "other"
    other.mkdir()
    stage.git("config", "core.worktree", str(other))
    with pytest.raises(WorktreeRefused, match=r"core\.worktree"):
        worktrees(stage)


@pytest.mark.parametrize("name", ["", "-x", "a/b", "../x", "a b", "x" * 41, "a\x1b", "diff", "merge", "drop"])
def test_a_name_that_could_lead_elsewhere_is_refused(stage: SessionStage, name: str) -> None:
    with pytest.raises(WorktreeRefused, match="a worktree's name"):
        worktrees(stage).open(name)


def test_without_a_repository_or_a_commit_there_is_none(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path)
    with pytest.raises(WorktreeRefused, match="is in no git repository"):
        worktrees(stage)
    stage.git("init", "-q", "-b", "main")
    with pytest.raises(WorktreeRefused, match="has no commit yet"):
        worktrees(stage).open("fix")


@pytest.mark.long
def test_no_program_that_the_repository_names_is_started(stage: SessionStage) -> None:
    ran = stage.folder / "ran"
    program = f"sh -c 'touch {ran}; cat'"
    (stage.root / ".gitattributes").write_text("*.txt filter=evil merge=evil diff=evil\n")
    commit(stage, "attributes")
    for key in ("filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "merge.evil.driver"):
        stage.git("config", key, program)
    for key in ("diff.evil.textconv", "diff.external", "core.fsmonitor", "gpg.program", "core.editor"):
        stage.git("config", key, program)
    for key in ("filter.evil.required", "commit.gpgSign", "merge.verifySignatures"):
        stage.git("config", key, "true")
    hooks = (
        "post-checkout",
        "pre-commit",
        "commit-msg",
        "post-merge",
        "pre-merge-commit",
        "reference-transaction",
    )
    for hook in hooks:
        file = stage.root / ".git/hooks" / hook
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\ntouch {ran}\n")
        file.chmod(0o755)
    mine = worktrees(stage)
    made = create(mine)
    (Path(made.folder) / "a.txt").write_text("two\n")
    assert "+two" in mine.read_change(made).diff
    mine.find_loss(made)
    (stage.root / "b.txt").write_text("b\n")
    os.utime(stage.root / "a.txt", (1, 1))
    merge(mine, made)
    (Path(made.folder) / "a.txt").write_text("three\n")
    drop(mine, made)
    assert not ran.exists()


@pytest.mark.parametrize("condition", ["onbranch:quorum/**", "gitdir:**/worktrees/**", "onbranch:nothing"])
def test_a_filter_of_an_included_file_is_not_started_whatever_the_condition(
    stage: SessionStage, condition: str
) -> None:
    ran = stage.folder / "ran"
    (stage.root / ".gitattributes").write_text("*.txt filter=evil\n")
    commit(stage, "attributes")
    (stage.root / ".git/more").write_text('[include]\n\tpath = "deep er"\n')
    (stage.root / ".git/deep er").write_text(f'[filter "evil"]\n\tsmudge = "touch {ran}; cat"\n')
    stage.git("config", f"includeIf.{condition}.path", "more")

    made = create(worktrees(stage))

    assert (Path(made.folder) / "a.txt").read_text() == "one\n"
    assert not ran.exists()


def test_a_filter_of_a_file_that_only_the_copied_settings_include_is_not_started(stage: SessionStage) -> None:
    ran, git_folder = stage.folder / "ran", stage.root / ".git"
    (stage.root / ".gitattributes").write_text("*.txt filter=evil\n")
    commit(stage, "attributes")
    stage.git("config", "extensions.worktreeConfig", "true")
    # The name is relative: in the copy for the worktree it leads elsewhere.
    (git_folder / "config.worktree").write_text("[include]\n\tpath = ../more\n")
    (git_folder / "worktrees").mkdir()
    (git_folder / "worktrees/more").write_text(f'[filter "evil"]\n\tsmudge = "touch {ran}; cat"\n')

    made = create(worktrees(stage))

    assert (Path(made.folder) / "a.txt").read_text() == "one\n"
    assert not ran.exists()


@pytest.mark.parametrize("setting", ["branch.main.mergeOptions", "pull.twohead"])
def test_a_merge_strategy_that_the_settings_name_is_not_started(stage: SessionStage, setting: str) -> None:
    ran, programs = stage.folder / "ran", stage.folder / "programs"
    programs.mkdir()
    (programs / "git-merge-evil").write_text(f"#!/bin/sh\ntouch {ran}\nexit 2\n")
    (programs / "git-merge-evil").chmod(0o755)
    stage.git("config", setting, "-s evil" if "Options" in setting else "evil")
    environ = {**stage.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    mine = GitWorktrees(stage.root, environ, stage.folder / "places")
    made = create(mine)
    (Path(made.folder) / "a.txt").write_text("two\n")
    (stage.root / "b.txt").write_text("b\n")
    commit(stage, "b")

    merge(mine, made)

    assert (stage.root / "a.txt").read_text() == "two\n"
    assert not ran.exists()


def test_what_it_leaves_in_the_settings_is_known_to_be_harmless(stage: SessionStage) -> None:
    made = create(worktrees(stage))

    assert find_repository(str(stage.root)) is not None
    assert find_repository(os.path.realpath(made.folder)) is not None
