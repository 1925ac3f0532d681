import asyncio
import os
import shutil
from pathlib import Path

import pytest

from quorum.domain.calls.access import Access
from quorum.domain.calls.effects import ChangeKind, FileKind, FileState, pair_renames
from quorum.domain.errors import LedgerError, LostConnection, RestoreError, ToolError
from quorum.domain.events.event import CallQueued, EffectsObserved, FilesKept, FilesRestored
from quorum.domain.replacing import replace
from quorum.infrastructure.store.snapshots.keeper import BATCH_FILES, KeepLimits
from quorum.infrastructure.store.snapshots.watch import WorkspaceWatch
from tests.support.rewind_rig import SECRET, RewindRig, plan_taking_back, tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


async def test_text_binary_modes_links_and_files_deleted_created_and_renamed_come_back(root: Path) -> None:
    (root / "text").write_text("one\ntwo\n")
    (root / "binary").write_bytes(bytes(range(256)) * 50)
    (root / "script").write_text("#!/bin/sh\n")
    (root / "script").chmod(0o750)
    (root / "private").write_text("mine")
    (root / "private").chmod(0o600)
    (root / "deep" / "er").mkdir(parents=True)
    (root / "deep" / "er" / "gone").write_text("gone")
    (root / "old name").write_text("renamed")
    (root / "link").symlink_to("text")
    (root / "empty").touch()
    before = tree(root)
    rig = RewindRig(root)

    def work() -> None:
        (root / "text").write_text("one\nzwei\n")
        (root / "binary").write_bytes(b"\0\xff" * 10)
        (root / "script").chmod(0o644)
        (root / "private").write_text("yours")
        (root / "private").chmod(0o666)
        shutil.rmtree(root / "deep")
        (root / "old name").rename(root / "new name")
        (root / "link").unlink()
        (root / "link").symlink_to("/etc/passwd")
        (root / "empty").unlink()
        (root / "made" / "here").mkdir(parents=True)
        (root / "made" / "here" / "file").write_text("new")

    turn = await rig.turn(work)
    await rig.undo(turn)
    assert tree(root) == before
    assert not (root / "made").exists()
    assert {change.path.rpartition("/")[2]: change.kind for change in rig.restored} == {
        "text": ChangeKind.MODIFIED,
        "binary": ChangeKind.MODIFIED,
        "script": ChangeKind.MODIFIED,
        "private": ChangeKind.MODIFIED,
        "gone": ChangeKind.CREATED,
        "old name": ChangeKind.CREATED,
        "new name": ChangeKind.DELETED,
        "link": ChangeKind.MODIFIED,
        "empty": ChangeKind.CREATED,
        "file": ChangeKind.DELETED,
    }


async def test_a_plan_shows_what_would_change_and_changes_nothing(root: Path) -> None:
    (root / "a.txt").write_text("one\ntwo\n")
    (root / "b.bin").write_bytes(b"\0one")
    (root / "run").write_text("x")
    (root / "run").chmod(0o755)
    (root / "to").symlink_to("a.txt")
    (root / "gone").write_text("was here\n")
    rig = RewindRig(root)

    def work() -> None:
        (root / "a.txt").write_text("one\nTWO\n")
        (root / "b.bin").write_bytes(b"\0three")
        (root / "run").chmod(0o644)
        (root / "to").unlink()
        (root / "to").symlink_to("b.bin")
        (root / "gone").unlink()
        (root / "made").write_text("new\n")

    turn = await rig.turn(work)
    there = tree(root)
    steps = rig.steps(await rig.rewind.plan(turn))
    diffs = {name: await rig.rewind.diff(step) for name, step in steps.items()}
    assert "--- a/a.txt\n+++ b/a.txt\n" in diffs["a.txt"]
    assert "-TWO\n+two\n" in diffs["a.txt"]
    assert "binary: 6 → 4 bytes" in diffs["b.bin"]
    assert diffs["run"] == "mode: 0644 → 0755\n"
    assert diffs["to"] == "leads to: b.bin → a.txt\n"
    assert "+was here" in diffs["gone"]
    assert "--- /dev/null" in diffs["gone"]
    assert "deletes a file, " in diffs["made"]
    assert "+++ /dev/null" in diffs["made"]
    assert tree(root) == there


