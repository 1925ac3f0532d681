"""Custom slash commands in a session: what reaches the model, what is asked and recorded, what is withheld."""

from pathlib import Path

import pytest

from quorum.domain.calls.execution import Outcome
from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import CommandRefused, ProviderError, ProviderErrorKind
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    Event,
    ModeChanged,
    NoticeGiven,
    TurnStarted,
    UserCommandStarted,
)
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import LatestSession
from quorum.domain.sessions.trust import TrustQuestion
from quorum.infrastructure.container import Container
from tests.support.fake_gateway import FakeGateway
from tests.support.fake_ports import FakePerson
from tests.support.real_session import MODEL, RealSession, SessionStage, says, shell, write
from tests.support.session_parts import change_inputs


class Trusting(FakePerson):
    """Answers each question of trust alike, and keeps it."""

    def __init__(self, answer: bool = True) -> None:
        super().__init__()
        self.answer = answer

    async def trust(self, question: TrustQuestion) -> bool:
        self.trust_questions.append(question)
        return self.answer


class RecordingEvents:
    """Keeps the events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def notify(self, event: Event) -> None:
        self.events.append(event)

    @property
    def errors(self) -> list[str]:
        return [event.message for event in self.events if isinstance(event, NoticeGiven)]


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    stage = SessionStage(tmp_path)
    (stage.root / ".git").mkdir()
    return stage


def put(stage: SessionStage, name: str, text: str) -> Path:
    file = stage.root / ".claude/commands" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def said(session: RealSession) -> list[str]:
    messages = session.container.parts().core.conversation.messages
    return [message.text for message in messages if isinstance(message, UserMessage)]


async def test_the_model_reads_the_text_and_the_record_has_what_was_typed(stage: SessionStage) -> None:
    file = put(stage, "fix.md", "Fix issue $1.\n")
    person, received = Trusting(), RecordingEvents()
    async with stage.opened(person=person, observer=received) as session:
        await session.turn(prompt="/fix 12")

        assert said(session) == ["Fix issue 12."]
        assert session.last.prompt == "/fix 12"
        await session.continue_turn()
    (question,) = person.trust_questions
    assert [item.file for item in question.items] == [str(file)]
    assert "Fix issue $1." in question.items[0].text
    started = next(event for event in received.events if isinstance(event, TurnStarted))
    assert started.command is not None
    assert (started.command.file, started.command.sha256) == (str(file), question.items[0].digest)


async def test_without_trust_the_command_is_refused_and_nothing_is_said(stage: SessionStage) -> None:
    put(stage, "fix.md", "Fix it.")
    async with stage.opened(person=Trusting(answer=False)) as session:
        with pytest.raises(
            CommandRefused, match=r"/fix cannot be used: .*fix\.md is not trusted; .*config trust"
        ):
            await session.agent.run.execute("/fix")

        assert said(session) == []
        await session.continue_turn()


async def test_trust_holds_for_the_content_and_a_change_is_asked_about(stage: SessionStage) -> None:
    file = put(stage, "fix.md", "Fix it.")
    person = Trusting()
    async with stage.opened(person=person) as session:
        await session.turn(prompt="/fix")
        await session.turn(prompt="/fix")
        file.write_text("Break it.")
        person.answer = False
        with pytest.raises(CommandRefused, match="has changed since you trusted it"):
            await session.agent.run.execute("/fix")

        assert said(session) == ["Fix it.", "Fix it."]
    assert [question.items[0].changed for question in person.trust_questions] == [False, True]


async def test_the_persons_own_needs_no_trust_and_a_broken_one_says_where(stage: SessionStage) -> None:
    own = stage.home / ".claude/commands"
    own.mkdir(parents=True)
    (own / "mine.md").write_text("Mine.")
    (own / "bad.md").write_text('---\nmodel: "a\n---\nText')
    person = Trusting()
    async with stage.opened(person=person) as session:
        await session.turn(prompt="/mine")
        with pytest.raises(CommandRefused, match=r"bad\.md, line 3: no YAML"):
            await session.agent.run.execute("/bad")

        assert said(session) == ["Mine."]
    assert person.trust_questions == []


@pytest.mark.parametrize("prompt", [" /fix", "/nothing here", "/etc/hosts is broken", "/mode", "please /fix"])
async def test_what_is_no_command_is_said_as_it_is(stage: SessionStage, prompt: str) -> None:
    put(stage, "fix.md", "Fix it.")
    put(stage, "mode.md", "Mode.")
    adjust = lambda container: change_inputs(container, reserved_commands=("mode",))  # noqa: E731
    async with stage.opened(person=Trusting(), adjust=adjust) as session:
        await session.turn(prompt=prompt)

        assert said(session) == [prompt]


async def test_ignored_fields_are_reported_once(stage: SessionStage) -> None:
    put(stage, "fix.md", "---\ncontext: fork\n---\nFix it.")
    received = RecordingEvents()
    async with stage.opened(person=Trusting(), observer=received) as session:
        await session.turn(prompt="/fix")
        await session.turn(prompt="/fix")

    (error,) = received.errors
    assert "fix.md, line 2: quorum does not know context" in error


async def test_a_turn_that_is_taken_back_gives_the_command_as_it_was_typed(stage: SessionStage) -> None:
    put(stage, "fix.md", "Fix it.")
    async with stage.opened(person=Trusting()) as session:
        await session.turn(prompt="/fix now")
        await session.undo(0)

        assert session.agent.run.unsent == ("/fix now",)
        await session.check()


@pytest.mark.long
async def test_allowed_tools_withhold_what_would_run_otherwise_for_that_turn_only(stage: SessionStage) -> None:
    put(stage, "look.md", "---\nallowed-tools: Bash(touch a*)\n---\nLook.")
    received = RecordingEvents()
    async with stage.opened(person=Trusting(), observer=received) as session:
        await session.agent.review.set_mode(Mode.AUTO)
        await session.turn([shell("touch a1"), shell("touch b1"), write("c", "x"), shell("ls")], prompt="/look")
        assert sorted(path.name for path in stage.root.iterdir() if path.is_file()) == ["a1"]
        await session.turn(shell("touch b2"))
        assert (stage.root / "b2").exists()

    ends = [event for event in received.events if isinstance(event, CallFinished)]
    withheld = [end.output for end in ends if end.outcome is Outcome.REJECTED]
    assert len(withheld) == 2
    assert all("the command /look allows run_command(touch a*)" in output for output in withheld)


async def test_allowed_tools_let_nothing_run_that_would_be_asked_about(stage: SessionStage) -> None:
    put(stage, "look.md", "---\nallowed-tools: Bash\n---\nLook.")
    person = Trusting()
    async with stage.opened(person=person) as session:
        await session.turn(shell("touch a1"), prompt="/look")

    assert len(person.requests) == 1


async def test_allowed_tools_hold_when_the_turn_is_taken_up_by_another_process(stage: SessionStage) -> None:
    put(stage, "look.md", "---\nallowed-tools: Read\n---\nLook.")
    async with stage.opened(person=Trusting()) as session:
        await session.agent.review.set_mode(Mode.AUTO)
        session.script[:] = [ProviderError("no", kind=ProviderErrorKind.SERVER)]
        await session.agent.run.execute("/look")
    async with stage.opened(LatestSession(), person=Trusting()) as session:
        await session.agent.review.set_mode(Mode.AUTO)
        session.script[:] = session.answers([shell("touch a1")])
        await session.agent.run.retry()

    assert not (stage.root / "a1").exists()


@pytest.mark.parametrize("wanted", ["fake/small-2", "small-2", "small"])
async def test_the_model_answers_that_the_command_names_and_then_the_sessions_own(
    stage: SessionStage, wanted: str
) -> None:
    put(stage, "quick.md", f"---\nmodel: {wanted}\n---\nQuick.")
    gateway = FakeGateway({MODEL: [], "fake/small-2": [says("small")]})

    def adjust(container: Container) -> None:
        change_inputs(container, gateway=gateway)

    async with stage.opened(person=Trusting(), adjust=adjust) as session:
        report = await session.agent.run.execute("/quick")
        assert report.text == "small"
        assert session.agent.models.current == MODEL
        gateway.scripts[MODEL][:] = [says("own")]
        assert (await session.agent.run.execute("go")).text == "own"


async def test_where_its_model_cannot_be_had_the_sessions_own_answers_and_it_is_said(
    stage: SessionStage,
) -> None:
    put(stage, "quick.md", "---\nmodel: nobody\n---\nQuick.")
    received = RecordingEvents()
    async with stage.opened(person=Trusting(), observer=received) as session:
        report = await session.turn(prompt="/quick")

    assert report.text == "done"
    assert "/quick asks for the model nobody, which cannot be had: fake lists no model" in received.errors[0]


@pytest.mark.parametrize("text", ["!touch made", "!!touch made", "!`touch made`", "/mode auto", "# Use tabs."])
async def test_nothing_that_its_text_says_is_carried_out_as_if_the_person_had_typed_it(
    stage: SessionStage, text: str
) -> None:
    put(stage, "fix.md", text)
    received = RecordingEvents()
    async with stage.opened(person=Trusting(), observer=received) as session:
        await session.turn(prompt="/fix")

        assert text in said(session)[0]
    assert not (stage.root / "made").exists()
    assert not (stage.root / "AGENTS.md").exists()
    assert [
        event for event in received.events if isinstance(event, CallStarted | UserCommandStarted | ModeChanged)
    ] == []
