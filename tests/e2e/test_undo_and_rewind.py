"""Undo and rewind through all of a real session: tools, sandbox, record, restarts, `kill -9`, git."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.application.session.rewind import Rewind
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import ConversationError, LedgerError, RestoreError
from quorum.domain.events.event import Event, FilesRestored, SessionRewound
from quorum.domain.replacing import replace
from quorum.domain.sessions.session_summary import NamedSession
from quorum.infrastructure.container import Container
from quorum.infrastructure.store.ledger.opening import open_database
from quorum.infrastructure.store.snapshots.watch import WorkspaceWatch
from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.doomed_session import dies
from tests.support.examples import examples
from tests.support.real_session import Adjust, LedgerThat, SessionStage, call, says, shell, steps, write
from tests.support.rewind_rig import plan_taking_back, tree
from tests.support.session_parts import change_ledger, put

SANDBOXES = ["off", pytest.param("require", marks=needs_bubblewrap)]


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    return SessionStage(tmp_path)


@pytest.fixture
def root(stage: SessionStage) -> Path:
    return stage.root


# ---------------------------------------------------------------- what was there comes back


@pytest.mark.long
@pytest.mark.parametrize("sandbox", SANDBOXES)
async def test_whatever_the_tools_did_to_files_is_taken_back_by_a_later_process(
    tmp_path: Path, sandbox: str
) -> None:
    stage = SessionStage(tmp_path, sandbox=sandbox)
    root = stage.root
    (root / "text").write_text("one\ntwo\n")
    (root / "binary").write_bytes(bytes(range(256)) * 40)
    (root / "script").write_text("#!/bin/sh\n")
    (root / "script").chmod(0o750)
    (root / "edited").write_text("alpha\n")
    (root / "edited").chmod(0o600)
    (root / "gone").write_text("gone")
    (root / "old name").write_text("renamed")
    (root / "to").symlink_to("text")
    (root / "linked").write_text("two names")
    os.link(root / "linked", root / "its other name")
    (root / "becomes a folder").write_text("file")
    (root / "becomes a file" / "deep").mkdir(parents=True)
    (root / "becomes a file" / "deep" / "x").write_text("x")
    before = tree(root)
    async with stage.opened() as session:
        await session.turn(
            (write("text", "other\n"), write("made/by/tool", "new"), call("read_file", path="edited")),
            call("edit_file", path="edited", old_text="alpha", new_text="omega"),
            shell(
                "printf '\\0\\377' > binary; chmod 4777 script; rm gone; mv 'old name' 'new name';"
                " ln -sfn /etc to; echo more >> linked; mkdir -p shell/deep; echo x > shell/deep/x"
            ),
            shell(
                "rm 'becomes a folder'; mkdir 'becomes a folder'; echo y > 'becomes a folder/y';"
                " rm -r 'becomes a file'; echo z > 'becomes a file'"
            ),
        )
        assert tree(root) != before
        await session.check()
    async with stage.opened() as session:
        plan = await session.undo()
        assert tree(root) == before
        assert set(steps(plan, root).values()) == {"given back"}
        assert plan.unseen == ()
        assert not (root / "made").exists()
        assert session.container.parts().core.conversation.messages == ()
        await session.continue_turn()


@pytest.mark.long
async def test_three_turns_are_taken_back_one_by_one_and_new_work_too(stage: SessionStage, root: Path) -> None:
    (root / "a").write_text("0")
    trees = []
    async with stage.opened() as session:
        for number in range(1, 4):
            trees.append(tree(root))
            await session.turn(write("a", str(number)), shell(f"echo {number} > made-{number}"))
    for number in (2, 1, 0):
        async with stage.opened() as session:
            await session.undo()
            assert tree(root) == trees[number]
            await session.check()
    async with stage.opened() as session:
        await session.turn(write("a", "new"), shell("echo new > made-2"), prompt="new work")
        new = tree(root)
        await session.turn(write("a", "newer"))
        await session.undo()
        assert tree(root) == new
        await session.undo()
        assert tree(root) == trees[0]
        assert all(turn.undone for turn in session.agent.rewind.turns)
        await session.continue_turn()


@pytest.mark.long
async def test_names_that_are_no_text_come_back_out_of_the_database(stage: SessionStage, root: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \xff")
    (root / name).write_bytes(b"before")
    before = tree(root)
    async with stage.opened() as session:
        await session.turn(shell(r"""rm caf*; printf x > "$(printf 'n\377w')"; mkdir "$(printf '\376')" """))
    async with stage.opened() as session:
        await session.undo()
        assert tree(root) == before
        await session.continue_turn()


@pytest.mark.long
async def test_files_of_a_second_folder_come_back_too(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    stage = SessionStage(tmp_path, more_settings=f"[workspace]\ndirectories = ['{other}']\n")
    root = stage.root
    (other / "a").write_text("other")
    (root / "a").write_text("first")
    before = tree(root), tree(other)

    async with stage.opened() as session:
        await session.turn(write(str(other / "a"), "changed"), shell(f"rm a; echo x > {other}/b"))
        assert tree(other)[b"a"] == (0o644, b"changed")
    async with stage.opened() as session:
        await session.undo()
        assert (tree(root), tree(other)) == before
        await session.continue_turn()


@pytest.mark.long
@pytest.mark.parametrize("named", [False, True], ids=["state folder", "storage.url"])
async def test_a_record_that_lies_in_the_workspace_is_never_given_back(tmp_path: Path, *, named: bool) -> None:
    inside = tmp_path / "work" / "state"
    url = f'[storage]\nurl = "sqlite:///{inside}/mine.sqlite"\n' if named else ""
    stage = SessionStage(tmp_path, more_settings=url, state_home=None if named else inside)
    (stage.root / "a").write_text("before")
    async with stage.opened() as session:
        await session.turn(write("a", "after"), shell("echo x > b"))
    async with stage.opened() as session:
        plan = await session.undo()
        assert steps(plan, stage.root) == {"a": "given back", "b": "given back"}
        await session.continue_turn()


# ---------------------------------------------------------------- what the person did since


@pytest.mark.long
async def test_later_edits_of_the_person_are_asked_about_and_never_lost(
    stage: SessionStage, root: Path
) -> None:
    for name in ("kept", "overwritten", "deleted"):
        (root / name).write_text("before\n")
    async with stage.opened() as session:
        await session.turn(shell("for f in kept overwritten deleted made; do echo model > $f; done"))
    for name in ("kept", "overwritten", "made"):
        (root / name).write_text("person\n")
    (root / "deleted").unlink()
    async with stage.opened() as session:
        plan = await session.agent.rewind.plan(0)
        assert steps(plan, root) == dict.fromkeys(("kept", "overwritten", "deleted", "made"), "asked")
        diffs = [await session.agent.rewind.diff(step) for step in plan.steps]
        assert all("-person" in diff for diff, step in zip(diffs, plan.steps, strict=True) if step.now)
        await session.undo(overwrite={"overwritten"})
        mode = 0o644
        assert tree(root) == {
            b"kept": (mode, b"person\n"),
            b"overwritten": (mode, b"before\n"),
            b"made": (mode, b"person\n"),
        }
        await session.continue_turn()
    async with stage.opened() as session:
        rewind: Rewind = session.container.agent().rewind
        restored = [event for event in session.agent.record.past if isinstance(event, FilesRestored)]
        await rewind.restore(plan_taking_back(restored[-1].changes))
        assert (root / "overwritten").read_text() == "person\n"


@pytest.mark.long
async def test_an_edit_of_the_person_between_two_turns_is_not_overwritten_unasked(
    stage: SessionStage, root: Path
) -> None:
    (root / "a").write_text("before\n")
    async with stage.opened() as session:
        await session.turn(write("a", "first\n"))
        (root / "a").write_text("person\n")
        await session.turn(shell("echo second >> a"))
    async with stage.opened() as session:
        assert steps(await session.agent.rewind.plan(1), root) == {"a": "given back"}
        assert steps(await session.agent.rewind.plan(0), root) == {"a": "asked"}
        await session.undo()
        assert (root / "a").read_text() == "person\n"
        await session.undo()
        assert (root / "a").read_text() == "person\n"
        await session.continue_turn()


async def test_what_was_taken_back_and_done_again_is_no_edit_of_the_person(
    stage: SessionStage, root: Path
) -> None:
    (root / "a").write_text("before\n")
    async with stage.opened() as session:
        await session.turn(prompt="look")
        await session.turn(write("a", "first\n"))
        await session.undo()
        await session.turn(write("a", "second\n"), write("a", "third\n"))
        assert steps(await session.agent.rewind.plan(0), root) == {"a": "given back"}


@pytest.mark.long
async def test_a_file_that_changes_after_the_plan_was_shown_is_left_and_named(
    stage: SessionStage, root: Path
) -> None:
    for name in ("a", "b"):
        (root / name).write_text("before")
    async with stage.opened() as session:
        await session.turn(shell("echo x > a; echo x > b; echo x > made"))
        plan = await session.agent.rewind.plan(0)
        (root / "a").write_text("just now")
        (root / "made").unlink()
        (root / "made").mkdir()
        with pytest.raises(RestoreError, match=r"1 file was given back, 2 could not.*changed just now"):
            await session.agent.rewind.rewind_to(0, conversation=True, plan=plan, overwrite=frozenset())
        assert (root / "a").read_text() == "just now"
        assert (root / "b").read_text() == "before"
        assert (root / "made").is_dir()
        assert session.container.parts().core.conversation.messages == ()
        await session.continue_turn()


@pytest.mark.long
async def test_a_file_that_a_process_keeps_writing_is_asked_about_and_the_rest_comes_back(
    stage: SessionStage, root: Path
) -> None:
    for name in ("log", "b"):
        (root / name).write_text("before")
    async with stage.opened() as session:
        await session.turn(shell("echo x > log; echo x > b"))
        writer = await asyncio.create_subprocess_exec(
            "sh",
            "-c",
            "echo >> log; echo; while :; do echo >> log; done",
            cwd=root,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            assert writer.stdout is not None
            await writer.stdout.readline()
            plan = await session.agent.rewind.plan(0)
            assert steps(plan, root) == {"log": "asked", "b": "given back"}
            with contextlib.suppress(RestoreError):
                await session.agent.rewind.rewind_to(
                    0, conversation=True, plan=plan, overwrite=frozenset({str(root / "log")})
                )
        finally:
            writer.kill()
            await writer.wait()
        assert (root / "b").read_text() == "before"
        await session.continue_turn()


# ---------------------------------------------------------------- conversation


@pytest.mark.long
async def test_the_conversation_alone_can_be_taken_back_and_the_files_later(
    stage: SessionStage, root: Path
) -> None:
    (root / "a").write_text("before")
    async with stage.opened() as session:
        await session.turn(prompt="hello")
        before = session.container.parts().core.conversation.messages
        await session.turn(write("a", "after"))
        after = tree(root)
        await session.undo(files=False)
        assert tree(root) == after
        assert session.container.parts().core.conversation.messages == before
        await session.check()
    async with stage.opened() as session:
        assert steps(await session.agent.rewind.plan(0), root) == {"a": "given back"}
        await session.turn(shell("echo x > b"))
        with pytest.raises(ConversationError):
            await session.undo(1)
        said = session.container.parts().core.conversation.messages
        await session.undo(1, conversation=False)
        assert tree(root) == {b"a": (0o644, b"before")}
        assert session.container.parts().core.conversation.messages[: len(said)] == said
        await session.continue_turn()


@pytest.mark.long
async def test_files_alone_can_be_taken_back_and_the_conversation_later(
    stage: SessionStage, root: Path
) -> None:
    async with stage.opened() as session:
        await session.turn(write("a", "x"))
        said = session.container.parts().core.conversation.messages
        await session.undo(conversation=False)
        assert tree(root) == {}
        *before, word = session.container.parts().core.conversation.messages
        assert tuple(before) == said
        assert isinstance(word, UserMessage)
        assert str(root / "a") in word.text
        await session.check()
    async with stage.opened() as session:
        plan = await session.undo()
        assert plan.steps == ()
        assert session.container.parts().core.conversation.messages == ()
        await session.continue_turn()


@pytest.mark.long
async def test_a_return_to_before_a_compaction_brings_back_every_word(stage: SessionStage, root: Path) -> None:
    async with stage.opened() as session:
        await session.turn(write("a", "1"), prompt="first " + "word " * 400)
        await session.turn(shell("echo x > b"), prompt="second " + "word " * 400)
        before = session.container.parts().core.conversation.messages
        files = tree(root)
        await session.turn(write("a", "2"), prompt="third " + "word " * 400)
        session.script[:] = [says("They talked about words.")]
        await session.agent.context.compact("")
        assert len(session.container.parts().core.conversation.messages) < len(before)
        await session.turn(write("a", "3"), prompt="fourth")
        await session.check()
    async with stage.opened() as session:
        await session.undo(2)
        assert session.container.parts().core.conversation.messages == before
        assert tree(root) == files
        await session.continue_turn()


@pytest.mark.long
async def test_a_turn_whose_review_is_pending_can_be_taken_back(stage: SessionStage, root: Path) -> None:
    async with stage.opened() as session:
        await session.turn(write("a", "1"))
        before = session.container.parts().core.conversation.messages
    dies(
        stage,
        ("write_file", {"path": "b", "content": "2"}),
        ("run_command", {"command": "echo x > c"}),
        moment="after",
        event="review_requested",
    )
    async with stage.opened() as session:
        assert session.agent.run.has_pending
        await session.undo()
        assert not session.agent.run.has_pending
        assert session.container.parts().core.conversation.messages == before
        assert set(tree(root)) == {b"a"}
        await session.continue_turn()
        assert set(tree(root)) == {b"a"}
    async with stage.opened() as session:
        assert not session.agent.run.has_pending
        await session.continue_turn()


@pytest.mark.long
async def test_files_can_be_taken_back_while_a_review_is_pending(stage: SessionStage, root: Path) -> None:
    async with stage.opened() as session:
        await session.turn(write("a", "1"))
    dies(stage, ("write_file", {"path": "b", "content": "2"}), moment="after", event="review_requested")
    async with stage.opened() as session:
        await session.undo(0, conversation=False)
        assert tree(root) == {}
        await session.check()
    async with stage.opened() as session:
        assert session.agent.run.has_pending
        session.script[:] = [says("done")]
        await session.agent.run.resume_pending()
        assert set(tree(root)) == {b"b"}
        await session.continue_turn()


@pytest.mark.long
async def test_the_model_hears_which_files_were_given_back_in_text_that_can_be_sent(
    stage: SessionStage, root: Path
) -> None:
    (root / os.fsdecode(b"caf\xe9")).write_text("before")
    (root / "blocked").write_text("before")
    async with stage.opened() as session:
        await session.turn(
            shell("for f in *; do echo x > $f; done; rm blocked; for n in $(seq 300); do : > z$n; done")
        )
        (root / "blocked").mkdir()
        (root / "blocked" / "mine").touch()
        with pytest.raises(RestoreError, match="301 files were given back, 1 could not be"):
            await session.undo(conversation=False, overwrite={"blocked"})
        word = session.container.parts().core.conversation.messages[-1]
        assert isinstance(word, UserMessage)
        assert word.text.encode().endswith(b"and 281 more")
        assert "caf\\udce9" in word.text
        await session.continue_turn()


# ---------------------------------------------------------------- kill -9


@pytest.mark.long
@pytest.mark.parametrize("sandbox", SANDBOXES)
async def test_what_a_command_did_until_the_process_was_killed_is_found_and_taken_back_when_asked(
    tmp_path: Path, sandbox: str
) -> None:
    stage = SessionStage(tmp_path, sandbox=sandbox)
    root = stage.root
    (root / "a").write_text("before")
    (root / "gone").write_text("gone")
    (root / "mode").touch(mode=0o600)
    async with stage.opened() as session:
        await session.turn(write("b", "by an earlier turn"))
    before = tree(root)
    command = "echo x > a; rm gone; chmod 755 mode; echo y >> b; mkdir d; echo z > d/new; echo now; sleep 600"
    dies(stage, ("run_command", {"command": command}))
    async with stage.opened() as session:
        plan = await session.agent.rewind.plan(1)
        assert steps(plan, root) == dict.fromkeys(("a", "gone", "mode", "b", "d/new"), "asked")
        await session.undo(1, overwrite={"a", "gone", "mode", "b", "d/new"})
        assert tree(root) == before
        await session.undo(0)
        assert set(tree(root)) == {b"a", b"gone", b"mode"}
        await session.continue_turn()


@pytest.mark.long
async def test_files_changed_again_after_a_call_that_was_killed_are_asked_about(
    stage: SessionStage, root: Path
) -> None:
    (root / "a").write_text("before")
    (root / "b").write_text("before")
    dies(stage, ("run_command", {"command": "echo x > a; echo now; sleep 600"}))
    async with stage.opened() as session:
        await session.turn(write("a", "later"), write("b", "later"))
        assert steps(await session.agent.rewind.plan(0), root) == {"a": "asked", "b": "given back"}
        assert steps(await session.agent.rewind.plan(1), root) == {"a": "given back", "b": "given back"}


@pytest.mark.long
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("event", ["files_restored", "session_rewound"])
async def test_a_return_that_is_killed_can_be_done_again(
    stage: SessionStage, root: Path, moment: str, event: str
) -> None:
    (root / "a").write_text("before")
    before = tree(root)
    async with stage.opened() as session:
        await session.turn(write("a", "after"), shell("echo x > made"))
        said = session.container.parts().core.conversation.messages
    dies(stage, undo=0, moment=moment, event=event)
    done = (moment, event) == ("after", "session_rewound")
    async with stage.opened() as session:
        await session.check()
        assert tree(root) == before
        assert session.container.parts().core.conversation.messages == (() if done else said)
        if not done:
            plan = await session.undo()
            assert plan.steps == ()
        assert session.container.parts().core.conversation.messages == ()
        await session.continue_turn()


# ---------------------------------------------------------------- what fails


@pytest.mark.long
async def test_a_file_whose_name_is_a_secret_is_not_made_again_under_another_name(
    stage: SessionStage, root: Path
) -> None:
    name = "sk-ant-api03-" + "A1b2C3d4E5" * 9
    (root / name).write_text("before")
    async with stage.opened() as session:
        await session.turn(shell(f"echo x > {name}; echo x > other"))
        assert steps(await session.agent.rewind.plan(0), root) == dict.fromkeys((name, "other"), "given back")
    async with stage.opened() as session:
        plan = await session.undo()
        assert steps(plan, root) == {"other": "given back"}
        assert any("names hold secrets" in reported for reported in plan.unseen)
        assert set(tree(root)) == {name.encode()}
        await session.continue_turn()


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file may grow beyond this size, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.long
async def test_a_file_for_which_there_is_no_room_stays_whole_and_is_named(
    stage: SessionStage, root: Path
) -> None:
    (root / "big").write_bytes(b"x" * 4_000_000)
    (root / "small").write_text("before")
    async with stage.opened() as session:
        await session.turn(shell("echo model > big; echo model > small"))
        with largest_file(2_000_000), pytest.raises(RestoreError, match=r"1 file was given back.*big: the "):
            await session.undo()
        assert tree(root) == {b"big": (0o644, b"model\n"), b"small": (0o644, b"before")}
        await session.continue_turn()


async def test_a_return_that_cannot_be_recorded_holds_all_the_same_and_is_recorded_later(
    stage: SessionStage, root: Path
) -> None:
    full = False

    def refuse(event: Event) -> None:
        if full and isinstance(event, SessionRewound):
            # It waits in the ledger, as when the disk is full.
            raise LedgerError("the disk is full")

    def adjust(container: Container) -> None:
        change_ledger(container, lambda ledger: LedgerThat(ledger, after=refuse))

    async with stage.opened(adjust=adjust) as session:
        await session.turn(write("a", "x"))
        full = True
        with pytest.raises(LedgerError):
            await session.undo()
        assert tree(root) == {}
        assert session.container.parts().core.conversation.messages == session.state.messages == ()
        full = False
        await session.continue_turn()


@pytest.mark.long
async def test_a_return_that_is_cancelled_leaves_conversation_and_record_agreed(
    stage: SessionStage, root: Path
) -> None:
    recording = asyncio.Event()

    def tell(event: Event) -> None:
        if isinstance(event, SessionRewound):
            recording.set()

    def adjust(container: Container) -> None:
        change_ledger(container, lambda ledger: LedgerThat(ledger, before=tell))

    async with stage.opened(adjust=adjust) as session:
        await session.turn(write("a", "x"))
        undo = asyncio.create_task(session.undo())
        await recording.wait()
        undo.cancel()
        with pytest.raises(asyncio.CancelledError):
            await undo
        await session.continue_turn()


@pytest.mark.long
async def test_what_cannot_be_seen_of_a_huge_workspace_is_said_and_the_rest_comes_back(
    stage: SessionStage, root: Path
) -> None:
    adjust = a_small_look(root)
    async with stage.opened(adjust=adjust) as session:
        await session.turn(shell("rm 03; echo x > 04; echo x > 25; echo x > made"), write("28", "x"))
    async with stage.opened(adjust=adjust) as session:
        plan = await session.undo()
        assert steps(plan, root) == dict.fromkeys(("03", "04", "28"), "given back")
        assert any("run_command" in reported for reported in plan.unseen)
        assert (root / "25").read_text() == "x\n"
        await session.continue_turn()


@pytest.mark.long
async def test_what_a_killed_command_did_to_a_huge_workspace_comes_back_as_far_as_it_was_seen(
    stage: SessionStage, root: Path
) -> None:
    adjust = a_small_look(root)
    dies(stage, ("run_command", {"command": "echo x > 01; rm 03; echo now; sleep 600"}))
    async with stage.opened(adjust=adjust) as session:
        await session.turn(shell("rm 07"))
    async with stage.opened(adjust=adjust) as session:
        plan = await session.agent.rewind.plan(0)
        assert steps(plan, root) == {"01": "asked", "03": "asked", "07": "given back"}
        assert plan.unseen


def a_small_look(root: Path) -> Adjust:
    """Thirty files, of which a look comes to twenty."""
    for number in range(30):
        (root / f"{number:02}").write_text("before")
    watch = WorkspaceWatch([str(root)], most_files=20)
    return lambda container: put(container.parts().shared.keeper, _watch=watch)


# ---------------------------------------------------------------- copies of a session


@pytest.mark.long
async def test_a_copy_gives_files_back_also_when_the_session_it_was_made_of_is_gone(
    stage: SessionStage, root: Path
) -> None:
    (root / "a").write_text("0")
    (root / "b").write_text("only in the store")
    async with stage.opened() as session:
        await session.turn(write("a", "1"))
        before = tree(root)
        await session.turn(shell("echo 2 > a; rm b"))
        copy, original = (
            await session.agent.record.archive.fork(session.agent.session_id),
            session.agent.session_id,
        )
        await session.turn(write("a", "3"), shell("echo x > c"))
    database = open_database("", stage.environ)
    try:
        await database.archive.prune(ids=[original])
    finally:
        database.close()
    async with stage.opened(NamedSession(copy)) as session:
        plan = await session.undo(1, overwrite={"a"})
        assert steps(plan, root) == {"a": "asked", "b": "given back"}
        (root / "c").unlink()  # it came of the original alone
        assert tree(root) == before
        await session.continue_turn()
        await session.undo(0)
        assert tree(root)[b"a"] == (0o644, b"0")


# ---------------------------------------------------------------- anything at all

NAMES = st.sampled_from(["a", "b", "d/a", "d"])
WORK = st.one_of(
    st.builds(write, NAMES, st.sampled_from(["one", "two"])),
    st.builds(lambda a: shell(f"echo {a} > {a}"), NAMES),
    st.builds(lambda a: shell(f"rm -rf {a}; mkdir -p {a}/e; echo x > {a}/e/f"), NAMES),
    st.builds(lambda a: shell(f"rm -rf {a}"), NAMES),
    st.builds(lambda a, b: shell(f"mv -T {a} {b}"), NAMES, NAMES),
    st.builds(lambda a, b: shell(f"ln -sfn {b} {a}"), NAMES, NAMES),
    st.builds(lambda a, mode: shell(f"chmod {mode} {a}"), NAMES, st.sampled_from(["600", "755"])),
)
TURN = st.lists(WORK, min_size=1, max_size=3)
TAKEN_BACK = st.tuples(st.integers(0, 3), st.booleans())


@pytest.mark.long
@examples(8)
@given(acts=st.lists(TURN | TAKEN_BACK, min_size=3, max_size=7))
def test_whatever_was_done_and_taken_back_the_files_of_a_turn_are_those_before_it(
    acts: list[list[ToolCall] | tuple[int, bool]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_goes_back(SessionStage(Path(folder)), acts))


async def _goes_back(stage: SessionStage, acts: list[list[ToolCall] | tuple[int, bool]]) -> None:
    trees: list[dict[bytes, tuple[object, ...]]] = []
    for act in [*acts, (0, True)]:
        async with stage.opened() as session:
            if isinstance(act, list):
                trees.append(tree(stage.root))
                fresh = [replace(each, native_id=uuid4().hex) for each in act]
                await session.turn(*fresh)
            elif live := [turn.number for turn in session.agent.rewind.turns if not turn.undone]:
                conversation = act[1]
                number = live[act[0] % len(live)] if conversation else live[-1]
                plan = await session.undo(number, conversation=conversation)
                assert tree(stage.root) == trees[number]
                assert not any(step.edited_since or step.trouble for step in plan.steps)
            await session.check()
