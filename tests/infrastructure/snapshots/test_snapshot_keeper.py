import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from quorum.domain.calls.effects import ChangeKind, FileKind, FileMark, FileState, KeptFiles, is_same
from quorum.domain.errors import LedgerError
from quorum.infrastructure.store.snapshots.keeper import (
    _STEP_FILES,
    BATCH_FILES,
    Budget,
    KeepLimits,
)
from quorum.infrastructure.store.snapshots.manifest import Base, decode, encode
from quorum.infrastructure.store.snapshots.reading import FileContent, FileReader, OpenFolders
from quorum.infrastructure.store.snapshots.watch import WorkspaceWatch
from tests.support.rewind_rig import SECRET, RewindRig

_LONG_AGO = 1_000_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def old(path: Path, content: str = "x") -> Path:
    """A file that has not been touched for long, as far as its own time tells."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    os.utime(path, (_LONG_AGO, _LONG_AGO))
    return path


def unkept(kept: KeptFiles, root: Path) -> dict[str, str | None]:
    return {os.path.relpath(path, root): state.unkept for path, state in kept.states.items()}


class ReadPaths:
    """Notes which files are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[str] = []
        read = FileReader.read

        def noted(reader: FileReader, path: str, folders: OpenFolders) -> FileContent:
            self.paths.append(os.path.basename(path))
            return read(reader, path, folders)

        monkeypatch.setattr(FileReader, "read", noted)

    def take(self) -> list[str]:
        taken, self.paths = sorted(self.paths), []
        return taken


