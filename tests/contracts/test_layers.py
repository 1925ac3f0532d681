"""One body for all layers: real ones, reached from outside, and the fake of tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from quorum.application.ports.workspace import Layer
from quorum.domain.errors import StagingError
from quorum.domain.staging.layer_effects import EffectChoice, LayerEffectKind
from quorum.infrastructure.staging.layer_folder import list_layers
from quorum.infrastructure.staging.workspace_layer import open_layer
from tests.support.fake_layer import FakeLayer
from tests.support.layer_process import layers as layers
from tests.support.layer_process import run_in_layer

BEFORE = {"a.py": b"one\n", "b.py": b"two\n", "c.py": b"three\n"}
WORK = {"a.py": b"one\nmore\n", "b.py": None, "d/new.py": b"new\n"}
AFTER = {"a.py": b"one\nmore\n", "c.py": b"three\n", "d/new.py": b"new\n"}


def write(root: Path, files: Mapping[str, bytes | None]) -> None:
    for name, content in files.items():
        path = root / name
        if content is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


class RealRig:
    """A layer over a folder, in which a process of its own has worked and ended."""

    def __init__(self, folder: Path, held: ExitStack) -> None:
        self.root = folder / "work"
        write(self.root, BEFORE)
        environ = {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "PATH": "/usr/bin:/bin"}
        run_in_layer(self.root, environ, lambda _entered: write(self.root, WORK))
        (stored,) = list_layers(folder / "state" / "quorum", self.root)
        self.layer: Layer = held.enter_context(
            open_layer(stored, environ, lambda path: path.endswith("protected"), lambda _said: None)
        )

    def write_outside(self, files: Mapping[str, bytes | None]) -> None:
        write(self.root, files)

    def read_outside(self) -> dict[str, bytes]:
        files = (path for path in self.root.rglob("*") if path.is_file())
        return {str(path.relative_to(self.root)): path.read_bytes() for path in files}


class FakeRig:
    """The same in memory."""

    def __init__(self) -> None:
        self._fake = FakeLayer(BEFORE)
        for path, content in WORK.items():
            self._fake.write(path, content)
        self.layer: Layer = self._fake

    def write_outside(self, files: Mapping[str, bytes | None]) -> None:
        for path, content in files.items():
            self._fake.write_outside(path, content)

    def read_outside(self) -> dict[str, bytes]:
        return dict(self._fake.workspace)


@pytest.fixture(params=["real", "fake"])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RealRig | FakeRig]:
    if request.param == "fake":
        yield FakeRig()
        return
    request.getfixturevalue("layers")
    with ExitStack() as held:
        yield RealRig(tmp_path, held)


async def test_effects_are_told_by_path_with_what_stood_and_stands_there(rig: RealRig | FakeRig) -> None:
    effects = await rig.layer.read_effects()

    assert [(each.path, each.kind, each.added, each.removed) for each in effects.effects] == [
        ("a.py", LayerEffectKind.REPLACE, 1, 0),
        ("b.py", LayerEffectKind.DELETE, 0, 1),
        ("d/new.py", LayerEffectKind.CREATE, 1, 0),
    ]
    assert await rig.layer.read_content("a.py", before=True) == b"one\n"
    assert await rig.layer.read_content("a.py", before=False) == b"one\nmore\n"
    assert await rig.layer.read_content("b.py", before=False) is None
    assert rig.read_outside() == BEFORE


async def test_everything_is_applied_and_nothing_waits_then(rig: RealRig | FakeRig) -> None:
    effects = await rig.layer.read_effects()

    applied = await rig.layer.apply(EffectChoice(), effects.digest)

    assert applied.is_done
    assert sorted(applied.paths) == sorted(WORK)
    assert rig.read_outside() == AFTER
    assert (await rig.layer.read_effects()).is_empty


async def test_what_is_left_out_stays_in_the_layer(rig: RealRig | FakeRig) -> None:
    effects = await rig.layer.read_effects()

    await rig.layer.apply(EffectChoice(left_out=frozenset({"b.py"})), effects.digest)

    assert rig.read_outside() == {**AFTER, "b.py": b"two\n"}
    assert [each.path for each in (await rig.layer.read_effects()).effects] == ["b.py"]


async def test_a_digest_of_other_effects_applies_nothing(rig: RealRig | FakeRig) -> None:
    assert not (await rig.layer.apply(EffectChoice(), "0" * 64)).is_done
    assert rig.read_outside() == BEFORE


async def test_what_the_person_changed_meanwhile_is_refused_whole_unless_it_is_to_be_replaced(
    rig: RealRig | FakeRig,
) -> None:
    rig.write_outside({"a.py": b"mine\n"})
    effects = await rig.layer.read_effects()
    assert [each.path for each in effects.effects if each.conflict] == ["a.py"]

    refused = await rig.layer.apply(EffectChoice(), effects.digest)

    assert list(refused.refused) == ["a.py"]
    assert rig.read_outside() == {**BEFORE, "a.py": b"mine\n"}
    assert (await rig.layer.apply(EffectChoice(overwrite=frozenset({"a.py"})), effects.digest)).is_done
    assert rig.read_outside() == AFTER


async def test_what_was_applied_last_is_taken_back_once(rig: RealRig | FakeRig) -> None:
    effects = await rig.layer.read_effects()
    await rig.layer.apply(EffectChoice(), effects.digest)

    assert (await rig.layer.undo_apply()).is_done

    assert rig.read_outside() == BEFORE
    with pytest.raises(StagingError):
        await rig.layer.undo_apply()


async def test_what_was_taken_back_is_applied_again_and_can_be_taken_back_again(rig: RealRig | FakeRig) -> None:
    effects = await rig.layer.read_effects()
    await rig.layer.apply(EffectChoice(), effects.digest)
    with pytest.raises(StagingError):
        await rig.layer.redo_apply()
    undone = await rig.layer.undo_apply()

    assert set((await rig.layer.redo_apply()).paths) == set(undone.paths)
    assert rig.read_outside() == AFTER
    assert (await rig.layer.read_effects()).is_empty
    assert (await rig.layer.undo_apply()).is_done
    assert rig.read_outside() == BEFORE


async def test_nothing_is_applied_again_over_what_the_person_wrote_since(rig: RealRig | FakeRig) -> None:
    effects = await rig.layer.read_effects()
    await rig.layer.apply(EffectChoice(), effects.digest)
    await rig.layer.undo_apply()
    rig.write_outside({"a.py": b"mine\n"})

    assert list((await rig.layer.redo_apply()).refused) == ["a.py"]
    assert rig.read_outside() == {**BEFORE, "a.py": b"mine\n"}


async def test_nothing_is_taken_back_over_what_the_person_wrote_since(rig: RealRig | FakeRig) -> None:
    effects = await rig.layer.read_effects()
    await rig.layer.apply(EffectChoice(), effects.digest)
    rig.write_outside({"a.py": b"mine\n"})

    undone = await rig.layer.undo_apply()

    assert list(undone.refused) == ["a.py"]
    assert rig.read_outside() == {**AFTER, "a.py": b"mine\n"}


async def test_discarding_leaves_the_folder_as_it_is(rig: RealRig | FakeRig) -> None:
    await rig.layer.discard()

    assert (await rig.layer.read_effects()).is_empty
    assert rig.read_outside() == BEFORE
