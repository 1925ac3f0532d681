from collections.abc import Sequence
from pathlib import Path

import pytest

from quorum.domain.conversation.history import Message, UserMessage
from quorum.domain.errors import ConversationError, RestoreError
from quorum.domain.events.event import MessageAdded, SessionRedone, TurnStarted
from quorum.domain.sessions.restoration import RestorePlan
from quorum.domain.sessions.state import PastUndo
from tests.support.rewind_rig import RewindRig


class RecordingConversation:
    """What an undo and a redo make of the conversation, and what the model is to be told."""

    rewind_refusal = ""

    def __init__(self) -> None:
        self.messages: Sequence[Message] = ()
        self.notes: list[str] = []

    def return_to(self, messages: Sequence[Message]) -> None:
        self.messages = messages

    async def queue_note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a").write_text("before")
    return folder


@pytest.fixture
def conversation() -> RecordingConversation:
    return RecordingConversation()


@pytest.fixture
def rig(root: Path, conversation: RecordingConversation) -> RewindRig:
    return RewindRig(root, run=conversation)


def last_undo(rig: RewindRig) -> PastUndo:
    undo = rig.rewind.last_undo
    assert undo is not None
    return undo


async def change_and_undo(rig: RewindRig, *, conversation: bool = True) -> None:
    """A turn that changes a file and makes one, and its undo."""

    def work() -> None:
        (rig.root / "a").write_text("after")
        (rig.root / "made").write_text("made")

    turn = await rig.turn(work)
    await rig.events.record(MessageAdded(message=UserMessage("go")))
    plan = await rig.rewind.plan(turn)
    await rig.rewind.rewind_to(turn, conversation=conversation, plan=plan, overwrite=frozenset())
    assert (rig.root / "a").read_text() == "before"
    assert not (rig.root / "made").exists()


async def redo(rig: RewindRig, *overwrite: str) -> RestorePlan:
    undo = last_undo(rig)
    plan = await rig.rewind.plan_redo(undo)
    await rig.rewind.redo(undo, plan, frozenset(str(rig.root / path) for path in overwrite))
    return plan


async def test_a_redo_brings_files_and_conversation_back_once(
    rig: RewindRig, conversation: RecordingConversation
) -> None:
    await change_and_undo(rig)
    assert conversation.messages == ()

    plan = await redo(rig)

    assert {name: step.edited_since for name, step in rig.steps(plan).items()} == {"a": False, "made": False}
    assert (rig.root / "a").read_text() == "after"
    assert (rig.root / "made").read_text() == "made"
    assert conversation.messages == (UserMessage("go"),)
    assert conversation.notes == []
    assert rig.rewind.last_undo is None


async def test_a_plan_of_a_redo_changes_nothing(rig: RewindRig) -> None:
    await change_and_undo(rig)

    plan = await rig.rewind.plan_redo(last_undo(rig))

    assert "+after" in await rig.rewind.diff(rig.steps(plan)["a"])
    assert (rig.root / "a").read_text() == "before"
    assert rig.rewind.last_undo is not None


async def test_a_file_edited_since_the_undo_is_left_alone_unless_the_person_says_otherwise(
    rig: RewindRig,
) -> None:
    await change_and_undo(rig)
    (rig.root / "a").write_text("mine")
    await redo(rig)
    assert (rig.root / "a").read_text() == "mine"
    assert (rig.root / "made").exists()

    await rig.undo(0)
    (rig.root / "made").write_text("also mine")
    await redo(rig, "made")
    assert (rig.root / "made").read_text() == "made"


async def test_a_file_that_changes_after_the_preview_is_left_and_named_and_can_be_redone_later(
    rig: RewindRig, conversation: RecordingConversation
) -> None:
    await change_and_undo(rig)
    undo = last_undo(rig)
    plan = await rig.rewind.plan_redo(undo)
    (rig.root / "a").write_text("in between")

    with pytest.raises(RestoreError, match="/a: "):
        await rig.rewind.redo(undo, plan, frozenset())

    assert (rig.root / "a").read_text() == "in between"
    assert (rig.root / "made").exists()
    assert conversation.messages == (UserMessage("go"),)
    assert last_undo(rig).turns == ()
    await redo(rig, "a")
    assert (rig.root / "a").read_text() == "after"
    assert rig.rewind.last_undo is None


async def test_files_that_are_given_back_alone_are_named_to_the_model(
    rig: RewindRig, conversation: RecordingConversation
) -> None:
    await change_and_undo(rig, conversation=False)

    (note,) = conversation.notes
    assert note.startswith("I have given these files back as they were before")
    assert str(rig.root / "a") in note


async def test_files_that_are_redone_alone_are_named_to_the_model(
    rig: RewindRig, conversation: RecordingConversation
) -> None:
    await change_and_undo(rig, conversation=False)
    conversation.notes.clear()

    await redo(rig)

    (note,) = conversation.notes
    assert note.startswith("I have brought these files back to what they held before")
    assert str(rig.root / "a") in note


async def test_what_was_previewed_is_what_is_redone(rig: RewindRig) -> None:
    await change_and_undo(rig)
    undo = last_undo(rig)
    plan = await rig.rewind.plan_redo(undo)
    await rig.events.record(MessageAdded(message=UserMessage("said meanwhile")))

    with pytest.raises(ConversationError, match="look again"):
        await rig.rewind.redo(undo, plan, frozenset())

    assert (rig.root / "a").read_text() == "before"
    assert rig.observer.of(SessionRedone) == []


async def test_a_new_turn_leaves_nothing_to_redo(rig: RewindRig) -> None:
    await change_and_undo(rig)
    undo = last_undo(rig)

    await rig.events.record(TurnStarted(prompt="something else"))

    assert rig.rewind.last_undo is None
    with pytest.raises(ConversationError):
        await rig.rewind.redo(undo, RestorePlan(turn=0), frozenset())


async def test_an_edit_that_an_undo_overwrote_and_a_redo_brought_back_is_asked_about_again(
    rig: RewindRig,
) -> None:
    turn = await rig.turn(lambda: (rig.root / "a").write_text("after"))
    (rig.root / "a").write_text("mine")
    await rig.undo(turn, "a")

    await redo(rig)

    assert (rig.root / "a").read_text() == "mine"
    assert rig.steps(await rig.rewind.plan(turn))["a"].edited_since


async def test_one_file_undone_by_itself_can_be_redone(
    rig: RewindRig, conversation: RecordingConversation
) -> None:
    turn = await rig.turn(lambda: (rig.root / "a").write_text("after"))
    (step,) = (await rig.rewind.plan(turn)).steps
    await rig.rewind.restore_together(step)

    await redo(rig)

    assert (rig.root / "a").read_text() == "after"
    assert len(conversation.notes) == 2
