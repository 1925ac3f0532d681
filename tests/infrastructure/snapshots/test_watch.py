import asyncio
import errno
import gc
import mmap
import os
import random
import shutil
import threading
from pathlib import Path

import pytest

from quorum.domain.calls.effects import ChangeKind, FileLook, compute_effects
from quorum.infrastructure.files import inotify
from quorum.infrastructure.files.inotify import FolderEvent, Inotify
from quorum.infrastructure.store.snapshots import watch as watch_module
from quorum.infrastructure.store.snapshots.watch import WorkspaceWatch
from tests.support.left_watches import close_watches
from tests.support.real_session import SessionStage, shell


async def test_every_way_of_changing_a_file_is_seen(tmp_path: Path) -> None:
    for name in ("same", "rewritten", "removed", "moved", "made_executable", "replaced"):
        (tmp_path / name).write_text("12345")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    watch = WorkspaceWatch([str(tmp_path)])
    before = await watch.look()

    (tmp_path / "rewritten").write_text("54321")
    (tmp_path / "removed").unlink()
    (tmp_path / "moved").rename(tmp_path / "deep" / "moved")
    (tmp_path / "made_executable").chmod(0o755)
    (tmp_path / "other").write_text("12345")
    (tmp_path / "other").replace(tmp_path / "replaced")
    (tmp_path / "deep" / "er" / "link").symlink_to("/etc/passwd")

    effects = compute_effects(before, await watch.look(), frozenset())
    assert effects.complete
    assert {str(Path(c.path).relative_to(tmp_path)): c.kind for c in effects.changes} == {
        "rewritten": ChangeKind.MODIFIED,
        "removed": ChangeKind.DELETED,
        "moved": ChangeKind.DELETED,
        "deep/moved": ChangeKind.CREATED,
        "made_executable": ChangeKind.MODIFIED,
        "replaced": ChangeKind.MODIFIED,
        "deep/er/link": ChangeKind.CREATED,
    }


async def test_looking_changes_nothing_and_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    inside = tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "secret").write_text("x")
    (inside / "link").symlink_to(outside)
    look = await WorkspaceWatch([str(inside)]).look()
    assert list(look.marks) == [str(inside / "link")]


