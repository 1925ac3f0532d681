"""Undo and redo of real files of every kind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from quorum.domain.events.event import SessionRedone
from tests.support.rewind_rig import SECRET, RewindRig, tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


async def redo(rig: RewindRig) -> None:
    """Bring back the files of the last undo, as what is said has no place in a rig."""
    undo = rig.rewind.last_undo
    assert undo is not None
    await rig.rewind.restore(await rig.rewind.plan_redo(undo), redo=True)
    await rig.events.record(SessionRedone(turns=undo.turns, files=True, turn=undo.turn))


async def test_undone_turns_are_redone_one_after_the_other_with_modes_links_and_folders(root: Path) -> None:
    (root / "text").write_text("one\n")
    (root / "binary").write_bytes(bytes(range(256)) * 50)
    (root / "script").write_text("#!/bin/sh\n")
    (root / "deep").mkdir()
    (root / "deep" / "gone").write_text("gone")
    (root / "link").symlink_to("text")
    rig = RewindRig(root)

    def first() -> None:
        (root / "text").write_text("two\n")
        (root / "script").chmod(0o4750)
        shutil.rmtree(root / "deep")
        (root / "link").unlink()
        (root / "link").symlink_to("/etc/passwd")

    def second() -> None:
        (root / "text").write_text("three\n")
        (root / "binary").unlink()
        (root / "binary").mkdir()
        (root / "binary" / "file").write_text("new")
        (root / "made").write_bytes(b"\0\xff")

    trees = [tree(root)]
    for work in (first, second):
        await rig.turn(work)
        trees.append(tree(root))
    for turn in (1, 0):
        await rig.undo(turn)
        assert tree(root) == trees[turn]
    for turn in (0, 1):
        await redo(rig)
        assert tree(root) == trees[turn + 1]
    assert rig.rewind.last_undo is None
    await rig.undo(0)
    assert tree(root) == trees[0]


async def test_what_was_never_stored_is_said_and_stays_as_it_is(root: Path) -> None:
    (root / "key").write_bytes(b"old")
    rig = RewindRig(root)
    turn = await rig.turn(lambda: (root / "key").write_bytes(SECRET))
    await rig.undo(turn, "key")
    assert (root / "key").read_bytes() == b"old"
    undo = rig.rewind.last_undo
    assert undo is not None

    (step,) = (await rig.rewind.plan_redo(undo)).steps

    assert step.trouble is not None
    assert "its former content was not kept" in step.trouble
    await redo(rig)
    assert (root / "key").read_bytes() == b"old"
