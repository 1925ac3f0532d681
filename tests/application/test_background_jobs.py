"""Background commands of a session: recorded, visible to the model, and never run again."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

import pytest

from quorum.application.session.agent_session import AgentSession
from quorum.domain.calls.execution import Orphan
from quorum.domain.calls.job import JobPage, JobResult, JobStatus, JobStopper
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ToolError
from quorum.domain.events.event import JobEnded, JobProgressed, JobStarted, SessionFinished, SessionResumed
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.replacing import replace
from quorum.domain.sessions.replay import replay_state
from quorum.domain.text.output import Printed
from tests.application.test_run_agent import Bench
from tests.application.test_session_resume import records_of, up_to
from tests.support.builders import a_context
from tests.support.fake_ledger import FakeLedger


class FakeCommand:
    """Runs until it is ended or `may_end`."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.asked_to_end = False
        self.report: Callable[[Printed], None] = lambda _printed: None

    def follow(self, report: Callable[[Printed], None]) -> None:
        self.report = report

    def read_page(self, offset: int | None, most: int) -> JobPage:
        return JobPage(text="ready\n", start=0, end=6, printed=6, kept_from=0)

    async def inspect(self) -> tuple[str, ...]:
        return ()

    def end(self) -> None:
        self.asked_to_end = True
        self.may_end.set()

    async def wait_for_result(self) -> JobResult:
        await self.may_end.wait()
        code = -15 if self.asked_to_end else 0
        return JobResult(exit_code=code, output="ready", last_lines="ready")


def a_bench(*script: LlmResponse, **more: object) -> Bench:
    return Bench(*script, **{"ledger": FakeLedger("session-1"), **more})  # type: ignore[arg-type]


async def a_job(bench: Bench, text: str = "npm run dev") -> FakeCommand:
    command = FakeCommand()
    await bench.jobs.adopt(command, text=text, context=a_context())
    return command


def user_texts(bench: Bench, nth: int) -> list[str]:
    return [m.text for m in bench.session.sent[nth].messages if isinstance(m, UserMessage)]


def ended(ledger: FakeLedger) -> list[JobEnded]:
    return [event for event in ledger.events if isinstance(event, JobEnded)]


def a_report() -> RunReport:
    return RunReport(session_id="session-1", status=RunStatus.COMPLETED, stop_reason=None, text="", turns=1)


async def test_the_end_of_a_job_is_reported_with_the_next_prompt_and_only_once() -> None:
    bench = a_bench(LlmResponse.from_text("I see"), LlmResponse.from_text("yes"))
    job = await a_job(bench)
    job.may_end.set()
    await bench.jobs.wait_for(bench.jobs.find("job-1"), 60)

    await bench.agent.execute("and now")
    await bench.agent.execute("again")

    note, prompt = user_texts(bench, 0)
    assert re.fullmatch(
        r"The background command job-1 ended after \d+(\.\d+)? m?s: exit code 0\. "
        r"Its command line: npm run dev\n"
        r"The end of what it printed, each line of it behind a bar:\n\| ready",
        note,
    )
    assert prompt == "and now"
    assert [text for text in user_texts(bench, 1) if "job-1" in text] == [note]
    assert replay_state(records_of(bench.ledger)).jobs == ()


async def test_a_job_that_outlives_its_process_on_record_only_is_ended_and_never_run_again() -> None:
    first = a_bench()
    await first.front.open()
    await a_job(first)
    resumed = a_bench(LlmResponse.from_text("oh"), past=up_to(first.ledger, JobStarted))
    resumed.orphan_finder.alive[a_context().batch_id] = (Orphan(pid=4711, command="node dev.js"),)

    await resumed.front.open()
    await resumed.agent.execute("go on")

    (said,) = [event for event in resumed.ledger.events if isinstance(event, SessionResumed)]
    assert "background command ended with the process, not run again: job-1 `npm run dev`" in said.told
    assert any("4711 (node dev.js)" in sentence for sentence in said.told)
    (event,) = ended(resumed.ledger)
    assert (event.status, event.exit_code) == (JobStatus.UNKNOWN, None)
    assert "how it ended and what it printed last is not known" in user_texts(resumed, 0)[0]
    with pytest.raises(ToolError, match="there is no job job-1"):
        resumed.jobs.find("job-1")
    await a_job(resumed, "make")
    assert [job.job_id for job in resumed.jobs.all] == ["job-2"]  # no id is given twice


