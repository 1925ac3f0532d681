"""A host that a command asks for: refused, allowed for once, the session or the folder, and recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.conversation.history import ToolResults
from quorum.domain.events.event import CallFinished, JobEnded
from quorum.domain.review.questions import ApproveAlways, ReviewAnswer, ReviewRequest, RuleScope
from quorum.domain.shell.network_hosts import AskedHost
from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.infrastructure.sandbox.test_network_by_host import Site, site
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.real_session import RealSession, SessionStage, call

__all__ = ["site"]
pytestmark = needs_bubblewrap


@pytest.fixture
def stage(tmp_path: Path, site: Site) -> SessionStage:
    # The table that the stage begins goes on with it.
    settings = 'auto"\nnetwork = ["127.0.0.1"]\n[review]\nmode = "sandboxed'
    return SessionStage(tmp_path, sandbox=settings)


def result(session: RealSession) -> str:
    (answers,) = [message for message in session.state.messages[-2:] if isinstance(message, ToolResults)]
    return answers.results[0].output


async def test_a_host_is_refused_and_said_and_the_person_allows_it_for_once(
    stage: SessionStage, site: Site
) -> None:
    host, person, observer = f"packages.example.org:{site.port}", FakePerson(), RecordingObserver()
    command = f"curl -s http://{host}/"
    async with stage.opened(person=person, observer=observer) as session:
        await session.turn(call("run_command", command=command))
        refused, asked_before = result(session), len(person.requests)
        await session.turn(call("run_command", command=command, hosts=host))
        allowed = result(session)
        await session.turn(call("run_command", command=command))
        later = result(session)

    assert "welcome" not in refused
    assert f'call run_command again with hosts = "{host}": the person is asked' in refused
    assert asked_before == 0
    [request] = person.requests
    assert f"it asks to reach {host}, to which it can then send what it has read" in request.reasons
    assert request.proposals == (f"network({host})",)
    assert allowed.startswith("welcome")
    assert "welcome" not in later
    finished = [event.hosts for event in observer.of(CallFinished) if isinstance(event, CallFinished)]
    name = "packages.example.org"
    assert finished == [
        (AskedHost(name, site.port, refusal),) for refusal in ("nothing allows it", "", "nothing allows it")
    ]


@pytest.mark.long
async def test_hosts_that_a_background_command_asks_for_are_recorded_with_its_end(
    stage: SessionStage, site: Site
) -> None:
    observer = RecordingObserver()
    command = f"until [ -e go ]; do sleep 0.1; done; curl -s http://packages.example.org:{site.port}/"
    async with stage.opened(person=FakePerson(), observer=observer) as session:
        await session.turn(call("run_command", command=command, background=True))
        (stage.root / "go").touch()
        await session.turn(call("jobs", action="read", job_id="job-1", wait_secs=20))

    [ended] = [event.hosts for event in observer.of(JobEnded) if isinstance(event, JobEnded)]
    assert ended == (AskedHost("packages.example.org", site.port, "nothing allows it"),)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("scope", [RuleScope.PROJECT, RuleScope.SESSION])
async def test_what_the_person_allows_for_longer_is_reached_unasked(
    stage: SessionStage, site: Site, scope: RuleScope
) -> None:
    host = f"packages.example.org:{site.port}"

    def allow(request: ReviewRequest) -> ReviewAnswer:
        return ApproveAlways(request.packet.digest, request.proposals, scope)

    person, command = FakePerson(allow), f"curl -s http://{host}/"
    async with stage.opened(person=person) as session:
        await session.turn(call("run_command", command=command, hosts=host))
        first = result(session)
        await session.turn(call("run_command", command=command))
        second = result(session)
    async with stage.opened(person=FakePerson()) as session:
        await session.turn(call("run_command", command=command))
        third = result(session)

    assert first.startswith("welcome")
    assert second.startswith("welcome")
    assert third.startswith("welcome") is (scope is RuleScope.PROJECT)
    assert len(person.requests) == 1
