"""A session in which an agent of another vendor works, as the app holds it."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from quorum.application.session.agent_session import AgentSession
from quorum.cli.app import AppOptions
from quorum.cli.app.full_screen import _Sessions
from quorum.domain.calls.execution import Outcome, Seal
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import ConfigError, ConversationError, LedgerError, PlanRefused, ProviderError
from quorum.domain.events.agents import AgentConnected
from quorum.domain.events.event import CallFinished, ErrorOccurred, Event, NoticeGiven, TextDelta, TurnFinished
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.panel.panel_answer import ConsensusLevel, ConsensusRefused
from quorum.domain.plan.plan import PhaseScope
from quorum.domain.review.questions import Approve, Reject, RejectAndInterrupt, ReviewAnswer, ReviewRequest
from quorum.domain.sessions.session_summary import NamedSession, NewSession, SessionChoice
from quorum.headless.agent_session import find_external_agent
from quorum.infrastructure.agents.session import AgentCommands
from quorum.infrastructure.bootstrap import build_session
from quorum.infrastructure.config.loading import LoadedSettings, load_settings
from quorum.infrastructure.execution.commands.sealing import seal_command
from quorum.infrastructure.gate import caller_tools
from quorum.infrastructure.session_inputs import SessionInputs, open_session
from tests.infrastructure.sandbox.sandbox_bench import a_repository, needs_bubblewrap
from tests.support.agent_rig import AgentRig
from tests.support.fake_ports import FakePerson, RecordingObserver

NEW = NewSession(SessionKind.EXTERNAL, "test")


class Watcher(RecordingObserver):
    """Notes when the agent says that it works, and when a call has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.is_working, self.has_finished_call = asyncio.Event(), asyncio.Event()

    def notify(self, event: Event) -> None:
        super().notify(event)
        if isinstance(event, TextDelta) and event.text == "working":
            self.is_working.set()
        if isinstance(event, CallFinished):
            self.has_finished_call.set()


@dataclass
class OpenedSession:
    """A session, who is asked in it, and what was told."""

    agent: AgentSession
    person: FakePerson
    observer: Watcher

    async def do(self, *steps: list[Any]) -> RunReport:
        return await self.agent.run.execute(json.dumps(steps))

    @property
    def errors(self) -> list[str]:
        return [
            event.message for event in self.observer.events if isinstance(event, ErrorOccurred | NoticeGiven)
        ]

    @property
    def connected(self) -> list[AgentConnected]:
        return [event for event in self.observer.events if isinstance(event, AgentConnected)]

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.observer.events if isinstance(event, TextDelta))


class ExternalRig(AgentRig):
    """Opens sessions as the app does."""

    def load(self) -> LoadedSettings:
        return load_settings(cwd=self.root, environ=os.environ, config_file=None, overrides={})

    @asynccontextmanager
    async def open(
        self, choice: SessionChoice = NEW, person: FakePerson | None = None
    ) -> AsyncIterator[OpenedSession]:
        person, observer, loaded = person or FakePerson(), Watcher(), self.load()
        record = open_session(loaded, self.root, choice)
        external = find_external_agent(record.external_agent, loaded, self.root)
        container = build_session(
            SessionInputs(loaded=loaded, root=self.root, approver=person, observer=observer, record=record),
            external=external,
        )
        agent = container.agent()
        await agent.open()
        try:
            yield OpenedSession(agent, person, observer)
        finally:
            await agent.aclose()


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> ExternalRig:
    return ExternalRig(tmp_path, monkeypatch, capsys)


def test_an_agent_that_is_not_known_cannot_work_in_a_session(rig: ExternalRig) -> None:
    with pytest.raises(ConfigError, match='there is no agent "strange"'):
        find_external_agent("strange", rig.load(), rig.root)