async def test_a_diff_of_a_huge_change_is_cut_and_says_so(root: Path) -> None:
    (root / "long").write_text("".join(f"{n}\n" for n in range(5000)))
    rig = RewindRig(root)
    turn = await rig.turn(lambda: (root / "long").unlink())
    (step,) = (await rig.rewind.plan(turn)).steps
    diff = await rig.rewind.diff(step)
    assert diff.count("\n") <= 2001
    assert "more lines" in diff


async def test_what_the_person_edited_since_is_left_unless_they_say_otherwise(root: Path) -> None:
    for name in ("a", "b", "c", "gone"):
        (root / name).write_text(f"{name} before\n")
    rig = RewindRig(root)

    def work() -> None:
        for name in ("a", "b", "c"):
            (root / name).write_text(f"{name} by the model\n")
        (root / "gone").unlink()
        (root / "new").write_text("by the model\n")

    turn = await rig.turn(work)
    (root / "a").write_text("a by the person\n")
    (root / "b").write_text("b by the person\n")
    (root / "gone").write_text("made by the person\n")
    (root / "new").write_text("by the person\n")

    plan = await rig.rewind.plan(turn)
    assert {name for name, step in rig.steps(plan).items() if step.edited_since} == {"a", "b", "gone", "new"}
    assert "-a by the person\n+a before\n" in await rig.rewind.diff(rig.steps(plan)["a"])

    done = await rig.rewind.restore(plan, frozenset({str(root / "b")}))
    assert set(done.left) == {str(root / "a"), str(root / "gone"), str(root / "new")}
    assert (root / "a").read_text() == "a by the person\n"
    assert (root / "gone").read_text() == "made by the person\n"
    assert (root / "new").read_text() == "by the person\n"
    assert (root / "b").read_text() == "b before\n"
    assert (root / "c").read_text() == "c before\n"

    # Nor is what was overwritten lost: the restoration can be taken back.
    await rig.rewind.restore(plan_taking_back(rig.restored))
    assert (root / "b").read_text() == "b by the person\n"
    assert (root / "c").read_text() == "c by the model\n"


async def test_a_file_that_changes_after_the_plan_was_shown_is_left_and_named(root: Path) -> None:
    for name in ("a", "b", "made"):
        if name != "made":
            (root / name).write_text("before")
    rig = RewindRig(root)

    def work() -> None:
        for name in ("a", "b", "made"):
            (root / name).write_text("by the model")

    plan = await rig.rewind.plan(await rig.turn(work))
    (root / "a").write_text("by the person, just now")
    (root / "made").write_text("by the person as well")
    with pytest.raises(RestoreError, match=r"2 could not be.*changed just now") as raised:
        await rig.rewind.restore(plan)
    assert str(root / "a") in str(raised.value)
    assert (root / "a").read_text() == "by the person, just now"
    assert (root / "made").read_text() == "by the person as well"
    assert (root / "b").read_text() == "before"
    assert [change.path for change in rig.restored] == [str(root / "b")]


async def test_undo_goes_back_turn_by_turn_and_an_undo_can_be_undone(root: Path) -> None:
    (root / "a").write_text("0")
    rig = RewindRig(root)
    trees = [tree(root)]
    for number in range(1, 4):

        def work(number: int = number) -> None:
            (root / "a").write_text(str(number))
            (root / f"made {number}").write_text("x")

        await rig.turn(work)
        trees.append(tree(root))
    await rig.undo(2)
    assert tree(root) == trees[2]
    last = rig.restored
    await rig.undo(1)
    assert tree(root) == trees[1]
    await rig.rewind.restore(plan_taking_back(rig.restored))
    assert tree(root) == trees[2]
    await rig.rewind.restore(plan_taking_back(last))
    assert tree(root) == trees[3]
    await rig.undo(0)
    assert tree(root) == trees[0]


async def test_going_back_over_a_turn_whose_files_were_left_takes_them_back_too(root: Path) -> None:
    rig = RewindRig(root)
    first = await rig.turn(lambda: (root / "a").write_text("a"))
    second = await rig.turn(lambda: (root / "b").write_text("b"))
    (root / "b").write_text("by the person")
    await rig.undo(second)
    steps = rig.steps(await rig.rewind.plan(first))
    assert set(steps) == {"a", "b"}
    assert steps["b"].edited_since


