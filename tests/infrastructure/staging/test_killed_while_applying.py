"""Whoever is killed while it applies effects, or takes them back, leaves all or nothing after recovery."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable
from itertools import count
from pathlib import Path

import pytest

from quorum.domain.staging.layer_effects import EffectChoice
from quorum.infrastructure.staging.layer_folder import hold_layer
from quorum.infrastructure.staging.workspace_layer import recover
from tests.infrastructure.staging.layer_bench import LayerBench, describe_tree
from tests.support.dying_process import run_until_killed

_WORK = """
    echo 2 > a; rm -r d; mkdir d; echo z > d/z; chmod 700 m; ln -s a l; mkdir -p n/e; echo q > n/e/q; rm b
    git add a; git -c user.name=a -c user.email=a@example.org commit -qm second; git branch topic
"""
_LEFT_OUT = frozenset({"n/e/q", "d/x"})


def _prepare(folder: Path) -> LayerBench:
    """A bench with effects of all kinds."""
    folder.mkdir()
    bench = LayerBench(folder.resolve())
    bench.environ |= {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}
    for name in ("a", "b", "d/x", "d/y", "m/in"):
        bench.write(name, "1\n")
    bench.git("init", "-q")
    bench.git("add", ".")
    bench.git("commit", "-q", "-m", "first")
    bench.work(_WORK)
    return bench


def _describe(bench: LayerBench) -> tuple[dict[str, str], str, str]:
    refs = bench.git("for-each-ref", "--format=%(refname) %(objectname)")
    return describe_tree(bench.workspace, without=".git"), refs, bench.git("ls-files", "--stage")


def _recover(bench: LayerBench) -> tuple[str, ...]:
    with hold_layer(bench.stored.folder) as folder:
        return recover(folder, bench.environ)


def _recover_or_die(bench: LayerBench, dice: random.Random) -> int:
    """Recover, which is killed itself at times; how often."""
    killed = 0
    while dice.random() < 0.3 and run_until_killed(lambda: _recover(bench), dice.randrange(20)):
        killed += 1
    _recover(bench)
    return killed


def _kill_everywhere(
    folder: Path, choice: EffectChoice, numbers: Iterable[int], dice: random.Random
) -> tuple[int, int]:
    """How often a process was killed, and how often nothing held then."""
    folder.mkdir(exist_ok=True)
    model = _prepare(folder / "model")
    before, shown = _describe(model), model.list_effects()
    assert model.apply(choice).is_done
    after, rest = _describe(model), model.list_effects()
    killed, nothing = 0, 0
    for number in numbers:
        bench = _prepare(folder / str(number))
        if not run_until_killed(lambda bench=bench: bench.apply(choice), number):  # type: ignore[misc]
            break
        killed += 1 + _recover_or_die(bench, dice)
        found = _describe(bench)
        assert found in (before, after), number
        nothing += found == before
        assert bench.list_effects() == (shown if found == before else rest), number
        assert bench.git("fsck", "--strict", "--no-dangling") == ""
        if found == before:
            assert bench.apply(choice).is_done
            assert (_describe(bench), bench.list_effects()) == (after, rest), number
        assert bench.undo().is_done
        assert _describe(bench) == before, number
        shutil.rmtree(folder / str(number), ignore_errors=True)
    return killed, nothing


@pytest.mark.long
@pytest.mark.parametrize("left_out", [frozenset[str](), _LEFT_OUT])
def test_killed_at_many_steps_all_or_nothing_holds(
    tmp_path: Path, layers: None, left_out: frozenset[str]
) -> None:
    choice = EffectChoice(left_out=left_out)
    killed, nothing = _kill_everywhere(tmp_path, choice, count(len(left_out), 5), random.Random(1))
    assert 10 < nothing < killed


def test_killed_in_the_middle_nothing_holds(tmp_path: Path, layers: None) -> None:
    bench = _prepare(tmp_path / "one")
    before, shown = _describe(bench), bench.list_effects()
    assert run_until_killed(bench.apply, 3, of=("move", "exchange"))
    assert _describe(bench) != before

    _recover(bench)
    assert (_describe(bench), bench.list_effects()) == (before, shown)
    assert bench.apply().is_done


@pytest.mark.long
def test_killed_while_undoing_all_or_nothing_is_undone(tmp_path: Path, layers: None) -> None:
    dice = random.Random(2)
    for number in count(step=3):
        bench = _prepare(tmp_path / str(number))
        before = _describe(bench)
        assert bench.apply().is_done
        after = _describe(bench)
        if not run_until_killed(bench.undo, number):
            break
        _recover_or_die(bench, dice)
        assert _describe(bench) in (before, after), number
        shutil.rmtree(tmp_path / str(number), ignore_errors=True)
    assert number > 20


def test_the_next_says_what_became_of_it(tmp_path: Path, layers: None) -> None:
    bench = _prepare(tmp_path / "one")
    assert run_until_killed(bench.apply, 1, of=("exchange",))

    (sentence,) = _recover(bench)
    assert "applying effects was broken off" in sentence
    assert _recover(bench) == ()
