"""What is known of files from one session to the next: it saves reading, and is never wrong."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from quorum.domain.calls.effects import FileMark
from quorum.infrastructure.store.snapshots import cache
from quorum.infrastructure.store.snapshots.cache import IndexedFile, SavedIndex
from quorum.infrastructure.store.snapshots.reading import build_mark
from tests.infrastructure.snapshots.test_snapshot_keeper import ReadPaths, kept_ahead, old
from tests.support.fake_contents import FakeContents
from tests.support.rewind_rig import SECRET, RewindRig

_HASH = "ab" * 32


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def settled(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of files is worth an index, and all were changed long before they are read."""
    monkeypatch.setattr(cache, "_WORTH_SAVING", 1)
    ahead_ns = os.stat(root).st_ctime_ns + 3600 * 10**9
    monkeypatch.setattr("quorum.infrastructure.store.snapshots.reading.time.time_ns", lambda: ahead_ns)


def index_of(root: Path, policy: str = "", store: str = "", most_indexes: int = 10) -> SavedIndex:
    return SavedIndex(
        root.parent / "state" / "file-index",
        [str(root)],
        store=store,
        policy=policy,
        holds_secret=lambda content: SECRET in content,
        most_indexes=most_indexes,
    )


def session(root: Path, contents: FakeContents) -> RewindRig:
    return RewindRig(root, saved_index=index_of(root), contents=contents)


@pytest.fixture
async def contents(root: Path) -> FakeContents:
    """What a first session kept, which left an index."""
    for name in ("a", "b", "inner/c"):
        old(root / name, f"first {name}")
    kept = FakeContents()
    await kept_ahead(session(root, kept))
    return kept


def file_of(root: Path) -> Path:
    (path,) = (root.parent / "state" / "file-index").iterdir()
    return path


async def restored(rig: RewindRig, change: Callable[[], object], root: Path) -> dict[str, str]:
    """What the files hold after a turn changed them and was undone."""
    turn = await rig.turn(change)
    await rig.undo(turn)
    return {name: (root / name).read_text() for name in ("a", "b", "inner/c")}


def overwrite_all(root: Path) -> None:
    for path in root.rglob("*"):
        if path.is_file():
            path.write_text("overwritten")


async def test_a_later_session_reads_nothing_that_an_earlier_one_kept_and_can_give_it_back(
    root: Path, contents: FakeContents, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig, reads = session(root, contents), ReadPaths(monkeypatch)

    kept = await rig.keeper.keep()

    assert reads.take() == []
    assert {state.unkept for state in kept.states.values()} == {None}
    assert await restored(rig, lambda: overwrite_all(root), root) == {
        "a": "first a",
        "b": "first b",
        "inner/c": "first inner/c",
    }


async def test_the_index_is_private_and_nothing_is_left_beside_it(root: Path, contents: FakeContents) -> None:
    path = file_of(root)
    assert contents.contents
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def one_bit_flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(content)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def of_another_format(path: Path) -> None:
    path.write_bytes(b"quorum-file-index 2\n{}")


def writable_by_others(path: Path) -> None:
    path.chmod(0o622)


def a_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "damage", [cut_short, one_bit_flipped, emptied, of_another_format, writable_by_others, a_link, a_pipe]
)
async def test_an_index_that_cannot_be_trusted_only_costs_reading(
    root: Path, contents: FakeContents, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]
) -> None:
    damage(file_of(root))
    rig, reads = session(root, contents), ReadPaths(monkeypatch)

    kept = await rig.keeper.keep()

    assert reads.take() == ["a", "b", "c"]
    assert {state.unkept for state in kept.states.values()} == {None}


