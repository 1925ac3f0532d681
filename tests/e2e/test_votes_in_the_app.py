"""Votes over real sockets in the app: advice while the person reads, and what is kept from reviewers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from quorum.domain.events.event import QuorumConcluded, VoteCast
from quorum.domain.review.mode import Mode
from tests.support.headless_run import configure
from tests.support.quorum_rig import DONE, call, calling, settings, vote
from tests.support.real_app import RealApp, real_app
from tests.support.sse_server import Hang, Reply, ScriptedCall, SseServer

EDIT = call("c1", "edit_file", path="a.txt", old_text="alpha", new_text="omega")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n", encoding="utf-8")
    (folder / ".env").write_text("TOKEN=hush\nDEBUG=0\n", encoding="utf-8")
    return folder


@asynccontextmanager
async def asked(
    project: Path, wanted: ScriptedCall, *votes: Reply, mode: Mode = Mode.ASK
) -> AsyncIterator[tuple[RealApp, list[SseServer]]]:
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(SseServer("openai-chat")) for _ in range(1 + len(votes))]
        model, *reviewers = servers
        model.script = [calling(wanted), DONE]
        for server, reply in zip(reviewers, votes, strict=True):
            server.script = [reply]
        configure(project.parent / "home", settings(model, reviewers))
        app = await stack.enter_async_context(real_app(project, project.parent / "home", mode=mode))
        await app.send("go")
        yield app, reviewers


@pytest.mark.long
async def test_votes_arrive_while_the_person_reads_and_decide_nothing_in_the_mode_ask(project: Path) -> None:
    votes = (vote("approve"), vote("reject", "it loses alpha", objection="alpha"))
    async with asked(project, EDIT, *votes) as (app, _):
        await app.asked()
        await app.until(lambda: len(app.received.of(VoteCast)) == 2)
        await app.shows("it loses alpha")
        report = await app.finish("y")

        assert [record.decision.value for record in report.calls] == ["approved"]
        assert len(app.received.of(QuorumConcluded)) == 1
    assert (project / "a.txt").read_text() == "omega\n"


@pytest.mark.long
async def test_a_silent_reviewer_keeps_no_person_from_answering(project: Path) -> None:
    async with asked(project, EDIT, vote("approve"), Hang("silent")) as (app, reviewers):
        await app.asked()
        await app.until(lambda: app.received.of(VoteCast) and reviewers[1].bodies)
        report = await app.finish("n")

        assert [record.decision.value for record in report.calls] == ["rejected"]
        await app.until(reviewers[1].disconnected.is_set)


async def test_in_the_mode_quorum_an_approval_runs_without_a_question_and_a_rejection_is_put_to_the_person(
    project: Path,
) -> None:
    async with asked(project, EDIT, vote("approve"), vote("approve"), mode=Mode.QUORUM) as (app, _):
        report = await app.finish("n")
        assert [record.decision.value for record in report.calls] == ["allowed"]

    again = call("c1", "edit_file", path="a.txt", old_text="omega", new_text="alpha")
    async with asked(project, again, vote("reject"), vote("reject"), mode=Mode.QUORUM) as (app, _):
        await app.asked()
        report = await app.finish("y")
        assert [record.decision.value for record in report.calls] == ["approved"]
    assert (project / "a.txt").read_text() == "alpha\n"


@pytest.mark.long
@pytest.mark.parametrize("mode", [Mode.ASK, Mode.QUORUM])
async def test_what_a_sensitive_file_holds_is_not_sent_to_reviewers_before_the_person_agreed(
    mode: Mode, project: Path
) -> None:
    wanted = call("c1", "edit_file", path=".env", old_text="DEBUG=0", new_text="DEBUG=1")
    async with asked(project, wanted, vote("approve"), vote("approve"), mode=mode) as (app, reviewers):
        await app.asked()
        await app.finish("n")

        assert not any("hush" in str(body) for server in reviewers for body in server.bodies)
