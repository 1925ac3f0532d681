"""What a layer costs: its start and its first command next to the mode `sandboxed`, and reading many effects.

Usage: python -m benchmarks.staged [--files 300 30000 300000] [--runs 5] [--changed 10000] [--folder FOLDER]

CPU of whole runs of `quorum run` with the offline model, the two modes in turn, in workspaces of so many files;
then CPU and seconds from the files that were changed to what a review shows of them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from quorum.domain.staging.effects_overview import EffectsOverview
from tests.infrastructure.staging.layer_bench import LayerBench, open_folders
from tests.support.headless_run import QUORUM

_PER_FOLDER = 100
_MODES = ("sandboxed", "staged")


def _fill(root: Path, files: int) -> None:
    for first in range(0, files, _PER_FOLDER):
        folder = root / f"{first // 10_000}" / f"{first}"
        folder.mkdir(parents=True)
        for number in range(min(_PER_FOLDER, files - first)):
            (folder / f"{number}.txt").write_text(f"{first + number}\n")


def _measure_run(root: Path, home: Path, mode: str) -> tuple[float, float]:
    """CPU and wall seconds of a run that starts one command."""
    environ = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "PATH": os.environ["PATH"]}
    before, began = os.times(), time.monotonic()
    subprocess.run(
        (QUORUM, "run", "--quiet", "--mode", mode, "-m", "offline/offline", "run true"),
        cwd=root,
        env=environ,
        capture_output=True,
        check=True,
    )
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent, time.monotonic() - began


def _compare_starts(folder: Path, files: int, runs: int) -> None:
    root = folder / f"files-{files}"
    root.mkdir()
    _fill(root, files)
    found: dict[str, list[tuple[float, float]]] = {mode: [] for mode in _MODES}
    for number in range(runs + 1):
        for mode in _MODES:
            measured = _measure_run(root, folder / "home", mode)
            if number:  # the first of each reads what is on the disk
                found[mode].append(measured)
    for place, what in enumerate(("CPU", "wall")):
        usual, layered = (statistics.median(each[place] for each in found[mode]) for mode in _MODES)
        print(
            f"{files:,} files: {what} {usual:.2f} s sandboxed, {layered:.2f} s staged: {layered / usual:.2f}x"
        )
    shutil.rmtree(root)


def _measure_reading(folder: Path, changed: int) -> None:
    bench = LayerBench(folder)
    _fill(bench.workspace, changed)
    bench.work("find . -name '*.txt' -exec sh -c 'for each; do echo more >> \"$each\"; done' sh {} +")
    measured = []
    for _ in range(3):
        before, began = os.times(), time.monotonic()
        with bench.opened() as layer:
            effects = asyncio.run(layer.read_effects())
        overview = EffectsOverview.of(effects)
        after = os.times()
        assert len(overview.rows) == changed
        measured.append((after.user + after.system - before.user - before.system, time.monotonic() - began))
    cpu, secs = min(measured)
    print(f"{changed:,} changed files: read in {cpu:.2f} s of CPU, {secs:.2f} s, the best of three")
    open_folders(folder)


def _main(sizes: list[int], runs: int, changed: int, above: Path | None) -> None:
    with tempfile.TemporaryDirectory(dir=above) as held:
        folder = Path(held).resolve()
        (folder / "home").mkdir()
        print(f"load at the start: {os.getloadavg()[0]:.1f}", flush=True)
        _measure_reading(folder, changed)
        for files in sizes:
            _compare_starts(folder, files, runs)
        print(f"load at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--files", type=int, nargs="*", default=[300, 30_000, 300_000])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--changed", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, default=None, help="on the disk that is meant")
    given = parser.parse_args()
    _main(given.files, given.runs, given.changed, given.folder)