async def test_only_the_named_paths_are_looked_at_where_there_are_any(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    watch = WorkspaceWatch([str(tmp_path)])
    look = await watch.look([str(tmp_path / "a"), str(tmp_path / "not there")])
    assert list(look.marks) == [str(tmp_path / "a")]


async def test_what_git_keeps_for_itself_is_left_out_and_its_settings_are_not(tmp_path: Path) -> None:
    for name in ("objects/ab/cd", "hooks/pre-commit", "config"):
        path = tmp_path / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    look = await WorkspaceWatch([str(tmp_path)]).look()
    assert {str(Path(path).relative_to(tmp_path)) for path in look.marks} == {
        ".git/hooks/pre-commit",
        ".git/config",
    }


async def test_our_own_files_are_passed_over_though_somebody_names_them(tmp_path: Path) -> None:
    for name in ("state/quorum/sessions.db", "state/quorum-notes", "a", "ledger.sqlite"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    own = str(tmp_path / "state" / "quorum")
    watch = WorkspaceWatch([str(tmp_path)], passed_over=[own, str(tmp_path / "ledger.sqlite")])
    look = await watch.look()
    assert {str(Path(path).relative_to(tmp_path)) for path in look.marks} == {"state/quorum-notes", "a"}
    assert (await watch.look([f"{own}/sessions.db", own])).marks == {}


async def test_a_look_that_had_to_stop_early_says_so(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / str(number)).touch()
    assert not (await WorkspaceWatch([str(tmp_path)], most_files=3).look()).complete
    ticks = iter(range(100))
    slow = WorkspaceWatch([str(tmp_path)], longest_secs=2.0, clock=lambda: float(next(ticks)))
    assert not (await slow.look()).complete


async def test_a_call_does_not_wait_for_a_look_in_the_background(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    has_begun, may_go_on = threading.Event(), threading.Event()

    def clock() -> float:
        has_begun.set()
        assert may_go_on.wait(60)
        return 0.0

    watch = WorkspaceWatch([str(tmp_path)], longest_secs=0.05, clock=clock)
    following = asyncio.create_task(watch.follow())
    await asyncio.to_thread(has_begun.wait, 60)

    look = await watch.look()
    may_go_on.set()

    assert (look.complete, look.marks) == (False, {})
    assert set((await following).marks) == set((await watch.look()).marks) == {str(tmp_path / "a")}


async def test_a_look_after_one_that_had_to_stop_early_is_short(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / str(number)).touch()
    times = iter([0.0, 0.1, 9.0, *(10 + n / 8 for n in range(99))])
    watch = WorkspaceWatch([str(tmp_path)], longest_secs=3.0, clock=lambda: next(times))
    first, second = await watch.look(), await watch.look()

    assert (first.complete, second.complete) == (False, False)
    assert (len(first.marks), len(second.marks)) == (2, 2)


async def test_a_look_in_the_background_that_is_cancelled_leaves_calls_their_time(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / str(number)).touch()
    has_begun, may_go_on = threading.Event(), threading.Event()
    asked: list[float] = []

    def clock() -> float:
        asked.append(len(asked) / 8)
        if len(asked) == 2:
            has_begun.set()
            assert may_go_on.wait(60)
        return asked[-1]

    watch = WorkspaceWatch([str(tmp_path)], longest_secs=3.0, clock=clock)
    following = asyncio.create_task(watch.follow())
    await asyncio.to_thread(has_begun.wait, 60)
    following.cancel()
    asyncio.get_running_loop().call_soon(may_go_on.set)
    with pytest.raises(asyncio.CancelledError):
        await following

    assert (await watch.look()).complete


async def test_a_look_without_events_takes_its_time_again(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / str(number)).touch()
    times = iter([0.0, 0.1, 9.0, *(10 + n / 8 for n in range(99))])
    watch = WorkspaceWatch([str(tmp_path)], longest_secs=3.0, events=False, clock=lambda: next(times))
    first, second = await watch.look(), await watch.look()

    assert (first.complete, second.complete) == (False, True)


async def compared(live: WorkspaceWatch, root: Path) -> FileLook:
    """A look by events, which must be the same as one at all files."""
    look = await live.look()
    full = await WorkspaceWatch([str(root)], events=False).look()
    assert look.marks == full.marks
    assert look.version > 0
    return look


@pytest.mark.long
async def test_looks_by_events_are_the_same_as_looks_at_all_files(tmp_path: Path) -> None:
    rng, live = random.Random(27), WorkspaceWatch([str(tmp_path)])
    before = await compared(live, tmp_path)
    for _ in range(150):
        for _ in range(rng.randrange(4)):
            change_something(tmp_path, rng)
        after = await compared(live, tmp_path)
        touched = live.list_touched(before, after)
        assert touched is not None
        effects = compute_effects(before, after, frozenset())
        assert {change.path for change in effects.changes} <= touched
        before = after


def change_something(root: Path, rng: random.Random) -> None:
    folders = [root, *(path for path in root.rglob("*") if path.is_dir() and not path.is_symlink())]
    files = [path for path in root.rglob("*") if path.is_file()]
    new = rng.choice(folders) / f"{rng.randrange(12)}"
    some = rng.choice(files) if files else root
    match rng.randrange(9):
        case 0 | 1 if not new.is_dir():
            new.write_text(str(rng.random()))
        case 2 if not new.exists():
            new.mkdir()
            (new / "inner").write_text("x")
        case 3 if files:
            some.unlink()
        case 4 if files and not new.is_dir():
            some.replace(new)
        case 5 if len(folders) > 1:
            folder = rng.choice(folders[1:])
            if not new.exists() and folder not in new.parents:
                folder.rename(new)
        case 6 if files:
            some.chmod(rng.choice([0o600, 0o644, 0o755]))
        case 7 if files and not new.exists():
            os.link(some, new)
        case 8 if len(folders) > 1 and rng.random() < 0.4:
            shutil.rmtree(rng.choice(folders[1:]))


async def test_a_file_written_through_another_name_is_seen(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    root = tmp_path / "root"
    root.mkdir()
    outside.mkdir()
    for name in ("a", "b", "c", "d"):
        (root / name).write_text(name)
    os.link(root / "a", outside / "a")
    live = WorkspaceWatch([str(root)])
    await compared(live, root)

    (outside / "a").write_text("through a name outside")
    await compared(live, root)
    os.link(root / "b", root / "b2")
    (root / "b2").write_text("through a new name")
    await compared(live, root)
    os.link(root / "c", root / "c2")
    (root / "c2").write_text("through a name that is gone")
    (root / "c2").unlink()
    await compared(live, root)
    (root / "new").mkdir()
    os.link(root / "d", root / "new" / "d2")
    (root / "new" / "d2").write_text("through a name in a new folder")
    (root / "new" / "d2").unlink()
    await compared(live, root)


async def test_a_file_that_is_written_through_a_mapping_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("12345")
    live = WorkspaceWatch([str(tmp_path)])
    await compared(live, tmp_path)
    with (tmp_path / "a").open("r+b") as file, mmap.mmap(file.fileno(), 5) as mapping:
        mapping[:] = b"54321"
    await compared(live, tmp_path)


async def test_events_that_were_lost_lead_to_a_look_at_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = WorkspaceWatch([str(tmp_path)])
    before = await compared(live, tmp_path)
    (tmp_path / "a").write_text("a")
    overflow = FolderEvent(-1, inotify.QUEUE_OVERFLOW, 0, "")
    with monkeypatch.context() as patched:
        patched.setattr(Inotify, "read", lambda _self: iter([overflow]))
        after = await live.look()
    assert list(after.marks) == [str(tmp_path / "a")]
    assert live.list_touched(before, after) is None
    (tmp_path / "b").write_text("b")
    assert live.list_touched(after, await compared(live, tmp_path)) == frozenset({str(tmp_path / "b")})


async def test_a_root_that_was_exchanged_is_looked_at_anew(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a").write_text("a")
    live = WorkspaceWatch([str(root)])
    await compared(live, root)
    root.rename(tmp_path / "away")
    assert (await live.look()).marks == {}
    root.mkdir()
    (root / "b").write_text("b")
    assert list((await compared(live, root)).marks) == [str(root / "b")]


@pytest.mark.parametrize("refusal", ["no watches", "no queue", "not local"])
async def test_without_events_every_look_is_at_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: str
) -> None:
    def refuse(*_arguments: object) -> int:
        raise OSError(errno.ENOSPC, "none left")

    match refusal:
        case "no watches":
            monkeypatch.setattr(Inotify, "add", refuse)
        case "no queue":
            monkeypatch.setattr(Inotify, "__init__", refuse)
        case _:
            monkeypatch.setattr(watch_module, "are_local", lambda _roots: False)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_text("a")
    watch = WorkspaceWatch([str(tmp_path)])
    before = await watch.look()
    (tmp_path / "folder" / "b").write_text("b")
    after = await watch.look()
    assert sorted(after.marks) == [str(tmp_path / "folder" / name) for name in "ab"]
    assert watch.list_touched(before, after) is None


async def test_a_watch_that_is_closed_looks_on_without_a_queue_of_events(tmp_path: Path) -> None:
    before = open_queues()
    watch = WorkspaceWatch([str(tmp_path)])
    await watch.look()
    assert open_queues() == before + 1
    await asyncio.to_thread(watch.close)
    assert open_queues() == before
    (tmp_path / "a").touch()
    assert list((await watch.look()).marks) == [str(tmp_path / "a")]
    assert open_queues() == before


async def test_a_session_that_is_closed_leaves_no_queue_of_events(tmp_path: Path) -> None:
    before = open_queues()
    async with SessionStage(tmp_path).opened() as session:
        await session.turn(shell("true"))
        assert open_queues() == before + 1
    assert open_queues() == before


async def test_what_a_test_leaves_open_is_closed_before_the_next(tmp_path: Path) -> None:
    before = open_queues()
    left = WorkspaceWatch([str(tmp_path)])
    await left.look()
    await asyncio.to_thread(close_watches)
    assert open_queues() == before


@pytest.mark.long
async def test_a_queue_of_events_is_closed_with_its_watch(tmp_path: Path) -> None:
    async def look_once() -> None:
        await WorkspaceWatch([str(tmp_path)]).look()

    gc.collect()
    before = open_queues()
    await look_once()
    await asyncio.get_running_loop().shutdown_default_executor()  # no thread holds on to the watch
    gc.collect()
    assert open_queues() == before


def open_queues() -> int:
    links = (os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd"))
    return sum(os.path.realpath(link).endswith("anon_inode:inotify") for link in links)


async def test_a_workspace_that_takes_long_is_followed_once_there_was_time(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / str(number)).touch()
    ticks = iter(range(1000))
    watch = WorkspaceWatch([str(tmp_path)], longest_secs=4.0, clock=lambda: float(next(ticks)))
    assert not (await watch.look()).complete

    assert (await watch.follow()).complete

    (tmp_path / "new").touch()
    look = await watch.look()
    assert look.complete
    assert len(look.marks) == 6


async def test_following_that_is_cancelled_looks_at_no_more_files(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / str(number)).write_text("x")
    loop, has_begun, may_go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    asked: list[None] = []

    def clock() -> float:
        asked.append(None)
        if len(asked) == 10:
            loop.call_soon_threadsafe(has_begun.set)
            may_go_on.wait()
        return 0.0

    watch = WorkspaceWatch([str(tmp_path)], clock=clock)
    following = asyncio.create_task(watch.follow())
    await has_begun.wait()
    following.cancel()
    loop.call_soon(may_go_on.set)

    await asyncio.wait([following])
    assert following.cancelled()
    assert len(asked) == 10
    assert len((await watch.look()).marks) == 50
