"""What the person does while a layer is there is never overwritten unasked, and never lost."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from quorum.domain.staging.layer_effects import AppliedEffects, EffectChoice
from quorum.infrastructure.staging.workspace_layer import WorkspaceLayer
from tests.infrastructure.staging.layer_bench import LayerBench, describe_tree

_TEN = "".join(f"{number}\n" for number in range(10))


def _conflicts(bench: LayerBench) -> dict[str, str]:
    return {each.path: each.conflict for each in bench.read_effects().effects if each.conflict}


def test_a_file_that_both_changed_conflicts_and_nothing_is_applied(bench: LayerBench) -> None:
    bench.write("a", "1\n")
    bench.write("b", "1\n")
    bench.work("echo layer > a; echo layer > b")
    bench.write("a", "person\n")

    assert _conflicts(bench) == {"a": "you changed it since the layer began"}
    assert set(bench.apply().refused) == {"a"}
    assert (bench.read("a"), bench.read("b")) == ("person\n", "1\n")


def test_the_layer_wins_only_where_the_person_says_so(bench: LayerBench) -> None:
    bench.write("a", "1\n")
    bench.work("echo layer > a")
    bench.write("a", "person\n")

    assert bench.apply(EffectChoice(overwrite=frozenset({"a"}))).paths == ("a",)
    assert bench.read("a") == "layer\n"
    assert bench.undo().is_done
    assert bench.read("a") == "person\n"


@pytest.mark.parametrize("left_out", [(), ("kept",)])
def test_what_undoing_put_back_is_no_change_of_the_person(bench: LayerBench, left_out: tuple[str, ...]) -> None:
    for path in ("a", "b", "d/x", "kept"):
        bench.write(path, "1\n")
    script = ("sh", "-ec", "echo 2 >> a; rm -f b; rm -rf d; echo 3 > new; echo 4 >> kept")

    async def work(layer: WorkspaceLayer) -> tuple[bool, dict[str, str]]:
        await asyncio.to_thread(subprocess.run, script, check=True)
        effects = await layer.read_effects()
        applied = await layer.apply(EffectChoice(left_out=frozenset(left_out)), effects.digest)
        undone = await layer.undo_apply()
        await asyncio.to_thread(subprocess.run, script, check=True)
        again = await layer.read_effects()
        return applied.is_done and undone.is_done, {each.path: each.conflict for each in again.effects}

    is_done, found = bench.work_on(work)

    assert is_done
    assert found == dict.fromkeys(("a", "b", "d/x", "kept", "new"), "")


def test_a_file_of_the_same_name_and_a_deleted_one_conflict(bench: LayerBench) -> None:
    bench.write("deleted", "1\n")
    bench.write("gone", "1\n")
    bench.work("echo layer > same; echo layer > deleted; rm gone")
    bench.write("same", "person\n")
    bench.write("gone", "person\n")
    (bench.workspace / "deleted").unlink()

    assert set(_conflicts(bench)) == {"deleted", "gone", "same"}
    assert set(bench.apply().refused) == {"deleted", "gone", "same"}


def test_what_both_did_alike_is_no_effect_any_more(bench: LayerBench) -> None:
    bench.write("a", "1\n")
    bench.write("b", "1\n")
    bench.work("echo 2 > a; rm b; echo 3 > c")
    bench.write("a", "2\n")
    bench.write("c", "3\n")
    (bench.workspace / "b").unlink()

    assert bench.read_effects().is_empty


def test_a_new_file_of_the_person_in_a_folder_that_the_layer_deleted_stays(bench: LayerBench) -> None:
    bench.write("d/old", "1\n")
    bench.work("rm -r d")
    bench.write("d/new", "person\n")

    effects = bench.read_effects()
    assert ([each.path for each in effects.effects], effects.read_meanwhile) == (["d/old"], ("d/new",))
    assert bench.apply().is_done
    assert (bench.read("d/old"), bench.read("d/new")) == (None, "person\n")


def test_a_file_in_a_folder_that_the_person_removed_conflicts(bench: LayerBench) -> None:
    bench.write("d/old", "1\n")
    bench.work("echo layer > d/new")
    (bench.workspace / "d/old").unlink()
    (bench.workspace / "d").rmdir()

    assert set(_conflicts(bench)) == {"d/new"}


def test_times_and_modes_of_the_person_are_no_conflict_once_the_content_is_known(bench: LayerBench) -> None:
    bench.write("a", "1\n")
    bench.work("echo layer > a")
    assert not _conflicts(bench)
    os.utime(bench.workspace / "a", (1, 1))
    os.link(bench.workspace / "a", bench.workspace / "b")

    assert not _conflicts(bench)
    assert bench.apply().is_done
    assert bench.read("b") == "1\n"


def test_a_renamed_file_is_none_that_the_person_deleted(bench: LayerBench) -> None:
    bench.write("a", "1\n")
    bench.write("c", "1\n")
    bench.work("mv a b; ln c d")
    bench.write("unrelated", "person\n")

    assert not _conflicts(bench)


def test_a_renamed_file_that_was_looked_at_before_is_none_either(bench: LayerBench) -> None:
    bench.write("a", "1\n")
    bench.work("mv a b; echo 2 >> b")
    with bench.opened() as layer:
        asyncio.run(layer.note_files())
    bench.write("unrelated", "person\n")

    assert not _conflicts(bench)


def test_a_new_file_of_the_person_is_no_change_of_its_folder(bench: LayerBench) -> None:
    bench.write("d/a", "1\n")
    bench.work("chmod 700 d")
    bench.write("d/b", "person\n")

    assert not _conflicts(bench)
    assert bench.apply().paths == ("d/",)
    assert (bench.workspace / "d").stat().st_mode & 0o777 == 0o700


def test_other_lines_of_both_are_merged(bench: LayerBench) -> None:
    bench.write("a", _TEN)
    bench.work("sed -i 's/^2$/layer/' a")
    assert not _conflicts(bench)
    bench.write("a", _TEN.replace("8", "person"))

    assert _conflicts(bench)
    assert bench.apply().is_done
    assert bench.read("a") == _TEN.replace("2", "layer").replace("8", "person")
    assert bench.read_effects().is_empty


@pytest.mark.long
def test_what_several_subagents_have_noted_at_once_is_merged_as_well(bench: LayerBench) -> None:
    names = [f"f{number}" for number in range(40)]
    for name in names:
        bench.write(name, f"{name}\n{_TEN}")
    bench.work("sed -i 's/^2$/layer/' f*")

    async def note_at_once(layer: WorkspaceLayer) -> None:
        await asyncio.gather(*(layer.note_files() for _ in range(4)))

    bench.ask(note_at_once)
    for name in names:
        bench.write(name, f"{name}\n" + _TEN.replace("8", "person"))

    assert bench.apply().refused == {}
    both = _TEN.replace("2", "layer").replace("8", "person")
    assert [bench.read(name) for name in names] == [f"{name}\n{both}" for name in names]


def test_the_same_lines_of_both_are_not(bench: LayerBench) -> None:
    bench.write("a", _TEN)
    bench.work("sed -i 's/^2$/layer/' a")
    assert not _conflicts(bench)
    bench.write("a", _TEN.replace("2", "person"))

    assert bench.apply().refused == {"a": "you and the layer changed the same lines"}
    assert bench.read("a") == _TEN.replace("2", "person")


def test_what_changed_since_the_review_is_named_and_nothing_is_applied(bench: LayerBench) -> None:
    bench.write("a", "1\n")
    bench.write("b", "1\n")
    bench.work("echo layer > a; echo layer > b")

    async def apply() -> AppliedEffects:
        with bench.opened() as layer:
            effects = await layer.read_effects()
            bench.write("b", "person\n")
            return await layer.apply(EffectChoice(), effects.digest)

    assert asyncio.run(apply()).refused == {"b": "it changed since the review"}
    assert (bench.read("a"), bench.read("b")) == ("1\n", "person\n")


def test_a_conflict_that_was_left_out_is_one_still_after_others_are_applied(bench: LayerBench) -> None:
    bench.write("a", "1\n")
    bench.write("b", "1\n")
    bench.work("echo layer > a; echo layer > b")
    bench.write("a", "person\n")

    assert bench.apply(EffectChoice(left_out=frozenset({"a"}))).paths == ("b",)
    assert set(_conflicts(bench)) == {"a"}


def test_what_was_applied_and_is_changed_again_in_the_layer_is_no_conflict(bench: LayerBench) -> None:
    bench.write("a", "1\n")
    bench.work("echo 2 > a; echo rest > rest")
    assert bench.apply(EffectChoice(left_out=frozenset({"rest"}))).paths == ("a",)
    bench.work("echo 3 > a")

    assert not _conflicts(bench)
    assert bench.apply(EffectChoice(left_out=frozenset({"rest"}))).paths == ("a",)
    assert bench.read("a") == "3\n"


def test_undoing_is_refused_where_the_person_went_on(bench: LayerBench) -> None:
    bench.write("a", "1\n")
    bench.write("b", "1\n")
    bench.work("echo 2 > a; echo 2 > b")
    assert bench.apply().is_done
    bench.write("b", "person\n")

    assert set(bench.undo().refused) == {"b"}
    assert (bench.read("a"), bench.read("b")) == ("2\n", "person\n")


def test_a_link_that_the_person_put_in_the_way_is_not_followed(bench: LayerBench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    bench.write("d/a", "1\n")
    bench.work("echo layer > d/a; echo layer > d/b")
    (bench.workspace / "d/a").rename(bench.workspace / "a")
    (bench.workspace / "d").rmdir()
    (bench.workspace / "d").symlink_to(outside)

    everything = frozenset(each.path for each in bench.read_effects().effects)
    bench.apply(EffectChoice(overwrite=everything))

    assert not describe_tree(outside)
