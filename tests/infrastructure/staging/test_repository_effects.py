"""Commits that were made in a layer are carried over by git, beside what the person did in the repository."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from quorum.domain.staging.layer_effects import AppliedEffects, EffectChoice
from quorum.infrastructure.execution.program import close_process_to_inspection
from quorum.infrastructure.staging.entering import enter_layer
from quorum.infrastructure.staging.workspace_layer import WorkspaceLayer
from tests.infrastructure.staging.layer_bench import LayerBench, describe_tree
from tests.support.layer_process import run_forked

_MAIN = "refs/heads/main"
_GIT = "git -c user.name=a -c user.email=a@example.org"


@pytest.fixture
def repository(bench: LayerBench) -> LayerBench:
    """A workspace with one commit."""
    bench.write("a", "1\n")
    bench.write("b", "1\n")
    bench.git("init", "-q")
    bench.git("add", ".")
    bench.git("commit", "-q", "-m", "first")
    return bench


def _find_problems(bench: LayerBench) -> str:
    return bench.git("fsck", "--strict") + bench.git("status", "--porcelain")


def test_commits_arrive_with_their_files_and_the_index(repository: LayerBench) -> None:
    bench = repository
    bench.work(
        f"echo 2 > a; echo n > n; git add .; {_GIT} commit -qm second; echo 3 > a; {_GIT} commit -qam third"
    )
    effects = bench.read_effects()
    (commit,) = effects.commits
    assert (commit.ref, commit.count, commit.subjects, commit.conflict) == (_MAIN, 2, ("third", "second"), "")
    assert {each.path: each.ignored for each in effects.effects} == {".git/index": True, "a": False, "n": False}

    assert bench.apply().refs == (_MAIN,)
    assert bench.git("log", "--format=%s").split() == ["third", "second", "first"]
    assert _find_problems(bench) == ""
    assert bench.read_effects().is_empty


def test_refs_that_are_no_files_stay_in_the_layer_and_are_named(repository: LayerBench) -> None:
    bench = repository
    bench.write(".git/reftable/tables.list", "1\n")
    bench.work("echo 2 > .git/reftable/tables.list; echo 2 > a")

    effects = bench.read_effects()
    assert [each.path for each in effects.effects] == ["a"]
    assert effects.not_captured[0].startswith("the refs of this repository are a reftable")


def test_undoing_takes_the_commits_back(repository: LayerBench) -> None:
    bench = repository
    before, head = describe_tree(bench.workspace, without=".git"), bench.git("rev-parse", "HEAD")
    bench.work(f"echo 2 > a; git rm -q b; {_GIT} commit -qam second; git branch topic; git tag v1")
    assert bench.apply().refs == (_MAIN, "refs/heads/topic", "refs/tags/v1")
    assert bench.git("tag").split() == ["v1"]

    assert bench.undo().is_done
    assert (describe_tree(bench.workspace, without=".git"), bench.git("rev-parse", "HEAD")) == (before, head)
    assert bench.git("for-each-ref", "--format=%(refname)").split() == [_MAIN]
    assert _find_problems(bench) == ""


def test_looking_at_the_state_is_no_effect(repository: LayerBench) -> None:
    repository.work("git status; git log; git diff; git stash list")

    assert repository.read_effects().is_empty


def test_a_commit_of_the_person_meanwhile_conflicts_and_stays(repository: LayerBench) -> None:
    bench = repository
    bench.work(f"echo 2 > a; {_GIT} commit -qam layer")
    bench.write("b", "2\n")
    bench.git("commit", "-q", "-a", "-m", "person")

    assert [each.conflict for each in bench.read_effects().commits] == ["you moved it, too"]
    assert set(bench.apply().refused) == {_MAIN}
    assert bench.git("log", "--format=%s").split() == ["person", "first"]
    assert bench.apply(EffectChoice(left_out=frozenset({_MAIN}))).paths == ("a",)
    assert bench.git("status", "--porcelain") == " M a\n"


def test_what_the_person_staged_meanwhile_stays_staged(repository: LayerBench) -> None:
    bench = repository
    bench.work(f"echo 2 > a; {_GIT} commit -qam layer")
    bench.write("b", "staged\n")
    bench.git("add", "b")
    bench.write("b", "and more\n")

    assert bench.apply().is_done
    assert bench.git("status", "--porcelain") == "MM b\n"
    assert bench.git("show", ":b") == "staged\n"
    assert bench.git("fsck", "--strict") == ""


def test_what_both_staged_is_refused_rather_than_lost(repository: LayerBench) -> None:
    bench = repository
    bench.work(f"echo 2 > a; {_GIT} commit -qam layer")
    assert bench.read_effects().commits
    bench.write("a", "staged\n")
    bench.git("add", "a")
    bench.write("a", "1\n")

    refused = bench.apply(EffectChoice(overwrite=frozenset({"a"}))).refused
    assert ".git/index" in refused
    assert bench.git("show", ":a") == "staged\n"
    assert bench.git("log", "--format=%s").split() == ["first"]


def test_what_is_only_staged_arrives_staged(repository: LayerBench) -> None:
    bench = repository
    bench.work("echo 2 > a; echo n > n; git add .")

    assert bench.apply().is_done
    assert bench.git("status", "--porcelain") == "M  a\nA  n\n"
    assert bench.git("fsck", "--strict") == ""


def test_commits_that_are_left_out_stay_in_the_layer_with_what_is_staged(repository: LayerBench) -> None:
    bench = repository
    bench.work(f"echo 2 > a; {_GIT} commit -qam layer")

    assert bench.apply(EffectChoice(left_out=frozenset({_MAIN}))).paths == ("a",)
    assert bench.git("status", "--porcelain") == " M a\n"
    assert bench.apply().refs == (_MAIN,)
    assert _find_problems(bench) == ""


def test_another_branch_is_checked_out(repository: LayerBench) -> None:
    bench = repository
    bench.work(f"git checkout -q -b topic; echo 2 > a; {_GIT} commit -qam layer")
    commits = {each.ref: (each.before, each.after) for each in bench.read_effects().commits}
    assert commits["HEAD"] == (_MAIN, "refs/heads/topic")

    assert bench.apply().is_done
    assert bench.git("branch", "--show-current") == "topic\n"
    assert _find_problems(bench) == ""
    assert bench.undo().is_done
    assert bench.git("branch", "--show-current") == "main\n"
    assert _find_problems(bench) == ""


def test_a_commit_that_no_branch_has_arrives_with_what_is_checked_out(repository: LayerBench) -> None:
    bench = repository
    bench.work(f"git checkout -q --detach; echo 2 > a; {_GIT} commit -qam apart")
    (head,) = bench.read_effects().commits
    assert (head.ref, head.count, head.subjects) == ("HEAD", 1, ("apart",))

    assert bench.apply().refs == ("HEAD",)
    assert bench.git("log", "--format=%s").split() == ["apart", "first"]
    assert _find_problems(bench) == ""
    assert bench.undo().is_done
    assert bench.git("log", "--format=%s").split() == ["first"]


_COMMIT = f"{_GIT} commit -qam"
_APART = f"git checkout -qb topic; echo 2 > a; {_COMMIT} t; git checkout -q -; echo 3 > a; {_COMMIT} m"
_STOP, _FINISH = f"{_GIT} merge -q topic || true", f"echo 4 > a; {_GIT} commit -qam merged"


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("before", "work", "shown"),
    [
        ("true", f"{_APART}; {_STOP}", "UU a\n"),
        (f"{_APART}; {_STOP}", _FINISH, ""),
        ("true", "echo n > n; git add -N n", " A n\n"),
    ],
)
def test_what_git_has_not_finished_arrives_though_the_person_looked_at_the_state_meanwhile(
    repository: LayerBench, before: str, work: str, shown: str
) -> None:
    bench = repository
    subprocess.run(["sh", "-ec", before], cwd=bench.workspace, env=bench.environ, check=True)
    bench.work(work)
    bench.ask(lambda layer: layer.note_files())
    os.utime(bench.workspace / "b", (1, 1))
    bench.git("status")

    assert bench.apply().is_done
    assert bench.git("status", "--porcelain") == shown
    assert "error" not in bench.git("fsck", "--strict")


def test_a_merge_that_is_not_finished_is_not_mixed_with_what_the_person_staged(repository: LayerBench) -> None:
    bench = repository
    bench.work(f"{_APART}; {_STOP}")
    bench.ask(lambda layer: layer.note_files())
    bench.write("b", "mine\n")
    bench.git("add", "b")

    assert bench.apply().refused[".git/index"].startswith("a merge of the layer is not finished")
    assert bench.git("status", "--porcelain") == "M  b\n"


def test_what_was_staged_is_not_put_over_another_branch_that_the_person_checked_out(
    repository: LayerBench,
) -> None:
    bench = repository
    bench.work(f"echo 2 > b; {_COMMIT} layer")
    bench.ask(lambda layer: layer.note_files())
    bench.git("checkout", "-q", "-b", "other")
    bench.write("a", "other\n")
    bench.git("commit", "-q", "-a", "-m", "other")

    assert "you checked out something else" in bench.apply().refused[".git/index"]
    assert (bench.read("b"), _find_problems(bench)) == ("1\n", "")
    bench.git("checkout", "-q", "main")
    assert bench.apply().is_done
    assert _find_problems(bench) == ""


@pytest.mark.long(after=1)
@pytest.mark.parametrize(("before", "after"), [("x", "x/y"), ("x/y", "x")])
def test_a_branch_arrives_in_the_place_of_one_that_git_cannot_have_beside_it(
    repository: LayerBench, before: str, after: str
) -> None:
    bench = repository
    bench.git("checkout", "-q", "-b", before)
    bench.git("branch", "other")
    bench.work(f"git branch -m {after}; git branch -D other; git tag v1")

    assert bench.apply().is_done
    assert bench.git("for-each-ref", "--format=%(refname:short)").split() == ["main", after, "v1"]
    assert bench.git("branch", "--show-current") == f"{after}\n"
    assert bench.undo().is_done
    assert bench.git("for-each-ref", "--format=%(refname:short)").split() == ["main", "other", before]
    assert bench.git("branch", "--show-current") == f"{before}\n"


def test_a_branch_that_had_to_go_first_is_there_again_if_git_moves_no_other(repository: LayerBench) -> None:
    bench = repository
    bench.git("branch", "x")
    bench.work("git branch -m x x/y; git tag v1")
    assert len(bench.read_effects().commits) == 3
    (bench.workspace / ".git/refs/tags/v1.lock").touch()

    assert not bench.apply().is_done
    assert bench.git("for-each-ref", "--format=%(refname:short)").split() == ["main", "x"]
    (bench.workspace / ".git/refs/tags/v1.lock").unlink()
    assert bench.apply().is_done


def test_packed_and_amended_history_arrives(repository: LayerBench) -> None:
    bench = repository
    bench.git("branch", "old")
    bench.work(f"echo 2 > a; {_GIT} commit -q --amend -am again; git branch -qD old; git gc -q --prune=now")

    effects = bench.read_effects()
    assert {each.ref: each.after == "" for each in effects.commits} == {_MAIN: False, "refs/heads/old": True}
    assert bench.apply().is_done
    assert bench.git("for-each-ref", "--format=%(refname)").split() == [_MAIN]
    assert bench.git("log", "--format=%s").split() == ["again"]
    assert _find_problems(bench) == ""


def test_hooks_and_settings_are_effects_of_their_own(repository: LayerBench) -> None:
    bench = repository
    bench.work("mkdir -p .git/hooks; echo true > .git/hooks/pre-commit; git config core.pager cat")

    effects = {each.path: each.protected for each in bench.read_effects().effects}
    assert effects == {".git/config": True, ".git/hooks/pre-commit": True}
    assert bench.apply(EffectChoice(left_out=frozenset(effects))).is_done
    assert not (bench.workspace / ".git/hooks/pre-commit").exists()


def test_a_repository_that_the_layer_made_arrives(bench: LayerBench) -> None:
    bench.write("a", "1\n")
    bench.work(
        f"git -c init.defaultBranch=main init -q; git add .; {_GIT} commit -qm first; git checkout -q -b topic"
    )

    assert bench.apply().is_done
    assert bench.git("log", "--format=%s") == "first\n"
    assert _find_problems(bench) == ""


@pytest.mark.parametrize("folder", [".", "below"])
def test_a_repository_that_arrived_as_files_is_taken_back_after_a_look_at_its_state(
    bench: LayerBench, folder: str
) -> None:
    bench.write("below/a", "1\n")
    bench.work(f"cd {folder}; git init -q; git add .; {_GIT} commit -qm first; echo 2 > index")
    assert bench.apply().is_done
    os.utime(bench.workspace / "below/a", (1, 1))
    bench.git("-C", folder, "status")

    assert bench.undo().is_done
    assert describe_tree(bench.workspace).keys() == {"below", "below/a"}


def test_what_was_put_away_stays_in_the_layer_and_that_is_said(repository: LayerBench) -> None:
    bench = repository
    bench.work(f"echo 2 > a; {_GIT} stash -q; echo 3 > b")

    assert bench.read_effects().not_captured == (
        "what git stash put away or took out in the layer stays there",
    )
    assert bench.apply().paths == ("b",)


def test_how_far_a_bisection_is_stays_in_the_layer_and_that_is_said(repository: LayerBench) -> None:
    bench = repository
    bench.work("git bisect start; git bisect bad")

    assert bench.read_effects().not_captured == (
        "which commits git bisect has judged in the layer stays there: git bisect reset ends it",
    )


def test_a_git_at_work_in_the_workspace_is_not_disturbed(repository: LayerBench) -> None:
    bench = repository
    bench.work(f"echo 2 > a; {_GIT} commit -qam layer")
    (bench.workspace / ".git/index.lock").touch()

    assert set(bench.apply().refused) == {".git/index.lock"}
    assert bench.read("a") == "1\n"
    (bench.workspace / ".git/index.lock").unlink()
    assert bench.apply().is_done


def test_commits_are_carried_over_from_within_by_a_process_that_nobody_may_look_into(
    repository: LayerBench,
) -> None:
    bench = repository

    def work() -> AppliedEffects:
        entered = enter_layer(bench.workspace, bench.environ)
        close_process_to_inspection()
        os.chdir(bench.workspace)
        layer = WorkspaceLayer(
            entered.folder,
            bench.environ,
            find_real=lambda: entered.real,
            closed=entered.closed,
            is_protected=lambda _: False,
        )
        script = f"echo 2 > a; git add .; {_GIT} commit -qm second"
        subprocess.run(("sh", "-ec", script), env=bench.environ, check=True)

        async def apply() -> AppliedEffects:
            effects = await layer.read_effects()
            assert [each.count for each in effects.commits] == [1]
            return await layer.apply(EffectChoice(), effects.digest)

        return asyncio.run(apply())

    assert run_forked(work).refs == (_MAIN,)
    assert bench.git("log", "--format=%s").split() == ["second", "first"]
    assert _find_problems(bench) == ""


_FIRST = "$(git rev-parse HEAD)"


@pytest.mark.parametrize(
    ("script", "word"),
    [
        (f"printf '%s' {_FIRST} > \".git/refs/heads/x {_FIRST}$(printf '\\nupdate ')\"", "no name for a ref"),
        (f"mkdir -p .git/refs/heads/..; printf '%s' {_FIRST} > .git/refs/heads/x.lock", "no name for a ref"),
        (f"echo '{_FIRST} refs/heads/a b' >> .git/packed-refs", "no name for a ref"),
        (f"printf '%s' {_FIRST} > .git/refs/heads/$(printf 'x\\342\\200\\256y')", "no name for a ref"),
        ("echo --all > .git/refs/heads/x", "names no commit"),
        ("echo ref: refs/heads/main > .git/refs/heads/x", "names no commit"),
        ("echo nothing > .git/refs/heads/main", "names no commit"),
        ("rm .git/HEAD; mkfifo .git/HEAD", "HEAD of the layer"),
        ("rm .git/HEAD; ln -s refs/heads/main .git/HEAD", "HEAD of the layer"),
        ("echo ref: refs/heads/../main > .git/HEAD", "HEAD of the layer"),
        ("echo refs/heads/main > .git/HEAD", "HEAD of the layer"),
        ("echo ref: refs/heads/other > .git/HEAD; echo more >> .git/HEAD", "HEAD of the layer"),
        ("echo nothing > .git/index", "index of the layer"),
        ("rm .git/index; mkfifo .git/index", "index of the layer"),
        ("rm .git/index; ln -s ../a .git/index", "index of the layer"),
    ],
)
def test_what_git_would_not_write_is_named_and_stays_in_the_layer(
    repository: LayerBench, script: str, word: str
) -> None:
    bench = repository
    bench.git("branch", "victim")
    before = describe_tree(bench.workspace)
    bench.work(f"{script.replace(_FIRST, bench.git('rev-parse', 'HEAD').strip())}; echo 1 > new")

    effects = bench.read_effects()
    assert [word in each for each in effects.not_captured] == [True]
    assert not effects.commits
    assert [each.path for each in effects.effects] == ["new"]
    assert bench.apply().is_done
    after = describe_tree(bench.workspace)
    assert after.pop("new")
    assert after == before


@pytest.mark.parametrize("splits", ["person", "layer"])
def test_an_index_that_is_split_arrives_whole(repository: LayerBench, splits: str) -> None:
    bench = repository
    if splits == "person":
        bench.git("update-index", "--split-index")
    then = "git update-index --split-index" if splits == "layer" else "true"
    bench.work(f"echo 2 > a; {_GIT} commit -qam layer; echo 1 > new; git add new; {then}")

    assert bench.apply().paths == (".git/index", "a", "new")
    assert bench.git("fsck", "--strict") == ""
    assert bench.git("status", "--porcelain") == "A  new\n"
    assert not bench.list_effects()


def test_a_commit_that_git_cannot_read_is_not_carried_over(repository: LayerBench) -> None:
    bench = repository
    make = "echo nothing | git hash-object -t commit --literally -w --stdin"
    bench.work(f"made=$({make}); echo $made > .git/refs/heads/x")

    (commit,) = bench.read_effects().commits
    assert "can read no commit" in commit.conflict
    assert not bench.apply().is_done
    assert bench.git("branch", "--list", "x") == ""


def test_programs_that_the_layer_names_for_git_do_not_run(repository: LayerBench) -> None:
    bench = repository
    mark = bench.workspace.parent / "ran"
    hook = f"#!/bin/sh\ntouch '{mark}'\n"
    bench.do(lambda: _name_programs(hook))
    bench.work(f"echo 2 > a; {_GIT} -c core.hooksPath=/dev/null -c core.fsmonitor= commit -qam layer")
    mark.unlink(missing_ok=True)

    assert bench.apply(EffectChoice()).is_done
    assert not mark.exists()


def _name_programs(hook: str) -> None:
    hooks = Path(".git/hooks")
    hooks.mkdir(exist_ok=True)
    for name in ("reference-transaction", "post-index-change", "fsmonitor"):
        (hooks / name).write_text(hook)
        os.chmod(hooks / name, 0o755)
    with open(".git/config", "a", encoding="utf-8") as file:
        file.write("[core]\n\tfsmonitor = .git/hooks/fsmonitor\n")
