"""Instruction files in a session: what reaches the model, what is asked, and what is recorded."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.cost import SpendQuestion
from quorum.domain.events.event import Event, InstructionsLoaded
from quorum.domain.sessions.trust import TrustQuestion
from tests.support.builders import a_call
from tests.support.fake_ports import FakePerson
from tests.support.real_session import RealSession, SessionStage


class Trusting(FakePerson):
    """Answers each question of trust alike, and keeps it."""

    def __init__(self, answer: bool = True) -> None:
        super().__init__()
        self.answer = answer

    async def trust(self, question: TrustQuestion) -> bool:
        self.trust_questions.append(question)
        return self.answer

    async def offer_sandboxed(self, sandbox: str) -> bool:
        return False

    async def raise_cap(self, question: SpendQuestion) -> bool:
        return False


class RecordingEvents:
    """Keeps the events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def notify(self, event: Event) -> None:
        self.events.append(event)

    @property
    def loaded(self) -> list[InstructionsLoaded]:
        return [event for event in self.events if isinstance(event, InstructionsLoaded)]


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    stage = SessionStage(tmp_path)
    (stage.root / ".git").mkdir()
    return stage


def system_of(session: RealSession) -> str:
    return session.container.parts().models.system_prompt.text


def read(path: str) -> ToolCall:
    return a_call("read_file", {"path": path})


async def test_trusted_instructions_are_in_the_system_prompt_and_on_record(stage: SessionStage) -> None:
    (stage.root / "AGENTS.md").write_text("Always use tabs.\n")
    person, received = Trusting(), RecordingEvents()
    async with stage.opened(person=person, observer=received) as session:
        await session.turn()

        assert "Always use tabs." in system_of(session)
        assert session.requests[0].system == system_of(session)
    (question,) = person.trust_questions
    assert question.items[0].file == str(stage.root / "AGENTS.md")
    assert "Always use tabs." in question.items[0].text
    (loaded,) = received.loaded
    assert [file.file for file in loaded.files] == [str(stage.root / "AGENTS.md")]
    assert loaded.files[0].sha256 == question.items[0].digest


async def test_without_trust_nothing_of_them_reaches_the_model_and_it_is_said_once(stage: SessionStage) -> None:
    (stage.root / "AGENTS.md").write_text("Always use tabs.\n")
    person, received = Trusting(answer=False), RecordingEvents()
    async with stage.opened(person=person, observer=received) as session:
        await session.turn()
        await session.turn()

        assert "tabs" not in system_of(session)
    assert len(person.trust_questions) == 1
    (loaded,) = received.loaded
    assert loaded.files == ()
    assert "AGENTS.md is not trusted" in loaded.notices[0]


async def test_another_session_asks_no_more_and_a_change_is_asked_about_anew(stage: SessionStage) -> None:
    (stage.root / "AGENTS.md").write_text("Always use tabs.\n")
    async with stage.opened(person=Trusting()) as session:
        await session.turn()
    person = Trusting()
    async with stage.opened(person=person) as session:
        await session.turn()
        assert person.trust_questions == []

        (stage.root / "AGENTS.md").write_text("Always use blanks.\n")
        await session.turn()

        assert "Always use blanks." in json.dumps(said(session.requests[-1].messages))
        assert session.requests[-1].system == session.requests[0].system
    assert [item.changed for question in person.trust_questions for item in question.items] == [True]


@pytest.mark.long
async def test_those_below_are_read_once_a_file_beside_them_was_and_stay_in_force(stage: SessionStage) -> None:
    (stage.root / "pkg/sub").mkdir(parents=True)
    (stage.root / "pkg/AGENTS.md").write_text("In pkg, write no tests.\n")
    (stage.root / "pkg/sub/a.py").write_text("a = 1\n")
    person = Trusting()
    async with stage.opened(person=person) as session:
        await session.turn(read("pkg/sub/a.py"))
        assert "In pkg, write no tests." in json.dumps(said(session.requests[1].messages))
        assert "In pkg" not in session.requests[1].system

        await session.turn()
        assert "\n".join(said(session.requests[-1].messages)).count("In pkg, write no tests.") == 1
    assert len(person.trust_questions) == 1

    async with stage.opened(person=person) as session:
        await session.turn()
        assert "\n".join(said(session.requests[-1].messages)).count("In pkg, write no tests.") == 1


async def test_the_limit_cuts_and_the_model_and_the_record_say_so(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path, more_settings="[agent]\ninstructions_max_bytes = 10")
    (stage.root / "AGENTS.md").write_text("one two\nthree four\n")
    received = RecordingEvents()
    async with stage.opened(person=Trusting(), observer=received) as session:
        await session.turn()

        assert "one two\n\n[11 bytes more: read " in system_of(session)
    assert received.loaded[0].files[0].left_out == 11


async def test_the_context_account_names_each_file(stage: SessionStage) -> None:
    (stage.root / "AGENTS.md").write_text("Always use tabs.\n" * 100)
    async with stage.opened(person=Trusting()) as session:
        await session.turn()
        shares = {share.name: share.tokens for share in session.agent.context.account.shares}

    assert shares["AGENTS.md"] > 300


def said(messages: Sequence[object]) -> list[str]:
    return [str(message) for message in messages]