async def test_an_index_of_another_version_or_of_other_settings_is_none(
    root: Path, contents: FakeContents, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert contents.contents
    assert set(index_of(root).load()) == {str(root / name) for name in ("a", "b", "inner/c")}
    assert index_of(root, policy="other").load() == {}
    assert index_of(root, store="sqlite:////other").load() == {}
    monkeypatch.setattr("quorum.infrastructure.store.snapshots.cache._VERSION", 2)
    assert index_of(root).load() == {}


async def test_contents_that_were_pruned_meanwhile_are_read_and_stored_again(
    root: Path, contents: FakeContents, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents.contents.clear()
    rig, reads = session(root, contents), ReadPaths(monkeypatch)

    await rig.keeper.keep()

    assert reads.take() == ["a", "b", "c"]
    assert {b"first a", b"first b", b"first inner/c"} <= set(contents.contents.values())


async def test_contents_that_are_pruned_just_before_the_list_is_stored_are_stored_again(
    root: Path, contents: FakeContents
) -> None:
    rig = session(root, contents)
    put = contents.put

    async def pruned_before(given: list[bytes]) -> tuple[str, ...]:
        contents.contents.clear()
        contents.put = put  # type: ignore[method-assign]
        return await put(given)

    contents.put = pruned_before  # type: ignore[method-assign,assignment]
    kept = await rig.keeper.keep()

    assert {await contents.get(state.sha256 or "") for state in kept.states.values()} == {
        b"first a",
        b"first b",
        b"first inner/c",
    }
    assert contents.contents[kept.manifest]


async def test_a_file_that_was_changed_between_sessions_is_read_again(
    root: Path, contents: FakeContents, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = os.stat(root / "a")
    (root / "a").write_text("other a")  # of the same size, and with the same time: only ctime tells
    os.utime(root / "a", ns=(status.st_atime_ns, status.st_mtime_ns))
    (root / "b").unlink()
    old(root / "new", "first b").rename(root / "b")  # another inode
    rig, reads = session(root, contents), ReadPaths(monkeypatch)

    assert await restored(rig, lambda: overwrite_all(root), root) == {
        "a": "other a",
        "b": "first b",
        "inner/c": "first inner/c",
    }
    assert "c" not in reads.take()[:2]


async def test_a_clock_that_went_back_makes_the_index_none(root: Path, contents: FakeContents) -> None:
    assert contents.contents
    index = index_of(root)
    assert index.load()
    earlier_ns = time.time_ns() - 3600 * 10**9
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("quorum.infrastructure.store.snapshots.cache.time.time_ns", lambda: earlier_ns)
        assert index.load() == {}


async def test_only_settled_files_whose_contents_are_stored_are_in_it(root: Path) -> None:
    old(root / "kept")
    old(root / ".env", "KEY=1")
    old(root / "secret", SECRET.decode())
    (root / "link").symlink_to("kept")
    rig = session(root, FakeContents())
    with pytest.MonkeyPatch.context() as patch:
        changed_ns = os.stat(root / "kept").st_ctime_ns
        patch.setattr("quorum.infrastructure.store.snapshots.reading.time.time_ns", lambda: changed_ns + 10**9)
        await kept_ahead(rig)
    assert index_of(root).load() == {}  # it was changed less than two seconds ago
    await kept_ahead(rig)
    assert set(index_of(root).load()) == {str(root / "kept")}


async def test_names_that_are_secrets_are_left_out(root: Path) -> None:
    for name in ("plain", SECRET.decode(), f"{SECRET.decode()}s/inner"):
        old(root / name)
    await kept_ahead(session(root, FakeContents()))
    assert set(index_of(root).load()) == {str(root / "plain")}


async def test_names_that_are_no_text_are_in_it(root: Path) -> None:
    name = os.fsdecode(b"\xff\n")
    old(root / name)
    await kept_ahead(session(root, FakeContents()))
    assert set(index_of(root).load()) == {str(root / name)}


async def test_so_many_indexes_are_left_and_what_is_too_large_is_not_saved(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {str(root / "a"): IndexedFile(build_mark(os.stat(old(root / "a"))), _HASH)}
    for number in range(4):
        index_of(root, store=str(number), most_indexes=2).save(files)
    assert [bool(index_of(root, store=str(number)).load()) for number in range(4)] == [False, False, True, True]
    monkeypatch.setattr("quorum.infrastructure.store.snapshots.cache._MOST_BYTES", 10)
    index_of(root, store="large").save(files)
    monkeypatch.undo()
    assert index_of(root, store="large").load() == {}


def test_what_is_on_a_file_system_that_is_not_local_is_not_saved(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorum.infrastructure.store.snapshots.cache.are_local", lambda _roots: False)
    index_of(root).save({str(root / "a"): IndexedFile(FileMark(0o100644, 1, 1, 1, 1), _HASH)})
    assert not (root.parent / "state").exists()