async def test_what_the_person_changed_after_an_undo_is_no_part_of_a_later_one(root: Path) -> None:
    (root / "a").write_text("before")
    rig = RewindRig(root)
    turn = await rig.turn(lambda: (root / "a").write_text("by the model"))
    await rig.undo(turn)
    (root / "a").write_text("by the person")
    assert (await rig.rewind.plan(turn)).steps == ()


async def test_what_is_as_it_was_needs_no_step(root: Path) -> None:
    (root / "a").write_text("before")
    rig = RewindRig(root)
    turn = await rig.turn(lambda: (root / "a").write_text("after"))
    (root / "a").write_text("before")
    assert (await rig.rewind.plan(turn)).steps == ()
    done = await rig.rewind.restore(await rig.rewind.plan(turn))
    assert done.changes == ()
    assert rig.observer.of(FilesRestored) == []


async def test_files_folders_and_links_that_took_each_others_places_come_back(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "a").write_text("theirs")
    (root / "file").write_text("file")
    (root / "folder").mkdir()
    (root / "folder" / "a").write_text("ours")
    (root / "linked").mkdir()
    (root / "linked" / "a").write_text("ours too")
    (root / "link").symlink_to("file")
    before = tree(root)
    rig = RewindRig(root)

    def work() -> None:
        (root / "file").unlink()
        (root / "file" / "deep").mkdir(parents=True)
        (root / "file" / "deep" / "x").write_text("x")
        shutil.rmtree(root / "folder")
        (root / "folder").write_text("a file now")
        shutil.rmtree(root / "linked")
        (root / "linked").symlink_to(outside)
        (root / "link").unlink()
        (root / "link").mkdir()
        (root / "link" / "y").write_text("y")

    turn = await rig.turn(work)
    await rig.undo(turn)
    assert tree(root) == before
    assert (outside / "a").read_text() == "theirs"


async def test_a_folder_that_holds_a_file_of_the_person_is_not_removed_for_a_former_file(root: Path) -> None:
    (root / "file").write_text("file")
    rig = RewindRig(root)

    def work() -> None:
        (root / "file").unlink()
        (root / "file").mkdir()
        (root / "file" / "x").write_text("x")

    turn = await rig.turn(work)
    (root / "file" / "mine").write_text("mine")
    with pytest.raises(RestoreError, match="a folder with files in it stands in its place"):
        await rig.undo(turn)
    assert (root / "file" / "mine").read_text() == "mine"


async def test_nothing_is_written_through_a_link_that_leads_outside(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "a").write_text("theirs")
    (root / "folder").mkdir()
    (root / "folder" / "a").write_text("ours")
    rig = RewindRig(root)
    turn = await rig.turn(lambda: (root / "folder" / "a").write_text("changed"))
    shutil.rmtree(root / "folder")
    (root / "folder").symlink_to(outside)
    plan = await rig.rewind.plan(turn)
    assert [step.edited_since for step in plan.steps] == [True]
    with pytest.raises(RestoreError):
        await rig.rewind.restore(plan, frozenset({str(root / "folder" / "a")}))
    assert (outside / "a").read_text() == "theirs"
    assert os.listdir(outside) == ["a"]


async def test_hard_links_get_their_contents_back_and_their_names_outside_are_not_touched(root: Path) -> None:
    outside = root.parent / "outside"
    outside.write_text("before")
    os.link(outside, root / "a")
    (root / "b").write_text("b before")
    os.link(root / "b", root / "c")
    before = tree(root)
    rig = RewindRig(root)

    def work() -> None:
        (root / "a").write_text("after")
        (root / "b").write_text("b after")
        os.link(root / "b", root / "d")

    turn = await rig.turn(work)
    await rig.undo(turn)
    assert tree(root) == before
    assert outside.read_text() == "after"


async def test_names_that_are_no_text_are_given_back_and_reported(root: Path) -> None:
    name = os.path.join(os.fsencode(root), b"caf\xe9 \xff\n")
    (root / os.fsdecode(os.path.basename(name))).write_bytes(b"before")
    before = tree(root)
    rig = RewindRig(root)
    turn = await rig.turn(lambda: os.unlink(name))
    plan = await rig.rewind.plan(turn)
    (await rig.rewind.diff(plan.steps[0])).encode()
    (root / os.fsdecode(b"caf\xe9 \xff\n")).mkdir()
    (root / os.fsdecode(b"caf\xe9 \xff\n") / "x").touch()
    with pytest.raises(RestoreError) as raised:
        await rig.rewind.restore(plan)
    str(raised.value).encode()
    shutil.rmtree(name)
    await rig.undo(turn)
    assert tree(root) == before