@pytest.fixture
def far_clock(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that runs an hour ahead, so that every file was changed long before it is read."""
    real = os.stat(root).st_ctime_ns
    monkeypatch.setattr(
        "quorum.infrastructure.store.snapshots.reading.time.time_ns", lambda: real + 3600 * 10**9
    )


@pytest.mark.usefixtures("far_clock")
async def test_files_that_are_as_they_were_are_neither_read_nor_stored_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (root / name).write_text(name)
    rig, reads = RewindRig(root), ReadPaths(monkeypatch)
    first = await rig.keeper.keep()
    assert reads.take() == ["a", "b", "c"]
    assert rig.contents.puts == [4]  # three contents and the list of them, in one step
    second = await rig.keeper.keep()
    assert reads.take() == []
    assert rig.contents.puts == [4, 1]
    (root / "b").write_text("changed")
    effects = await rig.keeper.find_changes(second, frozenset())
    assert reads.take() == ["b"]
    assert [change.path for change in effects.changes] == [str(root / "b")]
    third = await rig.keeper.keep()
    assert reads.take() == []
    assert first.states[str(root / "a")] == third.states[str(root / "a")]


async def test_a_file_changed_just_before_it_was_read_is_read_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("a")
    watch = WorkspaceWatch([str(root)], events=False)
    rig, reads = RewindRig(root, watch=watch), ReadPaths(monkeypatch)
    kept = await rig.keeper.keep()
    await rig.keeper.find_changes(kept, frozenset())
    await rig.keeper.keep()
    assert reads.take() == ["a", "a", "a"]


async def test_it_is_not_read_again_where_events_tell_that_nothing_happened(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("a")
    rig, reads = RewindRig(root), ReadPaths(monkeypatch)
    kept = await rig.keeper.keep()
    assert (await rig.keeper.find_changes(kept, frozenset())).changes == ()
    await rig.keeper.keep()
    assert reads.take() == ["a"]


@pytest.mark.parametrize("events", [True, False])
async def test_a_change_that_no_look_can_tell_is_seen_while_the_file_is_fresh(
    root: Path, monkeypatch: pytest.MonkeyPatch, events: bool
) -> None:
    # The same name, size and times: as when a file is written twice within one tick of its clock.
    path = root / "a"
    path.write_text("one")
    watch = WorkspaceWatch([str(root)], events=events)
    rig = RewindRig(root, watch=watch)
    status = os.stat(path)
    monkeypatch.setattr(
        "quorum.infrastructure.store.snapshots.watch.FileMark",
        lambda **kw: _fixed(kw, status.st_mtime_ns, status.st_ino),
    )
    monkeypatch.setattr(
        "quorum.infrastructure.store.snapshots.reading.FileMark",
        lambda *values: _fixed(
            dict(zip(FileMark._fields, values, strict=True)), status.st_mtime_ns, status.st_ino
        ),
    )
    kept = await rig.keeper.keep()
    path.write_text("two")
    (change,) = (await rig.keeper.find_changes(kept, frozenset({str(path)}))).changes
    assert (change.kind, change.declared) == (ChangeKind.MODIFIED, True)


def _fixed(fields: dict[str, int], time_ns: int, inode: int) -> object:
    return FileMark(**{**fields, "modified_ns": time_ns, "changed_ns": time_ns, "inode": inode})


async def test_a_touched_file_with_the_same_content_is_no_change(root: Path) -> None:
    (root / "a").write_text("a")
    rig = RewindRig(root)
    kept = await rig.keeper.keep()
    (root / "a").write_text("a")
    os.utime(root / "a", (_LONG_AGO, _LONG_AGO))
    assert (await rig.keeper.find_changes(kept, frozenset())).changes == ()


async def test_contents_in_ignored_folders_are_not_kept_and_those_of_single_ignored_files_are(
    root: Path,
) -> None:
    (root / ".git" / "objects").mkdir(parents=True)
    (root / ".git" / "objects" / "o").write_text("o")
    (root / ".git" / "HEAD").write_text("ref: x")
    (root / ".gitignore").write_text("out/\n*.local\n")
    for name in ("out/a", "deep/out/b", "node_modules/m/c", "src/d", "settings.local", "__pycache__/e"):
        old(root / name)
    kept = await RewindRig(root).keeper.keep()
    assert unkept(kept, root) == {
        ".git/HEAD": None,
        ".gitignore": None,
        "out/a": "it lies in an ignored folder",
        "deep/out/b": "it lies in an ignored folder",
        "node_modules/m/c": "it lies in an ignored folder",
        "__pycache__/e": "it lies in an ignored folder",
        "src/d": None,
        "settings.local": None,
    }


async def test_an_ignore_file_that_changes_is_heeded(root: Path) -> None:
    old(root / "out" / "a")
    rig = RewindRig(root)
    assert unkept(await rig.keeper.keep(), root) == {"out/a": None}
    (root / ".gitignore").write_text("out/\n")
    (root / "out" / "b").write_text("b")
    assert unkept(await rig.keeper.keep(), root)["out/b"] == "it lies in an ignored folder"
    (root / ".gitignore").write_text("")
    assert unkept(await rig.keeper.keep(), root)["out/b"] is None


async def test_the_rules_of_the_repository_around_hold_unless_the_workspace_itself_is_ignored(
    root: Path,
) -> None:
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("out/\n")
    for name in ("packages/one/out/a", "packages/one/b", "out/two/c"):
        old(root / name)
    kept = await RewindRig(root / "packages" / "one").keeper.keep()
    assert unkept(kept, root / "packages" / "one") == {"out/a": "it lies in an ignored folder", "b": None}
    assert unkept(await RewindRig(root / "out" / "two").keeper.keep(), root / "out" / "two") == {"c": None}


async def test_a_named_path_is_kept_also_in_an_ignored_folder(root: Path) -> None:
    (root / ".gitignore").write_text("out/\n")
    old(root / "out" / "a")
    rig = RewindRig(root)
    await rig.keeper.keep()
    assert unkept(await rig.keeper.keep([str(root / "out" / "a")]), root) == {"out/a": None}


async def test_a_changed_file_in_an_ignored_folder_is_hashed_but_not_stored(root: Path) -> None:
    rig = RewindRig(root)
    kept = await rig.keeper.keep()
    (root / "node_modules").mkdir()
    (root / "node_modules" / "a").write_text("made anew")
    (change,) = (await rig.keeper.find_changes(kept, frozenset())).changes
    assert change.after is not None
    assert change.after.sha256 is not None
    assert change.after.unkept == "it lies in an ignored folder"
    assert b"made anew" not in rig.contents.contents.values()


async def test_limits_leave_out_what_weighs_most_and_say_so(root: Path) -> None:
    for name, size in {"small": 10, "middle": 500, "large": 600, "huge": 5000}.items():
        (root / name).write_bytes(os.urandom(size))
    rig = RewindRig(root, limits=KeepLimits(file_bytes=1000, total_bytes=700))
    for _ in range(2):
        assert unkept(await rig.keeper.keep(), root) == {
            "small": None,
            "middle": None,
            "large": "too much is kept already",
            "huge": "it is too large",
        }
    rig = RewindRig(root, limits=KeepLimits(before_secs=-1.0))
    assert set(unkept(await rig.keeper.keep(), root).values()) == {"there was no time to read it"}


@pytest.mark.parametrize("place", [0, 65_530, 131_060, 200_000])
async def test_a_secret_is_found_wherever_it_stands_in_a_long_file(root: Path, place: int) -> None:
    (root / "long").write_bytes(b"x" * place + SECRET + b"x" * 100_000)
    assert unkept(await RewindRig(root).keeper.keep(), root) == {"long": "it holds a secret"}


async def test_links_are_kept_as_links_and_what_is_no_file_is_reported(root: Path) -> None:
    outside = root.parent / "outside"
    old(outside / "secret", "theirs")
    (root / "folder").symlink_to(outside)
    (root / "dead").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    rig = RewindRig(root)
    kept = await rig.keeper.keep()
    states = {path.removeprefix(f"{root}/"): state for path, state in kept.states.items()}
    assert {name: (state.kind, state.target) for name, state in states.items()} == {
        "folder": (FileKind.LINK, str(outside)),
        "dead": (FileKind.LINK, "nowhere"),
        "pipe": (FileKind.OTHER, None),
    }
    assert b"theirs" not in rig.contents.contents.values()
    # Nor through a link in a folder's place, though somebody declares such a path.
    through = await rig.keeper.keep([str(root / "folder" / "secret")])
    assert through.states == {}


async def test_a_path_outside_the_workspace_is_watched_and_not_kept(root: Path) -> None:
    outside = root.parent / "outside"
    outside.write_text("theirs")
    rig = RewindRig(root)
    kept = await rig.keeper.keep([str(outside)])
    assert [state.unkept for state in kept.states.values()] == ["it lies outside the workspace"]
    outside.write_text("changed")
    assert [c.path for c in (await rig.keeper.find_changes(kept, frozenset())).changes] == [str(outside)]
    assert b"theirs" not in rig.contents.contents.values()


async def test_the_stored_list_says_all_that_was_kept_whole_or_as_what_differs(root: Path) -> None:
    for number in range(40):
        old(root / f"file {number}", str(number))
    (root / "link").symlink_to("file 1")
    os.symlink(b"to", os.path.join(os.fsencode(root), b"\xff"))
    (root / ".env").write_text("KEY=1")
    rig = RewindRig(root)
    kept = [await rig.keeper.keep()]
    (root / "file 3").write_text("changed")
    (root / "file 4").unlink()
    (root / "new").write_text("new")
    kept.append(await rig.keeper.keep())
    kept.append(await rig.keeper.keep([str(root / "file 3"), str(root / "not there")]))
    sizes = [len(rig.contents.contents[files.manifest]) for files in kept]
    assert sizes[1] < sizes[0] / 4
    for files in kept:
        loaded = await rig.keeper.load(files.manifest)
        assert (loaded.roots, loaded.states, loaded.complete) == (files.roots, files.states, files.complete)


@pytest.mark.parametrize(
    "damage",
    [b"", b"{}", b"[]", b'{"files":{"/a":{"kind":"x","mode":1}},"roots":[],"complete":true,"base":null}'],
)
async def test_a_damaged_list_is_an_error(root: Path, damage: bytes) -> None:
    rig = RewindRig(root)
    (name,) = await rig.contents.put([damage])
    with pytest.raises(LedgerError, match="cannot be read"):
        await rig.keeper.load(name)


async def test_nothing_is_remembered_as_stored_that_was_not(root: Path) -> None:
    (root / "a").write_text("a")
    rig = RewindRig(root)
    rig.contents.full = True
    with pytest.raises(LedgerError):
        await rig.keeper.keep()
    rig.contents.full = False
    await rig.keeper.keep()
    assert b"a" in rig.contents.contents.values()


async def test_files_are_read_beside_the_loop(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a").write_text("a")
    threads: list[int] = []
    read = FileReader.read

    def noted(reader: FileReader, path: str, folders: OpenFolders) -> FileContent:
        threads.append(threading.get_ident())
        return read(reader, path, folders)

    monkeypatch.setattr(FileReader, "read", noted)
    await RewindRig(root).keeper.keep()
    assert threads
    assert threading.get_ident() not in threads


async def test_a_cancelled_keeping_stops(root: Path) -> None:
    for number in range(50):
        (root / str(number)).write_text("x")
    keeping = asyncio.create_task(RewindRig(root).keeper.keep())
    await asyncio.sleep(0)
    keeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await keeping


async def kept_ahead(rig: RewindRig) -> None:
    """All that is kept in the background, to its end."""
    with rig.keeper.keep_ahead():
        (ahead,) = (task for task in asyncio.all_tasks() if task.get_name() == "keep-ahead")
        await ahead


@pytest.mark.usefixtures("far_clock")
async def test_what_was_kept_in_the_background_is_not_read_before_a_call(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (root / name).write_text(name)
    rig, reads = RewindRig(root), ReadPaths(monkeypatch)

    await kept_ahead(rig)
    assert reads.take() == ["a", "b"]
    kept = await rig.keeper.keep()

    assert reads.take() == []
    assert unkept(kept, root) == {"a": None, "b": None}
    assert {await rig.contents.get(state.sha256 or "") for state in kept.states.values()} == {b"a", b"b"}


@pytest.mark.usefixtures("far_clock")
async def test_a_file_that_changed_since_it_was_kept_in_the_background_is_read_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("one")
    rig, reads = RewindRig(root), ReadPaths(monkeypatch)
    await kept_ahead(rig)
    (root / "a").write_text("two")
    reads.take()

    kept = await rig.keeper.keep()

    assert reads.take() == ["a"]
    assert await rig.contents.get(kept.states[str(root / "a")].sha256 or "") == b"two"


@pytest.mark.long
async def test_a_turn_that_ends_ends_what_is_kept_in_the_background(root: Path) -> None:
    for number in range(600):
        (root / str(number)).write_text(str(number))
    rig = RewindRig(root)

    with rig.keeper.keep_ahead():
        (ahead,) = (task for task in asyncio.all_tasks() if task.get_name() == "keep-ahead")

    await asyncio.wait({ahead})
    assert ahead.cancelled()
    assert len((await rig.keeper.keep()).states) == 600


async def test_contents_that_cannot_be_stored_in_the_background_are_reported_by_the_call(root: Path) -> None:
    (root / "a").write_text("a")
    rig = RewindRig(root)
    rig.contents.full = True

    await kept_ahead(rig)

    with pytest.raises(LedgerError):
        await rig.keeper.keep()


@pytest.fixture
def on_local_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorum.infrastructure.store.snapshots.keeper.are_local", lambda _roots: True)


def early(rig: RewindRig) -> asyncio.Task[None]:
    """What is kept in the background before there is any call."""
    rig.keeper.begin()
    (task,) = (task for task in asyncio.all_tasks() if task.get_name() == "keep-early")
    return task


@pytest.mark.usefixtures("far_clock", "on_local_disks")
async def test_a_large_workspace_is_kept_before_there_is_any_call(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (root / name).write_text(name)
    rig, reads = RewindRig(root, limits=KeepLimits(early_secs=0, early_files=2)), ReadPaths(monkeypatch)

    await early(rig)
    assert reads.take() == ["a", "b"]
    (root / "a").write_text("changed")
    kept = await rig.keeper.keep()

    assert reads.take() == ["a"]
    assert await rig.contents.get(kept.states[str(root / "a")].sha256 or "") == b"changed"


@pytest.mark.usefixtures("far_clock", "on_local_disks")
async def test_the_first_call_in_a_large_workspace_stores_only_what_has_changed_since_the_opening(
    root: Path,
) -> None:
    for name in "abcdefghij":
        old(root / name, name)
    rig = RewindRig(root, limits=KeepLimits(early_secs=0, early_files=2))

    await early(rig)
    (root / "a").write_text("changed")
    kept = await rig.keeper.keep()

    listed = decode(await rig.contents.get(kept.manifest))
    assert listed.base is not None
    assert list(listed.kept.states) == [str(root / "a")]
    assert (await rig.keeper.load(kept.manifest)).states == kept.states


@pytest.mark.usefixtures("far_clock")
async def test_a_call_does_not_wait_where_most_files_would_be_left_out_in_any_case(root: Path) -> None:
    for number in range(3):
        old(root / str(number), str(number))
    wait = KeepLimits(awaited_files=2, before_secs=60.0, later_secs=-1.0)
    rig = RewindRig(root, limits=wait)
    assert set(unkept(await rig.keeper.keep(), root).values()) == {"there was no time to read it"}
    (root / "0").unlink()
    assert set(unkept(await RewindRig(root, limits=wait).keeper.keep(), root).values()) == {None}


def test_a_list_leaves_out_names_that_are_secrets_beside_names_that_are_no_utf_8() -> None:
    names = ["/w/a", f"/w/{SECRET.decode()}", "/w/" + b"\xff".decode("utf-8", "surrogateescape")]
    states = {name: FileState(kind=FileKind.FILE, mode=0o644, unkept="it is sensitive") for name in names}

    content, _ = encode(
        KeptFiles(roots=("/w",), states=states, complete=True), None, lambda text: SECRET in text
    )

    assert decode(content).kept.states == {name: states[name] for name in (names[0], names[2])}


@pytest.mark.usefixtures("far_clock", "on_local_disks")
async def test_the_files_of_a_huge_workspace_are_listed_before_they_are_read_and_anew_afterwards(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        old(root / name, name)
    limits = KeepLimits(early_secs=0, early_files=2, awaited_files=2, later_secs=-1.0)
    rig, bases, reads = RewindRig(root, limits=limits), list[tuple[Base | None, int]](), ReadPaths(monkeypatch)

    def note(kept: KeptFiles, base: Base | None, holds_secret: Callable[[bytes], bool]) -> tuple[bytes, bool]:
        bases.append((base, len(reads.paths)))
        return encode(kept, base, holds_secret)

    monkeypatch.setattr("quorum.infrastructure.store.snapshots.keeper.encode", note)
    await early(rig)

    assert [read for _, read in bases] == [0, 3]
    kept = await rig.keeper.keep()
    assert set(unkept(kept, root).values()) == {None}
    assert reads.take() == ["a", "b", "c"]


@pytest.mark.usefixtures("far_clock", "on_local_disks")
async def test_a_call_that_comes_while_all_files_are_listed_early_takes_that_list_over(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        old(root / name, name)
    rig = RewindRig(root, limits=KeepLimits(early_secs=0, early_files=2))
    loop, has_come, may_go = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    bases = list[Base | None]()

    def encode_later(
        kept: KeptFiles, base: Base | None, holds_secret: Callable[[bytes], bool]
    ) -> tuple[bytes, bool]:
        bases.append(base)
        if len(bases) == 1:
            loop.call_soon_threadsafe(has_come.set)
            may_go.wait()
        return encode(kept, base, holds_secret)

    monkeypatch.setattr("quorum.infrastructure.store.snapshots.keeper.encode", encode_later)
    is_early = early(rig)
    await has_come.wait()
    call = asyncio.create_task(rig.keeper.keep())
    await rig.keeper.keep([str(root / "a")])  # the call of an edit needs no list, and does not wait
    may_go.set()
    kept = await call
    await is_early

    assert bases[:2] == [None, None]
    assert bases[2] is not None
    assert set(kept.states) == {str(root / "a"), str(root / "b")}


@pytest.mark.usefixtures("on_local_disks")
async def test_a_small_workspace_is_left_to_the_first_call(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a").write_text("a")
    rig, reads = RewindRig(root, limits=KeepLimits(early_secs=0, early_files=2)), ReadPaths(monkeypatch)

    await early(rig)

    assert reads.take() == []


async def test_a_workspace_on_a_network_is_left_to_the_first_call(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorum.infrastructure.store.snapshots.keeper.are_local", lambda _roots: False)
    (root / "a").write_text("a")
    rig, reads = RewindRig(root, limits=KeepLimits(early_secs=0, early_files=0)), ReadPaths(monkeypatch)

    await early(rig)

    assert reads.take() == []


@pytest.mark.usefixtures("on_local_disks")
async def test_a_session_that_ends_ends_what_is_kept_early(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(600):
        (root / str(number)).write_text(str(number))
    rig = RewindRig(root, limits=KeepLimits(early_secs=0, early_files=0))
    loop, read, has_begun = asyncio.get_running_loop(), FileReader.read, asyncio.Event()

    def noted(reader: FileReader, path: str, folders: OpenFolders) -> FileContent:
        loop.call_soon_threadsafe(has_begun.set)
        return read(reader, path, folders)

    monkeypatch.setattr(FileReader, "read", noted)
    task = early(rig)
    await has_begun.wait()
    await rig.keeper.aclose()

    assert task.cancelled()


@pytest.mark.usefixtures("on_local_disks")
async def test_a_step_that_ends_as_the_session_does_is_the_last_one(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(600):
        (root / str(number)).write_text(str(number))
    rig = RewindRig(root, limits=KeepLimits(early_secs=0, early_files=0))
    loop, read = asyncio.get_running_loop(), FileReader.read
    paths, has_come, may_go = list[str](), asyncio.Event(), threading.Event()

    def noted(reader: FileReader, path: str, folders: OpenFolders) -> FileContent:
        paths.append(path)
        if len(paths) == _STEP_FILES:  # the last of its step: nothing looks any more whether to stop
            loop.call_soon_threadsafe(has_come.set)
            may_go.wait()
        return read(reader, path, folders)

    monkeypatch.setattr(FileReader, "read", noted)
    early(rig)
    await has_come.wait()
    closing = asyncio.create_task(rig.keeper.aclose())
    await asyncio.sleep(0)
    loop.call_soon(may_go.set)
    await closing

    assert len(paths) == _STEP_FILES


async def test_a_session_that_never_began_ends(root: Path) -> None:
    await RewindRig(root).keeper.aclose()


@pytest.mark.long
async def test_reading_many_files_is_reported_while_it_lasts(root: Path) -> None:
    for number in range(2 * BATCH_FILES + 1):
        (root / str(number)).write_text(str(number))
    reported: list[tuple[int, int]] = []

    await RewindRig(root).keeper.keep(report=lambda kept, files: reported.append((kept, files)))

    assert reported == [(BATCH_FILES, 2 * BATCH_FILES + 1), (2 * BATCH_FILES, 2 * BATCH_FILES + 1)]


async def test_each_call_has_what_it_changed_and_nothing_of_the_others(root: Path) -> None:
    for number in range(30):
        old(root / f"folder {number % 3}" / f"file {number}", str(number))
    rig = RewindRig(root)
    changed: list[set[str]] = []

    for number in range(3):
        kept = await rig.keeper.keep()
        (root / "folder 0" / "file 0").write_text(f"call {number}")
        (root / f"folder {number}").rename(root / f"moved {number}")
        if number == 0:
            (root / "folder 0").mkdir()
            (root / "folder 0" / "file 0").write_text("new")
        effects = await rig.keeper.find_changes(kept, frozenset())
        assert all(is_same(kept.states.get(change.path), change.before) for change in effects.changes)
        changed.append({change.path.removeprefix(f"{root}/") for change in effects.changes})
        (root / "between calls").write_text(str(number))

    moved = [
        {f"{name} {n}/file {i}" for name in ("folder", "moved") for i in range(n, 30, 3)} for n in range(3)
    ]
    assert changed == [moved[0], moved[1] | {"folder 0/file 0"}, moved[2] | {"folder 0/file 0"}]


@pytest.mark.usefixtures("far_clock")
async def test_files_that_there_was_no_time_to_read_are_read_by_the_next_call(root: Path) -> None:
    for number in range(3):
        old(root / str(number), str(number))
    rig = RewindRig(root, limits=KeepLimits(before_secs=-1.0))
    assert set(unkept(await rig.keeper.keep(), root).values()) == {"there was no time to read it"}

    await kept_ahead(rig)

    assert set(unkept(await rig.keeper.keep(), root).values()) == {None}


@pytest.mark.usefixtures("far_clock")
async def test_of_many_files_without_time_a_call_takes_those_that_were_read_in_the_background(
    root: Path,
) -> None:
    for number in range(20):
        old(root / f"{number:02}", str(number))
    rig = RewindRig(root, limits=KeepLimits(before_secs=-1.0, later_secs=-1.0, again_files=5))
    first = await rig.keeper.keep()
    again = await rig.keeper.keep()
    assert again.states == first.states
    assert set(unkept(again, root).values()) == {"there was no time to read it"}
    (root / "07").write_text("changed")

    await kept_ahead(rig)
    kept = await rig.keeper.keep()

    assert set(unkept(kept, root).values()) == {None}
    assert [await rig.contents.get(kept.states[str(root / name)].sha256 or "") for name in ("07", "19")] == [
        b"changed",
        b"19",
    ]


async def test_what_events_did_not_tell_counts_as_changed_by_the_next_call(root: Path) -> None:
    path = old(root / "a", "before")
    watch = WorkspaceWatch([str(root)])
    rig = RewindRig(root, watch=watch)
    kept = await rig.keeper.keep()
    await rig.keeper.find_changes(kept, frozenset())
    path.write_text("after")
    lose_events(watch)

    await kept_ahead(rig)
    kept = await rig.keeper.keep()
    (change,) = (await rig.keeper.find_changes(kept, frozenset())).changes

    assert (change.path, change.kind, change.late) == (str(path), ChangeKind.MODIFIED, True)
    assert change.before is not None
    assert await rig.contents.get(change.before.sha256 or "") == b"before"
    path.write_text("later")
    lose_events(watch)
    kept = await rig.keeper.keep()
    path.write_text("last")
    lose_events(watch)
    (change,) = (await rig.keeper.find_changes(kept, frozenset())).changes
    assert (change.path, change.late) == (str(path), False)


async def test_an_undo_leaves_alone_what_was_found_out_late(root: Path) -> None:
    path = old(root / "a", "before")
    watch = WorkspaceWatch([str(root)])
    rig = RewindRig(root, watch=watch)
    await rig.turn(lambda: None)
    path.write_text("by whomever")
    lose_events(watch)
    await kept_ahead(rig)

    turn = await rig.turn(lambda: old(root / "b"))
    plan = await rig.undo(turn)

    (step,) = plan.edited
    assert step.path == str(path)
    assert path.read_text() == "by whomever"
    assert os.listdir(root) == ["a"]
    assert plan.unseen == ("That a call changed a file is not certain: it may have been done before.",)
    await rig.undo(turn, "a")
    assert path.read_text() == "before"


def lose_events(watch: WorkspaceWatch) -> None:
    """Read what the system has reported so far, and forget it."""
    if watch._tree is not None and watch._tree._events is not None:
        list(watch._tree._events.read())


@pytest.mark.usefixtures("far_clock")
async def test_a_file_that_was_kept_in_the_background_before_a_call_changed_it_can_be_given_back(
    root: Path,
) -> None:
    path = old(root / "a", "before")
    rig = RewindRig(root, limits=KeepLimits(before_secs=-1.0))
    kept = await rig.keeper.keep()
    assert kept.states[str(path)].unkept == "there was no time to read it"

    await kept_ahead(rig)  # the call runs, and has not come to this file yet
    path.write_text("after")
    (change,) = (await rig.keeper.find_changes(kept, frozenset())).changes

    assert change.before is not None
    assert change.before.unkept is None
    assert await rig.contents.get(change.before.sha256 or "") == b"before"


@pytest.mark.usefixtures("far_clock")
async def test_what_was_read_only_after_a_call_changed_it_is_not_taken_for_what_it_held_before(
    root: Path,
) -> None:
    path = old(root / "a", "before")
    rig = RewindRig(root, limits=KeepLimits(before_secs=-1.0))
    kept = await rig.keeper.keep()

    path.write_text("behind")  # of the same size, and with the same time
    os.utime(path, (_LONG_AGO, _LONG_AGO))
    await kept_ahead(rig)
    (change,) = (await rig.keeper.find_changes(kept, frozenset())).changes

    assert change.before is not None
    assert (change.before.sha256, change.before.unkept) == (None, "there was no time to read it")


async def test_small_files_are_read_by_folders_where_there_is_room_for_all(root: Path) -> None:
    for name, size in {"a/1": 30, "a/2": 10, "b/1": 20, "b/2": 5, "large": 100_000}.items():
        old(root / name, "x" * size)
    marks = (await WorkspaceWatch([str(root)]).look()).marks

    def order(room: int) -> list[str]:
        budget = Budget(KeepLimits(total_bytes=room), spent_bytes=0, secs=60)
        return [os.path.relpath(path, root) for batch in budget.split(marks, marks) for path in batch.paths]

    assert order(1_000_000) == ["a/1", "a/2", "b/1", "b/2", "large"]
    assert order(100) == ["b/2", "a/2", "b/1", "a/1", "large"]
