"""Whatever the person edits while a layer changes and applies the same files: none of it is lost."""

from __future__ import annotations

import itertools
import os
import random
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from quorum.domain.staging.layer_effects import EffectChoice
from quorum.infrastructure.staging.workspace_layer import WorkspaceLayer
from tests.infrastructure.staging.layer_bench import LayerBench

_FILES, _EDITS = 20, 50


def edit(place: Path, number: int, dice: random.Random) -> None:
    """Put a line into a file at random, in place or as most editors do: by another file that takes its name."""
    with open(place, "rb") as file:
        lines = file.read().split(b"\n")
    lines.insert(dice.randrange(len(lines)), b"person %d" % number)
    if dice.random() < 0.5:
        place.write_bytes(b"\n".join(lines))
    else:
        beside = place.with_name(f".{place.name}.swap")
        beside.write_bytes(b"\n".join(lines))
        beside.replace(place)


def work_in_layer(root: Path, dice: random.Random) -> None:
    """Change, remove and replace files."""
    for number in range(_FILES):
        place = root / f"f{number}"
        match dice.randrange(4):
            case 0:
                place.write_text(place.read_text().replace("line 30\n", f"layer {number}\n"))
            case 1:
                place.write_text(f"layer {number}\n")
            case 2:
                place.unlink()
            case _:
                continue


@pytest.mark.long(after=1)
@pytest.mark.parametrize("seed", range(5))
def test_no_line_is_lost_that_the_person_writes_before_while_and_after_effects_are_applied(
    bench: LayerBench, seed: int
) -> None:
    dice, root = random.Random(seed), bench.workspace
    for number in range(_FILES):
        bench.write(f"f{number}", "".join(f"line {line}\n" for line in range(40)))
    bench.do(lambda: work_in_layer(Path(os.curdir), dice))
    numbers = iter(range(_EDITS))
    written: dict[str, list[int]] = {}

    def edit_one(number: int) -> str:
        while True:
            place = dice.choice([each for each in root.iterdir() if each.name.startswith("f")])
            with suppress(FileNotFoundError):  # it is removed just then, as was approved
                edit(place, number, dice)
                return place.name

    def edit_some(count: int) -> None:
        for number in itertools.islice(numbers, count):
            written.setdefault(edit_one(number), []).append(number)

    async def apply_what_can_be(layer: WorkspaceLayer) -> int:
        refusals, left = 0, frozenset[str]()
        while True:
            effects = await layer.read_effects()
            choice = EffectChoice(left_out=left & {each.path for each in effects.effects})
            # Those edit beside it who come first: with as many edits as there are it never is over.
            meanwhile = threading.Thread(target=edit_some, args=(max(0, 10 - refusals),))
            meanwhile.start()
            applied = await layer.apply(choice, effects.digest)
            meanwhile.join()
            if applied.is_done:
                return refusals
            refusals += 1
            assert refusals <= _FILES + _EDITS
            left |= {path for path, why in applied.refused.items() if "since the review" not in why}

    edit_some(_EDITS // 3)
    refusals = bench.ask(apply_what_can_be)
    edit_some(_EDITS)

    assert sum(map(len, written.values())) == _EDITS
    assert refusals
    # Where a program has a file open while another takes its place, what it writes then is in the one kept.
    kept = [each.read_text().split("\n") for each in bench.stored.folder.glob("applies/*/stage/*")]
    for name, wanted in written.items():
        held = [(root / name).read_text().split("\n"), *kept]
        assert [each for each in wanted if not any(f"person {each}" in lines for lines in held)] == [], name
