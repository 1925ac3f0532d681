"""A turn that takes longer than it may."""

from __future__ import annotations

import asyncio

import pytest

from quorum.application.view.wording import describe_ending
from quorum.domain.calls.execution import Outcome
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.events.event import TurnFinished
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.settings import AgentTable
from tests.application.test_run_agent import Bench, reads
from tests.support.fake_ports import FakeTool
from tests.support.fake_session import Step

SOON = AgentTable(max_time_secs=1)
DONE = LlmResponse.from_text("done")


def assert_limit(report: RunReport) -> None:
    assert (report.status, report.stop_reason, report.exit_code) == (RunStatus.LIMIT, "max_time_secs", 5)
    assert report.error == "the turn took longer than the 1 s of agent.max_time_secs"


async def test_an_answer_that_takes_too_long_ends_the_turn_and_what_arrived_is_kept() -> None:
    bench = Bench(Step(answer=DONE, first=("half an ",), gate=asyncio.Event()), DONE, limits=SOON)

    report = await bench.agent.execute("go")
    bench.agent._limits = AgentTable()  # a busy machine may take a second for the turn that is to complete
    following = await bench.agent.retry()

    assert_limit(report)
    assert report.text == "half an "
    assert bench.observer.of(TurnFinished)[0].report == report
    assert describe_ending(report, "") == "stopped at the time limit agent.max_time_secs"
    assert (following.status, following.text) == (RunStatus.COMPLETED, "done")


async def test_a_call_that_takes_too_long_is_cancelled_and_has_its_result() -> None:
    async def wait(*_given: object) -> str:
        await asyncio.Event().wait()
        raise AssertionError

    bench = Bench(reads("a"), DONE, tool=FakeTool("read", wait), limits=SOON)

    report = await bench.agent.execute("go")

    assert_limit(report)
    assert [record.outcome for record in report.calls] == [Outcome.CANCELLED]
    assert not bench.conversation.open_calls


@pytest.mark.parametrize("limits", [None, AgentTable(max_time_secs=600)])
async def test_a_turn_within_its_time_completes(limits: AgentTable | None) -> None:
    bench = Bench(reads("a"), DONE, limits=limits)

    assert (await bench.agent.execute("go")).status is RunStatus.COMPLETED
