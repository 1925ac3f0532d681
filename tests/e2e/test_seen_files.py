"""A file is replaced only as the model last saw it, also in later processes and after a return to a turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.calls.execution import Outcome
from quorum.domain.events.report import RunReport
from quorum.domain.sessions.session_summary import NewSession
from tests.support.real_session import SessionStage, call, write


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    stage = SessionStage(tmp_path, has_seen_all=False)
    (stage.root / "a.txt").write_text("theirs\n")
    return stage


def outcomes(report: RunReport) -> list[Outcome]:
    return [record.outcome for record in report.calls]


@pytest.mark.long
async def test_what_a_model_has_seen_comes_back_with_its_session_and_with_no_other(stage: SessionStage) -> None:
    async with stage.opened() as session:
        assert outcomes(await session.turn(write("a.txt", "mine\n"))) == [Outcome.ERROR]
        await session.turn(call("read_file", path="a.txt"))
        await session.check()
    async with stage.opened(NewSession()) as another:
        assert outcomes(await another.turn(write("a.txt", "mine\n"))) == [Outcome.ERROR]
        assert (stage.root / "a.txt").read_text() == "theirs\n"
        await another.turn(call("read_file", path="a.txt"))
    async with stage.opened() as again:
        assert (
            outcomes(await again.turn(write("a.txt", "mine\n"), write("a.txt", "more\n"))) == [Outcome.OK] * 2
        )
        await again.continue_turn()

    assert (stage.root / "a.txt").read_text() == "more\n"


async def test_a_turn_that_is_taken_back_takes_along_what_was_seen_in_it(stage: SessionStage) -> None:
    async with stage.opened() as session:
        await session.turn(call("read_file", path="a.txt"))
        await session.undo()

        assert outcomes(await session.turn(write("a.txt", "mine\n"))) == [Outcome.ERROR]
        await session.check()

    assert (stage.root / "a.txt").read_text() == "theirs\n"


async def test_a_model_that_reads_and_replaces_in_one_answer_has_not_seen_the_file(stage: SessionStage) -> None:
    async with stage.opened() as session:
        batch = [call("read_file", path="a.txt"), write("a.txt", "mine\n"), write("b.txt", "x")]
        report = await session.turn(batch, write("a.txt", "mine\n"))

    assert outcomes(report) == [Outcome.OK, Outcome.ERROR, Outcome.OK, Outcome.OK]
    assert (stage.root / "a.txt").read_text() == "mine\n"