async def test_sensitive_and_secret_contents_are_nowhere_stored_and_it_is_said_that_they_stay(
    root: Path,
) -> None:
    (root / ".env").write_text("KEY=hunter2")
    (root / "notes").write_bytes(b"the key is " + SECRET)
    (root / "to").symlink_to(SECRET.decode())
    (root / SECRET.decode()).write_text("named so")
    rig = RewindRig(root)

    def work() -> None:
        (root / ".env").write_text("KEY=other")
        (root / "notes").write_bytes(b"now it is " + SECRET)
        (root / "plain").write_text("plain")

    turn = await rig.turn(work)
    kept = b"".join(rig.contents.contents.values())
    assert SECRET not in kept
    assert b"hunter2" not in kept
    steps = rig.steps(await rig.rewind.plan(turn))
    assert steps[".env"].trouble == "its former content was not kept (it is sensitive)"
    assert steps["notes"].trouble == "its former content was not kept (it holds a secret)"
    assert "cannot be given back" in await rig.rewind.diff(steps[".env"])
    plan = await rig.rewind.plan(turn)
    done = await rig.rewind.restore(plan, frozenset(step.path for step in plan.steps))
    assert (root / ".env").read_text() == "KEY=other"
    assert not (root / "plain").exists()
    assert set(done.left) == {str(root / ".env"), str(root / "notes")}


async def test_a_created_file_that_cannot_be_brought_back_is_deleted_only_when_the_person_says_so(
    root: Path,
) -> None:
    rig = RewindRig(root)
    turn = await rig.turn(lambda: (root / ".env").write_text("KEY=x"))
    plan = await rig.rewind.plan(turn)
    (step,) = plan.steps
    assert step.edited_since
    assert step.is_final
    assert "cannot be brought back" in await rig.rewind.diff(step)
    await rig.rewind.restore(plan)
    assert (root / ".env").exists()
    await rig.rewind.restore(plan, frozenset({step.path}))
    assert not (root / ".env").exists()


async def test_a_file_too_large_to_keep_is_reported_and_left(root: Path) -> None:
    (root / "huge").write_bytes(b"x" * 2000)
    rig = RewindRig(root, limits=KeepLimits(file_bytes=1000))
    turn = await rig.turn(lambda: (root / "huge").write_bytes(b"y" * 2000))
    (step,) = (await rig.rewind.plan(turn)).steps
    assert step.trouble == "its former content was not kept (it is too large)"


async def test_a_call_with_declared_paths_keeps_only_these(root: Path) -> None:
    (root / "a").write_text("a")
    (root / "b").write_text("b")
    rig = RewindRig(root)
    turn = await rig.turn(
        lambda: (root / "a").write_text("changed"), access=Access.of(writes=[str(root / "a"), "state:plan"])
    )
    assert b"b" not in rig.contents.contents.values()
    assert [kept.files for kept in rig.kept] == [1]
    await rig.undo(turn)
    assert (root / "a").read_text() == "a"


async def test_files_are_kept_and_on_record_before_the_call_acts(root: Path) -> None:
    (root / "a").write_text("a")
    rig = RewindRig(root)
    async with rig.call():
        assert b"a" in rig.contents.contents.values()
        assert [type(event) for event in rig.observer.events] == [FilesKept]
        assert rig.kept[0].manifest in rig.contents.contents
        (root / "a").write_text("b")
    assert [type(event) for event in rig.observer.events] == [FilesKept, EffectsObserved]


async def test_a_call_whose_files_cannot_be_kept_does_not_run(root: Path) -> None:
    (root / "a").write_text("a")
    rig = RewindRig(root)
    rig.contents.full = True
    with pytest.raises(ToolError, match="not run: its files could not be kept: the disk is full"):
        await rig.turn(lambda: (root / "a").unlink())
    assert (root / "a").exists()


async def test_a_store_that_was_waited_for_in_vain_is_no_error_of_the_call(root: Path) -> None:
    (root / "a").write_text("a")
    rig = RewindRig(root)
    rig.contents.lost = True
    with pytest.raises(LostConnection):
        await rig.turn(lambda: (root / "a").unlink())
    assert (root / "a").exists()