@pytest.mark.long
async def test_the_agent_answers_and_the_person_is_asked(rig: ExternalRig) -> None:
    def answer(asked: ReviewRequest) -> ReviewAnswer:
        return (
            Approve(digest=asked.packet.digest) if "good" in str(asked.packet.call.arguments) else Reject("no")
        )

    person = FakePerson(answer)
    async with rig.open(person=person) as session:
        report = await session.do(["run", "touch good"], ["run", "touch bad"], ["say", "done"])

    assert report.text == "[refused: touch bad]done"
    assert {path.name for path in rig.root.iterdir()} == {"good"}
    assert [request.packet.call.tool_name for request in session.person.requests] == ["run_command"] * 2
    assert not any(request.can_be_edited for request in session.person.requests)
    assert session.agent.models.current == "agent/test"


@pytest.mark.long
async def test_who_rejects_and_interrupts_ends_the_answer(rig: ExternalRig) -> None:
    async with rig.open(person=FakePerson(lambda _: RejectAndInterrupt())) as session:
        report = await session.do(["run", "touch made"], ["hang"])

    assert report.status is RunStatus.INTERRUPTED
    assert [call.tool for call in report.calls] == ["run_command"]
    assert not (rig.root / "made").exists()


@pytest.mark.long
async def test_a_session_is_continued_with_the_session_of_the_agent(rig: ExternalRig) -> None:
    async with rig.open() as session:
        await session.do(["say", "first"])
    async with rig.open(NamedSession(session.agent.session_id)) as again:
        await again.do(["say", "second"])

    assert again.errors == []
    assert [event.agent_session for event in again.connected] == ["theirs-1"]
    assert again.text == "second"
    assert again.agent.record.form is SessionKind.EXTERNAL


@pytest.mark.long
async def test_a_mode_and_a_model_that_are_offered_no_more_do_not_end_a_session(rig: ExternalRig) -> None:
    async with rig.open() as session:
        external = session.agent.external
        assert external is not None
        await external.work.choose("mode", "plan")
        await external.work.choose("model", "large")
    rig.declare("--offers-less")
    async with rig.open(NamedSession(session.agent.session_id)) as again:
        await again.do(["say", "second"])

    assert [(event.agent_session, event.mode, event.model) for event in again.connected] == [
        ("theirs-1", "build", "")
    ]
    assert again.errors == [
        "the agent does not offer the mode plan any more; its mode is build",
        "the agent does not offer the model large any more; its model is its own",
    ]
    assert again.text == "second"


@pytest.mark.long
async def test_an_agent_that_cannot_continue_begins_anew_and_that_is_told(rig: ExternalRig) -> None:
    rig.declare("--no-load")
    async with rig.open() as session:
        await session.do(["say", "first"])
    async with rig.open(NamedSession(session.agent.session_id)) as again:
        report = await again.do(["say", "second"])

    assert report.text == "second"
    assert "it cannot continue a session" in again.errors[0]
    assert "knows nothing of it" in again.errors[0]


@pytest.mark.long
async def test_an_agent_that_died_is_started_again_for_the_next_prompt(rig: ExternalRig) -> None:
    async with rig.open() as session:
        died = await session.do(["die"])
        again = await session.do(["say", "here"])

    assert (died.status, died.error) == (
        RunStatus.FAILED,
        "the agent test: its program ended: the disk of the agent is full",
    )
    assert again.text == "here"
    assert [event.agent_session for event in session.connected] == ["theirs-1"] * 2


@pytest.mark.long
async def test_an_interrupted_agent_answers_the_next_prompt(rig: ExternalRig) -> None:
    async with rig.open() as session:
        await session.do(["say", "hm"])
        turn = asyncio.create_task(session.do(["hang"]))
        await session.observer.is_working.wait()
        turn.cancel()
        report = await turn
        assert (await session.do(["say", "again"])).text == "again"

    assert report.status is RunStatus.INTERRUPTED


@pytest.mark.long
async def test_a_call_is_interrupted_though_the_agent_tells_it_as_completed(rig: ExternalRig) -> None:
    async with rig.open() as session:
        turn = asyncio.create_task(session.do(["run_until_cancelled", "touch made"]))
        await session.observer.is_working.wait()
        turn.cancel()
        await turn

    ended = [event for event in session.observer.events if isinstance(event, CallFinished)]
    assert [event.outcome for event in ended] == [Outcome.CANCELLED]


