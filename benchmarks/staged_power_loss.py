"""Cuts the power of a disk while the effects of a layer are applied, and checks that all or nothing holds.

Usage: python -m benchmarks.staged_power_loss [--cuts 200] [--seed 1] [--disk ext4] [--above FOLDER]

As root, on Linux, with mkfs.xfs. The disk is an image, and what had been sent to it at the instant of the cut
is what the next start finds: whatever the system still kept in its memory is gone. A third of the cuts comes
after an apply that has said that it is done, the others before one of its changes, and a third of all that
recover are cut, too. Half of the layers were worked in so shortly before that only the workspace is on the disk
for certain. It stops at the first workspace, index or repository that is neither as before nor as after, and at
the first that is not as after where the apply was done.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.infrastructure.staging.effects_of_all_kinds import (
    Described,
    describe_bench,
    prepare_bench,
    recover_bench,
    work_bench,
)
from tests.infrastructure.staging.layer_bench import LayerBench
from tests.support.dying_process import run_until_killed

_STEPS = 220  # a little more than an apply has
_SIZES = {"ext4": "64M", "xfs": "320M", "btrfs": "128M"}
_FORMAT = {"ext4": ("mkfs.ext4", "-qF"), "xfs": ("mkfs.xfs", "-qf"), "btrfs": ("mkfs.btrfs", "-qf")}


def _run(*words: str | Path) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def _mounted(image: Path, place: Path, *options: str, is_left: bool = False) -> Iterator[None]:
    _run("mount", "-o", "loop", *options, image, place)
    try:
        yield
    finally:
        _run("umount", *(("--lazy",) if is_left else ()), place)


def _copy(image: Path, to: Path) -> Path:
    """What has been sent to the disk by now, at one instant: the file system below copies it by reference."""
    to.unlink(missing_ok=True)
    _run("cp", "--reflink=always", image, to)
    return to


class _Disk:
    """Images of a disk, and the place where one of them is mounted."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._folder, self.place = folder, folder / "disk"
        self.place.mkdir()
        self.new = folder / "images" / "new"
        self._options = ("-o", "nouuid") if kind == "xfs" else ()  # copies have the name of their original
        _run("truncate", "-s", _SIZES[kind], self.new)
        _run(*_FORMAT[kind], self.new)

    @contextmanager
    def use(self, image: Path, name: str) -> Iterator[Path]:
        """A copy of an image, mounted."""
        copy = _copy(image, self._folder / "images" / name)
        with _mounted(copy, self.place, *self._options):
            yield copy

    def cut(self, image: Path, name: str) -> Path:
        """What would be left of an image that is mounted."""
        return _copy(image, self._folder / "images" / name)


class _Cuts:
    """How often power was cut during an apply, after it and during recovery, and what held then."""

    def __init__(self, disk: _Disk, dice: random.Random) -> None:
        self._disk, self._dice = disk, dice
        self.applying = self.done = self.recovering = self.nothing = self.all = 0
        with disk.use(disk.new, "begun") as self._begun:
            prepare_bench(disk.place / "bench", is_worked=False)
            os.sync()
        with disk.use(self._begun, "worked") as self._worked:
            bench = self._find()
            work_bench(bench)
            self._before = describe_bench(bench)
            os.sync()
        with disk.use(self._worked, "model"):
            bench = self._find()
            assert bench.apply().is_done
            self._after = describe_bench(bench)

    def _find(self) -> LayerBench:
        """The bench on the disk, as a machine finds it that started since: what git locked is old by then."""
        bench = prepare_bench(self._disk.place / "bench", is_new=False)
        for place in (
            *bench.workspace.glob(".git/**/*.lock"),
            *bench.workspace.parent.glob("**/applies/*/journal"),
        ):
            os.utime(place, (1, 1))
        return bench

    def cut(self) -> None:
        """Cut once, start again, and check what holds."""
        is_safe = self._dice.random() < 0.5
        step = self._dice.randrange(_STEPS) if self._dice.random() < 2 / 3 else 10 * _STEPS
        with self._disk.use(self._worked if is_safe else self._begun, "running") as running:
            bench = self._find()
            if not is_safe:
                work_bench(bench)
            is_done = not run_until_killed(bench.apply, step)
            left = self._disk.cut(running, "cut")
        self.done += is_done
        self.applying += not is_done
        while self._dice.random() < 1 / 3:
            with self._disk.use(left, "recovering") as running:
                bench = self._find()
                self.recovering += run_until_killed(self._recovering(bench), self._dice.randrange(20))
                left = self._disk.cut(running, "cut again")
        with self._disk.use(left, "found"):
            self._check(self._find(), is_done=is_done, is_safe=is_safe)

    @staticmethod
    def _recovering(bench: LayerBench) -> Callable[[], object]:
        return lambda: recover_bench(bench) if bench.list_stored() else None

    def _check(self, bench: LayerBench, *, is_done: bool, is_safe: bool) -> None:
        is_kept = is_safe or bool(bench.list_stored())  # a layer that was never on the disk may be gone
        if is_kept:
            recover_bench(bench)
        found: Described = describe_bench(bench)
        assert found in (self._before, self._after), found
        assert not is_done or found == self._after, found
        assert bench.git("fsck", "--strict", "--no-dangling") == ""
        if found == self._after:
            self.all += 1
            if not is_kept:
                return
            assert bench.undo().is_done
            assert describe_bench(bench) == self._before
            return
        self.nothing += 1
        if is_safe:
            applied = bench.apply()
            assert applied.is_done, applied
            assert describe_bench(bench) == self._after


def _main(cuts: int, seed: int, kind: str, above: Path | None) -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=above) as held:
        folder = Path(held).resolve()
        (folder / "images").mkdir()
        _run("truncate", "-s", "8G", folder / "below")
        _run("mkfs.xfs", "-q", "-m", "reflink=1", folder / "below")
        # The disk that was in use last may still be let go of when all is over.
        with _mounted(folder / "below", folder / "images", is_left=True):
            counted = _Cuts(_Disk(folder, kind), random.Random(seed))
            for number in range(1, cuts + 1):
                counted.cut()
                if number % 20 == 0:
                    print(f"{number} cuts", flush=True)
    print(
        f"{cuts} cuts on {kind} in {time.monotonic() - began:.0f} s: {counted.applying} while the effects were "
        f"applied, {counted.done} as soon as they were, and {counted.recovering} more in recovery; then "
        f"{counted.nothing} times nothing held, {counted.all} times all, and never a part"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cuts", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--disk", choices=sorted(_SIZES), default="ext4")
    parser.add_argument("--above", type=Path, default=None, help="where the images lie")
    given = parser.parse_args()
    _main(given.cuts, given.seed, given.disk, given.above)