async def test_a_store_that_fails_after_the_call_does_not_hide_what_it_changed(root: Path) -> None:
    (root / "a").write_text("a")
    rig = RewindRig(root)

    def work() -> None:
        (root / "a").write_text("b")
        rig.contents.full = True

    await rig.turn(work)
    change = rig.observed["a"]
    assert change.after is not None
    assert change.after.unkept == "it could not be stored"
    with pytest.raises(LedgerError):
        await rig.rewind.plan(0)


@pytest.mark.parametrize("error", [asyncio.CancelledError, RuntimeError])
async def test_a_call_that_was_cancelled_or_crashed_can_be_undone(
    root: Path, error: type[BaseException]
) -> None:
    (root / "a").write_text("a")
    rig = RewindRig(root)

    def work() -> None:
        (root / "a").write_text("b")
        raise error

    with pytest.raises(error):
        await rig.turn(work)
    assert rig.observed["a"].kind is ChangeKind.MODIFIED
    await rig.undo(0)
    assert (root / "a").read_text() == "a"


async def test_a_cancelled_call_that_changed_nothing_leaves_no_doubt(root: Path) -> None:
    (root / "a").write_text("a")
    rig = RewindRig(root)

    def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await rig.turn(work)
    (root / "a").write_text("by the person")
    assert (await rig.rewind.plan(0)).steps == ()


async def test_after_a_crash_everything_that_differs_is_asked_about(root: Path) -> None:
    for name in ("a", "b", "c"):
        (root / name).write_text(name)
    (root / ".env").write_text("KEY=1")
    before = tree(root)
    rig = RewindRig(root)

    def work() -> None:
        (root / "a").write_text("changed")
        (root / "b").unlink()
        (root / "new").write_text("new")

    turn = await rig.crashed_turn(work)
    plan = await rig.rewind.plan(turn)
    assert {name: step.edited_since for name, step in rig.steps(plan).items()} == {
        "a": True,
        "b": True,
        "new": True,
    }
    assert any("not kept" in sentence for sentence in plan.unseen)
    await rig.rewind.restore(plan)
    assert (root / "a").read_text() == "changed"
    await rig.undo(turn, "a", "b", "new")
    assert tree(root) == before


async def test_a_crash_after_our_own_change_is_undone_to_before_both(root: Path) -> None:
    (root / "a").write_text("0")
    rig = RewindRig(root)
    first = await rig.turn(lambda: (root / "a").write_text("1"))
    second = await rig.crashed_turn(lambda: (root / "a").write_text("2"))
    assert rig.steps(await rig.rewind.plan(second))["a"].wanted == rig.observed["a"].after
    await rig.undo(first, "a")
    assert (root / "a").read_text() == "0"


async def test_a_lost_list_of_an_interrupted_call_is_reported(root: Path) -> None:
    (root / "a").write_text("0")
    rig = RewindRig(root)
    turn = await rig.crashed_turn(lambda: (root / "a").write_text("2"))
    del rig.contents.contents[rig.kept[0].manifest]
    assert any("lost" in sentence for sentence in (await rig.rewind.plan(turn)).unseen)


async def test_a_workspace_too_large_to_see_is_reported(root: Path) -> None:
    for number in range(20):
        (root / str(number)).write_text("x")
    rig = RewindRig(root, watch=WorkspaceWatch([str(root)], most_files=10))
    turn = await rig.turn(lambda: (root / "0").write_text("y"))
    assert (await rig.rewind.plan(turn)).unseen


async def test_what_is_gone_from_the_store_is_named_and_the_rest_given_back(root: Path) -> None:
    for name in ("a", "b"):
        (root / name).write_text(name)
    rig = RewindRig(root)

    def work() -> None:
        (root / "a").unlink()
        (root / "b").unlink()

    plan = await rig.rewind.plan(await rig.turn(work))
    wanted = rig.steps(plan)["a"].wanted
    assert wanted is not None
    assert wanted.sha256 is not None
    del rig.contents.contents[wanted.sha256]
    with pytest.raises(RestoreError, match="1 file was given back, 1 could not be"):
        await rig.rewind.restore(plan)
    assert (root / "b").read_text() == "b"
    assert not (root / "a").exists()


