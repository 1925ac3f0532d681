"""Whatever happens to the workspace or the disk while effects are applied, nothing of the person's is lost."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from quorum.domain.errors import StagingError
from quorum.domain.staging.layer_effects import AppliedEffects, EffectChoice
from quorum.infrastructure.staging import change_journal, mounting, renaming
from quorum.infrastructure.staging.layer_folder import create_layer
from tests.infrastructure.staging.layer_bench import LayerBench, describe_tree, open_folders
from tests.support.layer_process import run_forked

_NAMES = ("a", "b", "d/a", "d/b", "d/e/a", "new", "d/new")
_LINES = "".join(f"line {number}\n" for number in range(12))


class _Person:
    """Edits files at random, and knows what they have to hold since."""

    def __init__(self, bench: LayerBench, dice: random.Random) -> None:
        self._bench = bench
        self._dice = dice
        self.lines: dict[str, str] = {}

    def edit(self) -> None:
        """One edit: a line more in place, a new file in its place as editors write it, or a new file."""
        path = self._bench.workspace / self._dice.choice(_NAMES)
        line = f"person {self._dice.random()}\n"
        if not path.parent.is_dir() or path.parent.is_symlink():
            return
        held = path.read_text() if path.exists() else ""
        if self._dice.random() < 0.5:
            with open(path, "a", encoding="utf-8") as file:
                file.write(line)
        else:
            beside = path.with_name(".swap")
            beside.write_text(held + line)
            beside.rename(path)
        self.lines[str(path.relative_to(self._bench.workspace))] = line


def _edit_while_applying(bench: LayerBench, seed: int, patch: pytest.MonkeyPatch) -> tuple[bool, int]:
    """Whether the effects were applied, and how many edits the person made meanwhile."""
    dice = random.Random(seed)
    for name in _NAMES[:-2]:
        bench.write(name, _LINES)
    chosen = dice.sample(_NAMES, 4)
    bench.work(
        "; ".join(dice.choice((f"echo layer >> {n}", f"rm -f {n}", f"sed -i 1d {n} || :")) for n in chosen)
    )
    person = _Person(bench, dice)
    moments = set(dice.sample(range(12), dice.randrange(1, 4)))
    if 0 in moments:
        person.edit()
    steps = 1

    def meanwhile(change: Callable[..., Any]) -> Callable[..., Any]:
        def edited(*arguments: Any) -> None:
            nonlocal steps
            steps += 1
            if steps in moments:
                person.edit()
            change(*arguments)
            if steps + 6 in moments:
                person.edit()

        return edited

    async def apply() -> AppliedEffects:
        with bench.opened() as layer:
            effects = await layer.read_effects()
            if 1 in moments:
                person.edit()
            return await layer.apply(EffectChoice(), effects.digest)

    with patch.context() as inside:
        for name in ("move", "exchange"):
            inside.setattr(change_journal, name, meanwhile(getattr(renaming, name)))
        done = asyncio.run(apply()).is_done
    for path, line in person.lines.items():
        assert line in (bench.read(path) or ""), (seed, path)
    return done, len(person.lines)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_nothing_that_the_person_writes_meanwhile_is_lost(
    bench: LayerBench, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    _edit_while_applying(bench, seed, monkeypatch)


@pytest.mark.long
def test_nothing_of_many_edits_meanwhile_is_lost(
    tmp_path: Path, layers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = []
    for seed in range(100, 200):
        folder = tmp_path / str(seed)
        folder.mkdir()
        ends.append(_edit_while_applying(LayerBench(folder.resolve()), seed, monkeypatch))
    open_folders(tmp_path)
    assert sum(edits for _, edits in ends) > 100
    assert 7 < sum(done for done, _ in ends) < 93


def _fill_and_apply(folder: Path, spare: int) -> tuple[str, bool]:
    """How applying ended on a disk with so much room left, and whether the workspace is all old or all new."""
    mounting.enter_namespaces()
    mounting._call("mount", b"none", os.fsencode(folder), b"tmpfs", 0, b"size=2m,nr_inodes=9999")
    bench = LayerBench(folder)
    for number in range(40):
        bench.write(f"d/{number}", "old\n")
    state = Path(bench.environ["XDG_STATE_HOME"]) / "quorum"
    upper = create_layer(state, str(bench.workspace)) / "up"
    (upper / "d").mkdir()
    for number in range(60):
        (upper / f"d/{number}").write_text("new\n")
    (upper / "d").chmod((bench.workspace / "d").stat().st_mode & 0o7777)
    before = describe_tree(bench.workspace)
    assert len(bench.read_effects().effects) == 60
    with open(folder / "ballast", "wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(b"x" * 4096)
    os.truncate(folder / "ballast", (os.path.getsize(folder / "ballast") // 4096 - spare) * 4096)
    try:
        refused = bench.apply().refused
    except StagingError as error:
        refused = {".": str(error)}
    held = describe_tree(bench.workspace)
    if refused:
        is_whole = held == before
        (folder / "ballast").unlink()
        return next(iter(refused.values())), is_whole and bench.apply().is_done
    is_new = len(held) == 61 and {bench.read(f"d/{number}") for number in range(60)} == {"new\n"}
    (folder / "ballast").unlink()
    (upper / "later").write_text("later\n")
    return "", is_new and bench.apply().is_done and bench.read("later") == "later\n"


@pytest.mark.long(after=2)
@pytest.mark.parametrize("spare", [4, 5, 40, 0, 1, 6, 8])
def test_on_a_full_disk_nothing_is_applied_or_all(tmp_path: Path, layers: None, spare: int) -> None:
    said, is_whole = run_forked(lambda: _fill_and_apply(tmp_path.resolve(), spare))

    assert is_whole
    assert not said or "No space left" in said
    assert bool(said) == (spare < 5)
