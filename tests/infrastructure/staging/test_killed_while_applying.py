"""Whoever is killed while it applies effects, or takes them back, leaves all or nothing after recovery."""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
import shutil
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from quorum.domain.errors import StagingError, ToolError
from quorum.domain.staging.layer_effects import EffectChoice
from quorum.infrastructure.git_worktrees import GitWriter
from quorum.infrastructure.staging import layer_folder
from quorum.infrastructure.staging.change_journal import ChangeJournal, ChangePlan
from quorum.infrastructure.staging.layer_repository import make_empty_repository
from tests.infrastructure.staging.effects_of_all_kinds import (
    Described,
    describe_bench,
    prepare_bench,
    recover_bench,
)
from tests.infrastructure.staging.layer_bench import LayerBench
from tests.support.dying_process import MOVES, run_until_killed

_LEFT_OUT = frozenset({"n/e/q", "d/x"})


def _recover_or_die(bench: LayerBench, dice: random.Random) -> int:
    """Recover, which is killed itself at times; how often."""
    killed = 0
    while dice.random() < 0.3 and run_until_killed(lambda: recover_bench(bench), dice.randrange(20)):
        killed += 1
    recover_bench(bench)
    return killed


def _kill_everywhere(
    folder: Path, choice: EffectChoice, numbers: Iterable[int], dice: random.Random
) -> tuple[int, int]:
    """How often a process was killed, and how often nothing held then."""
    folder.mkdir(exist_ok=True)
    model = prepare_bench(folder / "model")
    before, shown = describe_bench(model), model.list_effects()
    assert model.apply(choice).is_done
    after, rest = describe_bench(model), model.list_effects()
    killed, nothing = 0, 0
    for number in numbers:
        bench = prepare_bench(folder / str(number))
        if not run_until_killed(lambda bench=bench: bench.apply(choice), number):  # type: ignore[misc]
            break
        killed += 1 + _recover_or_die(bench, dice)
        found = describe_bench(bench)
        assert found in (before, after), number
        nothing += found == before
        assert bench.list_effects() == (shown if found == before else rest), number
        assert bench.git("fsck", "--strict", "--no-dangling") == ""
        if found == before:
            assert bench.apply(choice).is_done
            assert (describe_bench(bench), bench.list_effects()) == (after, rest), number
        assert bench.undo().is_done
        assert describe_bench(bench) == before, number
        shutil.rmtree(folder / str(number), ignore_errors=True)
    return killed, nothing


@pytest.mark.long
@pytest.mark.parametrize("left_out", [frozenset[str](), _LEFT_OUT])
def test_killed_at_many_steps_all_or_nothing_holds(
    tmp_path: Path, layers: None, left_out: frozenset[str]
) -> None:
    choice = EffectChoice(left_out=left_out)
    killed, nothing = _kill_everywhere(tmp_path, choice, count(len(left_out), 7), random.Random(1))
    assert 10 < nothing < killed


def test_killed_in_the_middle_nothing_holds(tmp_path: Path, layers: None) -> None:
    bench = prepare_bench(tmp_path / "one")
    before, shown = describe_bench(bench), bench.list_effects()
    assert run_until_killed(bench.apply, 3, of=("move", "exchange"))
    assert describe_bench(bench) != before

    recover_bench(bench)
    assert (describe_bench(bench), bench.list_effects()) == (before, shown)
    assert bench.apply().is_done


def _kill_after_refs_moved(folder: Path) -> tuple[LayerBench, Described]:
    bench = prepare_bench(folder)
    before = describe_bench(bench)
    assert run_until_killed(bench.apply, 1, of=("rename",))
    assert bench.git("log", "-1", "--format=%s").strip() == "second"
    return bench, before


def test_locks_that_a_git_left_whose_machine_went_down_keep_nothing_from_being_taken_back(
    tmp_path: Path, layers: None
) -> None:
    bench, before = _kill_after_refs_moved(tmp_path / "one")
    written = bench.workspace / ".git/refs/heads/main.lock"
    written.write_bytes((bench.workspace / ".git/refs/heads/main").read_bytes())
    for name in ("HEAD.lock", "packed-refs.lock"):
        (bench.workspace / ".git" / name).touch()
        os.utime(bench.workspace / ".git" / name, (1, 1))
    os.utime(bench.stored.folder / "applies/1/journal", (1, 1))

    recover_bench(bench)

    assert describe_bench(bench) == before
    assert list((bench.workspace / ".git").rglob("*.lock")) == []
    assert bench.apply().is_done