async def test_the_state_after_a_restoration_is_the_one_reported(root: Path) -> None:
    (root / "a").write_text("a")
    (root / "a").chmod(0o640)
    rig = RewindRig(root)
    turn = await rig.turn(lambda: (root / "a").unlink())
    await rig.undo(turn)
    (change,) = rig.restored
    assert change.before is None
    assert isinstance(change.after, FileState)
    assert (change.after.kind, change.after.mode) == (FileKind.FILE, 0o640)
    assert os.listdir(root) == ["a"]


@pytest.mark.long
async def test_a_call_that_waits_for_many_files_to_be_kept_says_so(root: Path) -> None:
    files = 2 * BATCH_FILES + 1
    for number in range(files):
        (root / str(number)).write_text(str(number))
    rig = RewindRig(root, limits=KeepLimits(before_secs=60))  # as long as it takes, on a busy machine too

    await rig.turn(lambda: None)

    reported = [event for event in rig.observer.of(CallQueued) if isinstance(event, CallQueued)]
    assert [(event.waiting_for, event.files_kept, event.files) for event in reported] == [
        ("files", BATCH_FILES, files),
        ("files", 2 * BATCH_FILES, files),
    ]


class Notes:
    """Takes note of what the model is to read with the next prompt."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    async def queue_note(self, note: str) -> None:
        self.notes.append(note)


async def test_one_file_goes_back_by_itself_and_the_model_is_told(root: Path) -> None:
    (root / "a").write_text("one\n")
    (root / "b").write_text("one\n")
    rig = RewindRig(root)
    notes = rig.rewind._run = Notes()
    turn = await rig.turn(lambda: (root / "a").write_text("two\n"), lambda: (root / "b").write_text("two\n"))
    (root / "a").write_text("mine\n")

    plan = await rig.rewind.plan(turn)
    first = next(step for step in plan.steps if step.path.endswith("/a"))
    forward = await rig.rewind.diff(replace(first, wanted=first.now, now=first.wanted))
    await rig.rewind.restore_together(first)

    assert "-one" in forward
    assert "+mine" in forward
    assert ((root / "a").read_text(), (root / "b").read_text()) == ("one\n", "two\n")
    assert [change.path for change in rig.restored] == [first.path]
    assert [str(root / "a") in note for note in notes.notes] == [True]
    assert [step.path for step in (await rig.rewind.plan(turn)).steps] == [str(root / "b")]


async def test_the_two_names_of_a_renamed_file_go_back_as_one_change(root: Path) -> None:
    (root / "a").write_text("one\n")
    rig = RewindRig(root)
    notes = rig.rewind._run = Notes()
    turn = await rig.turn(lambda: (root / "a").rename(root / "b"))
    new, old = sorted((await rig.rewind.plan(turn)).steps, key=lambda step: step.wanted is not None)
    await rig.rewind.restore_together(old, new)

    assert list(tree(root)) == [b"a"]
    (event,) = (event for event in rig.observer.events if isinstance(event, FilesRestored))
    assert [(change.path, was) for change, was in pair_renames(event.changes)] == [(old.path, new.path)]
    assert len(notes.notes) == 1


async def test_where_the_old_name_cannot_come_back_the_new_one_stays(root: Path) -> None:
    (root / "a").write_text("one\n")
    rig = RewindRig(root)
    rig.rewind._run = Notes()
    turn = await rig.turn(lambda: (root / "a").rename(root / "b"))
    new, old = sorted((await rig.rewind.plan(turn)).steps, key=lambda step: step.wanted is not None)
    (root / "a").write_text("mine\n")
    with pytest.raises(RestoreError, match="changed just now"):
        await rig.rewind.restore_together(old, new)

    assert ((root / "a").read_text(), (root / "b").read_text()) == ("mine\n", "one\n")
    assert not rig.observer.of(FilesRestored)


async def test_one_file_that_changed_after_it_was_shown_or_is_not_kept_stays_as_it_is(root: Path) -> None:
    (root / "a").write_text("one\n")
    rig = RewindRig(root)
    rig.rewind._run = Notes()
    turn = await rig.turn(lambda: (root / "a").write_text("two\n"))
    (step,) = (await rig.rewind.plan(turn)).steps

    (root / "a").write_text("three\n")
    with pytest.raises(RestoreError, match="changed just now"):
        await rig.rewind.restore_together(step)
    with pytest.raises(RestoreError, match="it is not kept"):
        await rig.rewind.restore_together(replace(step, trouble="it is not kept"))

    assert (root / "a").read_text() == "three\n"
