"""The system prompt of a session stays what it was: what changes is told in messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.domain.conversation.history import UserMessage
from quorum.domain.events.event import ConversationCompacted, MessageAdded, ResponseCompleted, SystemPromptSet
from quorum.domain.instructions.prompt_part import PartKind, PromptPart, list_changes
from tests.infrastructure.instructions.test_instructions_in_a_session import RecordingEvents, Trusting
from tests.support.fake_session import Sent
from tests.support.real_session import RealSession, SessionStage, says


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    stage = SessionStage(tmp_path)
    stage.git("init", "-q", "-b", "main")
    return stage


def list_told(sent: Sent) -> list[str]:
    """What quorum told the model in messages of the conversation."""
    texts = (message.text for message in sent.messages if isinstance(message, UserMessage))
    return [text for text in texts if text.startswith("[quorum: ")]


async def drop_conversation(session: RealSession) -> None:
    """Put a summary in place of all that was said."""
    parts = session.container.parts()
    summary = (UserMessage("summary"),)
    conversation = parts.core.conversation
    event = ConversationCompacted(
        what="summary", replaced=len(conversation.messages), by=summary, tokens_before=2, tokens_after=1
    )
    await parts.core.events.announce(event)
    conversation.compact(event.replaced, summary)


async def test_a_resumed_session_sends_the_same_beginning_and_tells_what_changed(stage: SessionStage) -> None:
    async with stage.opened(person=Trusting()) as session:
        await session.turn()
        before = session.requests[-1]
    (stage.root / "new.txt").write_text("x")

    async with stage.opened(person=Trusting()) as session:
        await session.turn()
        after = session.requests[-1]
    async with stage.opened(person=Trusting()) as session:
        await session.turn()
        later = session.requests[-1]

    assert (after.system, after.tools) == (before.system, before.tools)
    assert after.messages[: len(before.messages)] == before.messages
    (told,) = list_told(after)
    assert told.startswith("[quorum: the environment is told anew.")
    assert "1 file with uncommitted changes" in told
    assert later.system == before.system
    assert list_told(later) == [told]  # once is enough


async def test_a_model_with_a_small_window_reads_little_before_the_conversation(tmp_path: Path) -> None:
    sizes = []
    for window in (8_000, 100_000):
        more = f'[context_budget.models."fake/model"]\nwindow = {window}\n'
        folder = tmp_path / str(window)
        folder.mkdir()
        stage = SessionStage(folder, more_settings=more)
        async with stage.opened() as session:
            await session.turn()
            first = session.requests[-1]
        async with stage.opened() as session:
            await session.turn()
            assert (session.requests[-1].system, session.requests[-1].tools) == (first.system, first.tools)
        assert "Working directory:" in first.system
        assert "review" in first.system
        sizes.append(len(first.system) + len(json.dumps(first.tools)))

    small, usual = sizes
    assert small / 3.5 < 1_500  # tokens, of a tokenizer that does badly
    assert small < usual / 2


async def test_changed_instructions_take_effect_after_a_resume(stage: SessionStage) -> None:
    (stage.root / "AGENTS.md").write_text("Always use tabs.\n")
    async with stage.opened(person=Trusting()) as session:
        await session.turn()
        before = session.requests[-1]
    (stage.root / "AGENTS.md").write_text("Always use blanks.\n")
    async with stage.opened(person=Trusting()) as session:
        await session.turn()
        after = session.requests[-1]

    assert after.system == before.system
    (told,) = [text for text in list_told(after) if "AGENTS.md" in text]
    assert told.endswith("Always use blanks.")
    assert "The person trusts this file." in told


async def test_a_file_that_is_not_trusted_any_longer_is_in_no_request(stage: SessionStage) -> None:
    (stage.root / "AGENTS.md").write_text("Always use tabs.\n")
    async with stage.opened(person=Trusting()) as session:
        await session.turn()
    (stage.root / "AGENTS.md").write_text("Always use blanks.\n")
    async with stage.opened(person=Trusting(answer=False)) as session:
        await session.turn()
        sent = session.requests[-1]

    assert "tabs" not in sent.system
    assert "blanks" not in sent.system + "".join(list_told(sent))


async def test_what_an_undone_turn_told_is_told_again(stage: SessionStage) -> None:
    async with stage.opened(person=Trusting()) as session:
        await session.turn()
        (stage.root / "AGENTS.md").write_text("Always use tabs.\n")
        await session.turn()
        first = list_told(session.requests[-1])
        await session.agent.rewind.rewind_to(
            session.agent.state.turns[-1].number, conversation=True, plan=None, overwrite=frozenset()
        )
        await session.turn()
        assert list_told(session.requests[-1]) == first
    assert len(first) == 1


async def test_a_session_recorded_without_a_system_prompt_is_resumed_with_the_present_one(
    stage: SessionStage,
) -> None:
    async with stage.opened(person=Trusting()) as session:
        events = session.container.parts().core.events
        await events.record(MessageAdded(message=UserMessage("earlier")))
        await events.record(ResponseCompleted(response=says("answer"), turn_index=0))
    received = RecordingEvents()
    async with stage.opened(person=Trusting(), observer=received) as session:
        await session.turn()
        sent = session.requests[-1]

    assert "no uncommitted changes" in sent.system
    assert list_told(sent) == []
    assert len([event for event in received.events if isinstance(event, SystemPromptSet)]) == 1


async def test_what_a_summary_dropped_is_told_again_and_the_beginning_stays(stage: SessionStage) -> None:
    async with stage.opened(person=Trusting()) as session:
        await session.turn()
        before = session.requests[-1]
        (stage.root / "AGENTS.md").write_text("Always use tabs.\n")
        await session.turn()
        told = list_told(session.requests[-1])
        await drop_conversation(session)
        await session.turn()
        after = session.requests[-1]

    assert len(told) == 1
    assert (after.system, list_told(after)) == (before.system, told)


def test_a_part_that_is_gone_is_told_and_so_is_its_return() -> None:
    folders = PromptPart(kind=PartKind.FOLDERS, text="- /a")
    (gone,) = list_changes([folders], [], [])
    assert "holds no longer" in gone
    assert list_changes([folders], [], [UserMessage(gone)]) == ()
    (again,) = list_changes([folders], [folders], [UserMessage(gone)])
    assert again.endswith("- /a")
    assert list_changes([folders], [folders], [UserMessage(gone), UserMessage(again)]) == ()


def test_a_file_that_only_a_message_told_of_is_taken_back_when_it_is_gone() -> None:
    file = PromptPart(kind=PartKind.FILE, text="## a", file="/w/a/AGENTS.md")
    (told,) = list_changes([], [file], [])
    (gone,) = list_changes([], [], [UserMessage(told)])
    assert "/w/a/AGENTS.md" in gone
    assert list_changes([], [], [UserMessage(told), UserMessage(gone)]) == ()


def test_another_version_of_the_role_is_not_told() -> None:
    old, new = (PromptPart(kind=PartKind.ROLE, text=text) for text in ("old", "new"))
    assert list_changes([old], [new], []) == ()