def test_a_lock_that_may_be_of_a_git_at_work_is_named_and_all_is_taken_back_once_it_is_gone(
    tmp_path: Path, layers: None
) -> None:
    bench, before = _kill_after_refs_moved(tmp_path / "one")
    lock = bench.workspace / ".git/HEAD.lock"
    lock.touch()

    with pytest.raises(
        StagingError, match=r"while /.*/\.git/HEAD\.lock is there: if no git works .* remove it"
    ):
        recover_bench(bench)
    lock.unlink()
    recover_bench(bench)

    assert describe_bench(bench) == before


@pytest.mark.long
def test_killed_while_undoing_all_or_nothing_is_undone(tmp_path: Path, layers: None) -> None:
    dice = random.Random(2)
    for number in count(step=3):
        bench = prepare_bench(tmp_path / str(number))
        before = describe_bench(bench)
        assert bench.apply().is_done
        after = describe_bench(bench)
        if not run_until_killed(bench.undo, number):
            break
        _recover_or_die(bench, dice)
        assert describe_bench(bench) in (before, after), number
        shutil.rmtree(tmp_path / str(number), ignore_errors=True)
    assert number > 20


@pytest.mark.long(after=1)
@pytest.mark.parametrize("first", range(3))
def test_killed_while_applying_again_all_or_nothing_of_it_holds(
    tmp_path: Path, layers: None, first: int
) -> None:
    dice, kept = random.Random(3), 0
    for number in (first, 40 + first, *range(3 + first, 90, 9)) if first else (7, 60):
        bench = prepare_bench(tmp_path / str(number))
        before = describe_bench(bench)
        assert bench.apply().is_done
        after = describe_bench(bench)
        assert bench.undo().is_done
        is_killed = run_until_killed(bench.redo, number)
        _recover_or_die(bench, dice)
        found = describe_bench(bench)
        assert found in (before, after), number
        assert is_killed or found == after, number
        assert bench.list_effects() == {}, number
        if found == before:
            kept += 1
            assert bench.redo().refused == {}
        assert describe_bench(bench) == after, number
        assert bench.undo().is_done
        assert describe_bench(bench) == before, number
        shutil.rmtree(tmp_path / str(number), ignore_errors=True)
    assert kept


def test_the_next_says_what_became_of_it(tmp_path: Path, layers: None) -> None:
    bench = prepare_bench(tmp_path / "one")
    assert run_until_killed(bench.apply, 1, of=("exchange",))

    (sentence,) = recover_bench(bench)
    assert "applying effects was broken off" in sentence
    assert recover_bench(bench) == ()


@pytest.mark.parametrize("how", ["discard", "undo_apply"])
def test_what_became_of_a_change_that_failed_in_the_same_process_is_said_by_the_next(
    how: str, bench: LayerBench
) -> None:
    bench.write("a", "person\n")
    bench.work("echo layer > a")
    with bench.opened() as layer:
        (stage := bench.stored.folder / "applies/1/stage").mkdir(parents=True)
        ChangeJournal(stage.parent, str(bench.workspace)).begin(ChangePlan(steps=()))

        with suppress(StagingError):  # nothing was applied that could be taken back
            asyncio.run(getattr(layer, how)())

        (said,) = layer.take_remarks()
        assert said == "applying effects was broken off; the workspace is as it was before they were applied"
        assert layer.take_remarks() == ()


def test_each_git_shares_a_lock_until_it_ends(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    make_empty_repository(tmp_path)

    git = GitWriter(tmp_path, {"PATH": os.defpath}, lock)
    tried = "!python3 -c 'import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)'"

    with pytest.raises(ToolError, match="BlockingIOError"):
        git.run("-c", f"alias.tried={tried}", "tried", str(lock))


def test_nothing_is_recovered_while_a_git_of_the_killed_process_works_on(
    tmp_path: Path, layers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = prepare_bench(tmp_path / "one")
    assert run_until_killed(bench.apply, 3, of=("move", "exchange"))
    torn = describe_bench(bench)
    monkeypatch.setattr(layer_folder, "_GIT_SECS", 0.0)
    with open(layer_folder.locate_git_lock(bench.stored.folder), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        with pytest.raises(StagingError, match="still runs; end it"):
            recover_bench(bench)
    assert describe_bench(bench) == torn

    recover_bench(bench)
    assert describe_bench(bench) != torn


@pytest.mark.long
def test_what_a_killed_recovery_put_back_is_no_change_of_the_person(tmp_path: Path, layers: None) -> None:
    bench = prepare_bench(tmp_path / "one")
    assert run_until_killed(bench.apply, 3, of=MOVES)
    for number in count():
        if not run_until_killed(lambda: recover_bench(bench), number, of=("rename", "replace")):
            break
        assert run_until_killed(bench.apply, 3, of=MOVES), number
    assert number > 0

    assert bench.apply().refused == {}