async def test_an_end_that_the_model_has_not_read_is_reported_when_the_session_is_resumed() -> None:
    first = a_bench()
    await first.front.open()
    (await a_job(first)).may_end.set()
    await first.jobs.wait_for(first.jobs.find("job-1"), 60)
    resumed = a_bench(LlmResponse.from_text("I see"), past=records_of(first.ledger))

    await resumed.front.open()
    await resumed.agent.execute("go on")

    assert not ended(resumed.ledger)
    assert user_texts(resumed, 0)[0].startswith("The background command job-1 ended after")


async def test_a_copy_of_a_session_leaves_its_jobs_to_it() -> None:
    first = a_bench()
    await first.front.open()
    await a_job(first)
    past = tuple(
        replace(record, event=replace(record.event, session_id="session-0"))
        if hasattr(record.event, "session_id")
        else record
        for record in records_of(first.ledger)
    )
    copy = a_bench(LlmResponse.from_text("oh"), past=past)
    copy.orphan_finder.alive[a_context().batch_id] = (Orphan(pid=4711, command="node dev.js"),)

    await copy.front.open()
    await copy.agent.execute("go on")

    (said,) = [event for event in copy.ledger.events if isinstance(event, SessionResumed)]
    assert said.told == (
        "a copy of the session session-0, which stays as it is",
        "background commands stay with the session that this one was copied from: job-1 `npm run dev`",
    )
    assert "belongs to the session that this one was copied from" in user_texts(copy, 0)[0]


@pytest.mark.parametrize("leave", [AgentSession.aclose, lambda front: front.close(a_report())])
async def test_all_end_with_the_session(leave: Callable[[AgentSession], object]) -> None:
    bench = a_bench()
    jobs = [await a_job(bench) for _ in range(3)]

    await leave(bench.front)  # type: ignore[misc]

    assert all(job.asked_to_end for job in jobs)
    assert [event.stopper for event in ended(bench.ledger)] == [JobStopper.SESSION] * 3
    assert not any(event.note for event in ended(bench.ledger))


async def test_the_end_of_the_session_tells_what_became_of_each_job() -> None:
    bench = a_bench()
    await a_job(bench)

    await bench.front.close(a_report())

    finished = bench.ledger.events[-1]
    assert isinstance(finished, SessionFinished)
    (record,) = finished.report.jobs
    assert (record.job_id, record.command, record.status, record.stopper) == (
        "job-1",
        "npm run dev",
        JobStatus.STOPPED,
        JobStopper.SESSION,
    )


async def test_undoing_a_turn_stops_the_jobs_it_started_and_those_before_go_on() -> None:
    bench = a_bench(LlmResponse.from_text("one"), LlmResponse.from_text("two"))
    await bench.agent.execute("first")
    before = await a_job(bench, "watch")
    await bench.agent.execute("second")
    undone = await a_job(bench, "serve")

    await bench.front.rewind.rewind_to(1, conversation=True, plan=None, overwrite=frozenset())

    assert undone.asked_to_end
    assert not before.asked_to_end
    assert [(event.job_id, event.stopper) for event in ended(bench.ledger)] == [("job-2", JobStopper.REWIND)]
    state = replay_state(records_of(bench.ledger))
    assert [job.job_id for job in state.jobs] == ["job-1"]
    assert state.turns[1].unseen == (
        "What the background command job-2 changed after its call had ended was not looked at.",
    )


async def test_the_person_stops_a_job_and_the_model_reads_who_it_was() -> None:
    bench = a_bench(LlmResponse.from_text("I see"))
    await a_job(bench)

    assert (await bench.jobs.stop_by_id("job-1")).startswith("job-1 was stopped by you after")
    await bench.agent.execute("and now")

    assert "job-1 was stopped by the person" in user_texts(bench, 0)[0]


async def test_what_it_prints_is_shown_and_on_no_record() -> None:
    bench = a_bench()
    job = await a_job(bench)
    job.report(Printed("ready on port 80"))

    (shown,) = bench.observer.of(JobProgressed)
    assert isinstance(shown, JobProgressed)
    assert shown.text == "ready on port 80"
    assert not any(isinstance(event, JobProgressed) for event in bench.ledger.events)
