"""Kills processes that apply the effects of a layer, and checks that all or nothing of them holds then.

Usage: python -m benchmarks.staged_kills [--deaths 1000] [--seed 1] [--folder FOLDER]

A third of the processes kills itself before one of its changes to names, modes and files on the disk, by
number, another third before one of those that change the workspace itself, and the last third is killed from
outside at a random instant. The recovery is killed at times, too. The
effects are of every kind: files made, changed, removed and of other modes, a link, folders made anew, a commit
and a branch. It stops at the first workspace, index or repository that is neither as before nor as after, at
the first layer that does not show what is still to be applied, and at the first undo that does not undo. What
was undone is applied again, by processes that are killed as well.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.infrastructure.staging.effects_of_all_kinds import (
    Described,
    describe_bench,
    prepare_bench,
    recover_bench,
)
from tests.infrastructure.staging.layer_bench import LayerBench, open_folders
from tests.support.dying_process import MOVES, run_until_killed

_STEPS, _MOVES = 220, 10  # a little more than an apply has
_RECOVERY_STEPS = 20


def _run_until_struck(work: Callable[[], object], secs: float) -> bool:
    """Do this in a fork that is killed from outside after so many seconds; whether it came so far."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    time.sleep(secs)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


class _Kills:
    """How many of the processes that applied were killed, how many of all from outside, and of those that
    recovered or applied again; and how often the folder was half-way before recovery, as before after it, and
    as after."""

    def __init__(self, dice: random.Random, folder: Path) -> None:
        self._dice, self._folder = dice, folder
        self.killed = self.struck = self.recovering = self.half_way = 0
        self.nothing = self.all = self.again = 0
        model = prepare_bench(folder / "model")
        self._before, self._shown = describe_bench(model), model.list_effects()
        began = time.monotonic()
        assert model.apply().is_done
        self._secs = time.monotonic() - began
        self._after, self._rest = describe_bench(model), model.list_effects()

    def _kill(self, work: Callable[[], object]) -> bool:
        kind = self._dice.randrange(3)
        if kind == 0:
            return run_until_killed(work, self._dice.randrange(_STEPS))
        if kind == 1:
            return run_until_killed(work, self._dice.randrange(_MOVES), of=MOVES)
        is_killed = _run_until_struck(work, self._dice.random() * self._secs)
        self.struck += is_killed
        return is_killed

    def kill(self, bench: LayerBench) -> bool:
        """Kill one that applies, and check what holds; whether the bench is as before, for another one."""
        is_killed = self._kill(bench.apply)
        self.killed += is_killed
        self.half_way += is_killed and self._describe_torn(bench) not in (self._before, self._after)
        while self._dice.random() < 0.3 and run_until_killed(
            lambda: recover_bench(bench), self._dice.randrange(_RECOVERY_STEPS)
        ):
            self.recovering += 1
        recover_bench(bench)
        found = describe_bench(bench)
        assert found in (self._before, self._after), bench.workspace
        assert bench.git("fsck", "--strict", "--no-dangling") == "", bench.workspace
        is_before = found == self._before
        assert is_killed or not is_before, (bench.workspace, bench.apply())
        assert bench.list_effects() == (self._shown if is_before else self._rest), bench.workspace
        if is_before:
            self.nothing += is_killed
            return True
        self.all += is_killed
        self._require_undone(bench)
        while self._dice.random() < 0.5 and self._kill(bench.redo):
            self.again += 1
            recover_bench(bench)
            found = describe_bench(bench)
            assert found in (self._before, self._after), bench.workspace
            assert bench.list_effects() == self._rest, bench.workspace
            if found == self._after:
                self._require_undone(bench)
        return False

    def _require_undone(self, bench: LayerBench) -> None:
        assert bench.undo().is_done, bench.workspace
        assert describe_bench(bench) == self._before, bench.workspace

    def _describe_torn(self, bench: LayerBench) -> Described | None:
        try:
            return describe_bench(bench)
        except (AssertionError, OSError):  # git reads no half-way state of its own files
            return None


def _main(deaths: int, seed: int, above: Path | None) -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=above) as held:
        folder = Path(held).resolve()
        kills, number = _Kills(random.Random(seed), folder), 0
        while kills.killed < deaths:
            bench = prepare_bench(folder / str(number))
            while kills.kill(bench) and kills.killed < deaths:
                if kills.killed % 50 == 0:
                    print(f"{kills.killed} killed", flush=True)
            open_folders(bench.workspace.parent)
            shutil.rmtree(bench.workspace.parent)
            number += 1
    print(
        f"{kills.killed} killed while they applied, {kills.struck} of them from outside, and "
        f"{kills.recovering} while they recovered, {kills.again} while they applied again, in "
        f"{time.monotonic() - began:.0f} s: {kills.half_way} "
        f"left the folder half-way; after recovery {kills.nothing} times nothing held, {kills.all} times all, "
        "and never a part"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--deaths", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None, help="on the disk that is meant")
    given = parser.parse_args()
    _main(given.deaths, given.seed, given.folder)