@pytest.mark.long
async def test_an_agent_that_takes_longer_than_a_turn_may_is_told_to_end(rig: ExternalRig) -> None:
    rig.file("quorum.toml", "agent.max_time_secs = 0.5")
    async with rig.open() as session:
        report = await session.do(["hang"])

    assert (report.status, report.stop_reason) == (RunStatus.LIMIT, "max_time_secs")


@pytest.mark.long
@needs_bubblewrap
async def test_a_command_that_opens_the_repository_is_asked_about_in_these_words(rig: ExternalRig) -> None:
    a_repository(rig.root)
    commit = "git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m second"
    async with rig.open() as session:
        await session.do(["ask_for_terminal", commit])

    asked, really = session.person.requests
    assert ".git" not in str(asked.reasons)
    assert "your yes also lets" in str(really.reasons)
    assert "second" in (rig.root / ".git" / "logs" / "HEAD").read_text()


@pytest.mark.long
async def test_a_command_that_is_still_compared_when_the_person_interrupts_does_not_start(
    rig: ExternalRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparing, may_compare, sealed = asyncio.Event(), threading.Event(), itertools.count(1)
    loop = asyncio.get_running_loop()

    def seal_slowly(*words: Any, **named: Any) -> Seal:
        if next(sealed) == 3:  # for the question, for the call, and before the command starts
            loop.call_soon_threadsafe(comparing.set)
            may_compare.wait()
        return seal_command(*words, **named)

    monkeypatch.setattr(caller_tools, "seal_command", seal_slowly)
    async with rig.open() as session:
        turn = asyncio.create_task(session.do(["ask_for_terminal", "touch made"]))
        await comparing.wait()
        turn.cancel()
        await session.observer.has_finished_call.wait()
        may_compare.set()
        report = await turn

    assert report.status is RunStatus.INTERRUPTED
    assert "the turn is over" in session.text
    assert not (rig.root / "made").exists()


@pytest.mark.long
async def test_an_agent_hears_of_a_command_that_was_interrupted_before_it_began(
    rig: ExternalRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins = asyncio.Event()

    async def begin_and_wait(*_given: object) -> str:
        begins.set()
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(AgentCommands, "run_allowed", begin_and_wait)
    async with rig.open() as session:
        turn = asyncio.create_task(session.do(["ask_for_terminal", "touch made"]))
        await begins.wait()
        turn.cancel()
        await turn

    assert "nothing was run: the turn is over" in session.text


@pytest.mark.long
async def test_a_command_that_cannot_be_recorded_ends_the_turn(
    rig: ExternalRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lose_record(*_given: object) -> str:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(AgentCommands, "run_allowed", lose_record)
    async with rig.open() as session:
        with pytest.raises(LedgerError, match="the disk is full"):
            await session.do(["ask_for_terminal", "touch made"], ["hang"])

    assert "nothing was run: the disk is full" in session.text


@pytest.mark.long
@pytest.mark.parametrize("moment", [1, 4, 16, 64])
async def test_a_turn_that_is_interrupted_before_the_agent_is_there_ends(rig: ExternalRig, moment: int) -> None:
    rig.declare("--silent")
    async with rig.open() as session:
        turn = asyncio.create_task(session.do(["say", "hm"]))
        for _ in range(moment):
            await asyncio.sleep(0)
        turn.cancel()

        assert (await turn).status is RunStatus.INTERRUPTED
        assert isinstance(session.observer.events[-1], TurnFinished)


@pytest.mark.long
async def test_an_agent_that_wants_a_login_says_so_and_is_tried_again(rig: ExternalRig) -> None:
    rig.declare("--needs-login")
    async with rig.open() as session:
        report = await session.do(["say", "hm"])

        rig.file("signed-in", "")
        again = await session.do(["tell_notes"])

    assert report.status is RunStatus.FAILED
    assert all("sign in to it first" in error for error in session.errors)
    assert again.text == '[["say", "hm"]]'  # what was said while it was not there


@pytest.mark.long
async def test_modes_of_the_agent_can_be_chosen(rig: ExternalRig) -> None:
    async with rig.open() as session:
        external = session.agent.external
        assert external is not None
        await external.work.choose("mode", "plan")
        with pytest.raises(ProviderError, match="does not offer the mode fast; it offers build, plan"):
            await external.work.choose("mode", "fast")

    assert external.work.offers.modes == ("build", "plan")
    assert (rig.root / "mode.txt").read_text() == "plan"
    assert session.connected[-1].mode == "plan"


@pytest.mark.long
@pytest.mark.parametrize(
    ("category", "first", "other"), [("mode", "build", "plan"), ("model", "small", "large")]
)
async def test_what_an_agent_began_with_can_be_chosen_again(
    rig: ExternalRig, category: Literal["mode", "model"], first: str, other: str
) -> None:
    chosen = rig.root / f"{category}.txt"
    async with rig.open() as session:
        external = session.agent.external
        assert external is not None
        for name in (other, first):
            await external.work.choose(category, name)
            assert chosen.read_text() == name
        assert getattr(session.connected[-1], category) == first


@pytest.mark.long
async def test_a_mode_that_an_agent_left_by_itself_can_be_chosen_again(rig: ExternalRig) -> None:
    async with rig.open() as session:
        external = session.agent.external
        assert external is not None
        await session.do(["switch", "plan"])
        await external.work.choose("mode", "build")

    assert (rig.root / "mode.txt").read_text() == "build"


@pytest.mark.long
async def test_what_our_own_models_do_is_refused_where_an_agent_works(rig: ExternalRig) -> None:
    async with rig.open() as session:
        agent = session.agent
        await session.do(["say", "hm"])
        with pytest.raises(ProviderError, match="works in this session"):
            await agent.models.choose("offline/offline")
        with pytest.raises(PlanRefused, match="plans by itself"):
            await agent.plans.set_scope(PhaseScope.PLAN_ONLY)
        with pytest.raises(ConsensusRefused, match="answers alone"):
            await agent.consensus.choose(level=ConsensusLevel.ENSEMBLE)
        with pytest.raises(ConversationError, match="keeps its own conversation"):
            await agent.context.compact("")
        with pytest.raises(ConversationError, match="cannot be taken back"):
            await agent.rewind.rewind_to(0, conversation=True, plan=None, overwrite=frozenset())


@pytest.mark.long
async def test_notes_reach_the_agent_with_the_next_prompt(rig: ExternalRig) -> None:
    file = rig.file("a.txt", "before")
    async with rig.open() as session:
        await session.do(["edit", "a.txt", "before", "after"])
        await session.agent.rewind.rewind_to(
            0, conversation=False, plan=await session.agent.rewind.plan(0), overwrite=frozenset()
        )
        assert file.read_text() == "before"
        report = await session.do(["tell_notes"])

    assert report.text == f"I have given these files back as they were before some of your changes: {file}"


@pytest.mark.parametrize("is_external", [True, False])
async def test_a_mode_that_does_not_confine_an_agent_is_not_offered_in_its_session(
    rig: ExternalRig, is_external: bool
) -> None:
    choice, person, loaded = NEW if is_external else NewSession(), FakePerson(), rig.load()
    record = open_session(loaded, rig.root, choice)
    external = find_external_agent("test", loaded, rig.root) if is_external else None
    container = build_session(
        SessionInputs(loaded=loaded, root=rig.root, approver=person, observer=Watcher(), record=record),
        external=external,
    )

    offer = _Sessions(AppOptions(), rig.root)._build_offer(loaded, container, person, Watcher())

    assert (offer is None) is is_external
    await record.release()


async def test_only_who_can_drive_the_agent_continues_its_session(rig: ExternalRig) -> None:
    loaded = rig.load()
    record = open_session(loaded, rig.root, NEW)

    with pytest.raises(ConfigError, match=r"the agent test works in the session .*quorum agent test --resume"):
        build_session(
            SessionInputs(
                loaded=loaded,
                root=rig.root,
                approver=FakePerson(),
                observer=RecordingObserver(),
                record=record,
            )
        )
    await record.release()
