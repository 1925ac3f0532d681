"""The approval to open `.git` to commands: it holds again in the resumed session, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.history import ToolResults
from quorum.domain.events.event import ReviewDecided, SessionResumed
from quorum.domain.replacing import replace
from quorum.domain.review.questions import Reject, ReviewAnswer, ReviewRequest
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import NamedSession
from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.past_sessions import records_of
from tests.support.real_session import RealSession, SessionStage, call

pytestmark = needs_bubblewrap

_COMMIT = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && echo committed"
_NOTICE = "commands of this session may write to .git, but for its settings and hooks, as you approved"


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    found = SessionStage(tmp_path, sandbox="auto", more_settings='[review]\nmode = "sandboxed"')
    found.git("init", "-q")
    return found


def commit(*, opens_git: bool = False) -> ToolCall:
    return call("run_command", command=_COMMIT, **({"opens_git": True} if opens_git else {}))


def result(session: RealSession) -> str:
    (answers,) = [message for message in session.state.messages[-2:] if isinstance(message, ToolResults)]
    return answers.results[0].output


async def approved_once(stage: SessionStage) -> str:
    """A session in which the person let commands write to `.git`; its id."""
    person = FakePerson()
    async with stage.opened(person=person) as session:
        await session.turn(commit(opens_git=True))
        assert len(person.requests) == 1
        assert "committed" in result(session)
        return session.agent.session_id


@pytest.mark.long
async def test_a_resumed_session_commits_without_being_asked_again_and_says_so(stage: SessionStage) -> None:
    session_id = await approved_once(stage)
    person, observer = FakePerson(), RecordingObserver()

    async with stage.opened(NamedSession(session_id), person=person, observer=observer) as session:
        await session.turn(commit())

        assert "committed" in result(session)
    assert person.requests == []
    (resumed,) = observer.of(SessionResumed)
    assert isinstance(resumed, SessionResumed)
    assert _NOTICE in resumed.told


@pytest.mark.long
async def test_a_copy_of_the_session_has_no_such_approval(stage: SessionStage) -> None:
    session_id = await approved_once(stage)
    async with stage.opened(NamedSession(session_id)) as session:
        copy = await session.agent.record.archive.fork(session_id)

    async with stage.opened(NamedSession(copy), person=FakePerson()) as session:
        await session.turn(commit())

        assert "Read-only file system" in result(session)


@pytest.mark.long
async def test_once_its_turn_is_undone_the_approval_is_asked_for_again(stage: SessionStage) -> None:
    session_id = await approved_once(stage)
    async with stage.opened(NamedSession(session_id)) as session:
        await session.agent.rewind.rewind_to(0, conversation=True, plan=None, overwrite=frozenset())

    async with stage.opened(NamedSession(session_id)) as session:
        await session.turn(commit())

        assert "Read-only file system" in result(session)


@pytest.mark.long
async def test_what_the_person_refused_opens_nothing_later(stage: SessionStage) -> None:
    def refuse(request: ReviewRequest) -> ReviewAnswer:
        return Reject("no")

    async with stage.opened(person=FakePerson(refuse)) as session:
        await session.turn(commit(opens_git=True))
        session_id = session.agent.session_id

    async with stage.opened(NamedSession(session_id)) as session:
        await session.turn(commit())

        assert "Read-only file system" in result(session)


async def test_a_decision_about_another_packet_opens_nothing(stage: SessionStage) -> None:
    received = RecordingObserver()
    async with stage.opened(observer=received) as session:
        await session.turn(commit(opens_git=True))

    other = [replace(e, digest="0" * 64) if isinstance(e, ReviewDecided) else e for e in received.events]

    assert len(replay_state(records_of(received.events)).git_approvals) == 1
    assert not replay_state(records_of(other)).git_approvals


@pytest.mark.long
async def test_in_the_mode_ask_the_approval_of_a_commit_is_enough_and_holds_in_the_resumed_session(
    tmp_path: Path,
) -> None:
    stage = SessionStage(tmp_path, sandbox="auto", more_settings='[review]\nmode = "ask"')
    stage.git("init", "-q")
    person, observer = FakePerson(), RecordingObserver()
    async with stage.opened(person=person) as session:
        await session.turn(commit())

        assert "committed" in result(session)
        session_id = session.agent.session_id
    (asked,) = person.requests
    assert any("also lets commands write to .git" in reason for reason in asked.dangers)

    async with stage.opened(NamedSession(session_id), person=FakePerson(), observer=observer) as session:
        await session.turn(commit())

        assert "committed" in result(session)
    (resumed,) = observer.of(SessionResumed)
    assert isinstance(resumed, SessionResumed)
    assert _NOTICE in resumed.told
