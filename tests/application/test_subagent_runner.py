"""Running subagents: several at the same time, each with its own end, whatever fails or is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest

from quorum.application.background_jobs import BackgroundJobs, describe_lost_jobs
from quorum.application.calls.outputs import Outputs
from quorum.application.event_bus import EventBus
from quorum.application.ports.people import Observer
from quorum.application.ports.subagents import SubagentStopped
from quorum.application.steering import PendingMessages
from quorum.application.subagents.subagent_runner import (
    LinkedLedger,
    SubagentProgress,
    SubagentRunner,
    find_background_ends,
)
from quorum.domain.calls.effects import Effects
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.job import JobStatus, JobStopper
from quorum.domain.conversation.response import Usage
from quorum.domain.errors import LedgerError, LostConnection, ProviderError, ProviderErrorKind, ToolError
from quorum.domain.events.event import (
    CallStarted,
    EffectsObserved,
    ErrorOccurred,
    Event,
    FilesKept,
    JobEnded,
    JobProgressed,
    JobStarted,
    SessionFinished,
    SessionStarted,
    SubagentFinished,
    SubagentProgressed,
    SubagentStarted,
    TextDelta,
    TurnStarted,
    UsageCounted,
)
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.events.subagents import SubagentOutcome
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.subagent_task import SubagentTask
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.tools.builtin.parts import Workers
from quorum.infrastructure.tools.builtin.task import Task
from tests.support.builders import a_context
from tests.support.fake_ledger import FakeLedger
from tests.support.fake_ports import RecordingObserver
from tests.support.past_sessions import records_of

SPENT = (Usage(input=3), Decimal("0.5"))
DONE = SubagentOutcome(status=RunStatus.COMPLETED, text="done")


class FakeSubagent:
    """Ends as told once its gate opens; cancelled, it is interrupted."""

    def __init__(self, observer: Observer, end: SubagentOutcome, gate: asyncio.Event | None) -> None:
        self._observer = observer
        self._end = end
        self._gate = gate
        self.began = asyncio.Event()
        self.is_closed = False

    async def run(self, prompt: str) -> SubagentOutcome:
        self._observer.notify(TextDelta(text=prompt))
        self.began.set()
        try:
            if self._gate is not None:
                await self._gate.wait()
        except asyncio.CancelledError:
            return SubagentOutcome(status=RunStatus.INTERRUPTED, text="")
        return self._end

    def take_spent(self) -> list[tuple[Usage, Decimal | None]]:
        return [SPENT]

    async def aclose(self) -> None:
        self.is_closed = True


class FakeSessions:
    """Opens subagents by their prompts. An error in the place of an end keeps one from being opened."""

    def __init__(self, ends: Mapping[str, SubagentOutcome | Exception] = {}) -> None:
        self.ends = ends
        self.gates: dict[str, asyncio.Event] = {}
        self.opened: dict[str, FakeSubagent] = {}
        self.opening = asyncio.Event()
        self.may_open = asyncio.Event()
        self.may_open.set()

    def choose_model(self, task: SubagentTask) -> str:
        return task.model or "p/m"

    async def open(
        self, task: SubagentTask, session_id: str, context: ToolExecutionContext, observer: Observer
    ) -> FakeSubagent:
        self.opening.set()
        await self.may_open.wait()
        end = self.ends.get(task.prompt, DONE)
        if isinstance(end, Exception):
            raise end
        self.opened[task.prompt] = FakeSubagent(observer, end, self.gates.get(task.prompt))
        return self.opened[task.prompt]

    async def all_run(self, count: int) -> None:
        async with asyncio.timeout(60):
            while len(self.opened) < count:  # noqa: ASYNC110 - opening a session is not told
                await asyncio.sleep(0)
            for each in self.opened.values():
                await each.began.wait()


class Rig:
    def __init__(self, sessions: FakeSessions, *, most: int = 8) -> None:
        self.seen = RecordingObserver()
        self.sessions = sessions
        self.events = EventBus([self.seen])
        self.runner = SubagentRunner("owner", sessions=lambda: sessions, events=self.events, most=most)

    def start(self, prompt: str, index: int = 0) -> asyncio.Task[SubagentOutcome]:
        return asyncio.create_task(self.runner.run(SubagentTask(prompt=prompt), a_context(index)))

    @property
    def ends(self) -> dict[str, RunStatus]:
        return {e.subagent_id: e.outcome.status for e in self.seen.events if isinstance(e, SubagentFinished)}

    @property
    def ids(self) -> list[str]:
        return [e.subagent_id for e in self.seen.events if isinstance(e, SubagentStarted)]


async def test_subagents_work_at_the_same_time_and_each_ends_when_it_is_done() -> None:
    sessions = FakeSessions({"a": SubagentOutcome(status=RunStatus.COMPLETED, text="from a")})
    sessions.gates = {name: asyncio.Event() for name in "abc"}
    rig = Rig(sessions)
    tasks = {name: rig.start(name, index) for index, name in enumerate("abc")}
    await sessions.all_run(3)
    assert rig.ids == ["owner-t1", "owner-t2", "owner-t3"]
    for name in "cab":
        sessions.gates[name].set()
        await tasks[name]
    assert list(rig.ends) == ["owner-t3", "owner-t1", "owner-t2"]
    assert (await tasks["a"]).text == "from a"
    assert rig.runner.take_spent() == [SPENT] * 3
    assert rig.runner.take_spent() == []
    assert all(each.is_closed for each in sessions.opened.values())


@pytest.mark.parametrize("error", [LostConnection("away"), MemoryError(), KeyError("x")], ids=repr)
async def test_an_error_that_is_not_the_subagents_alone_is_raised_once_its_end_is_recorded(
    error: Exception,
) -> None:
    rig = Rig(FakeSessions({"a": error}))

    with pytest.raises(type(error)):
        await rig.start("a")

    assert rig.ends == {"owner-t1": RunStatus.FAILED}


async def test_more_than_there_is_room_for_wait_for_their_turn() -> None:
    sessions = FakeSessions()
    sessions.gates = {name: asyncio.Event() for name in "abc"}
    rig = Rig(sessions, most=2)
    tasks = [rig.start(name, index) for index, name in enumerate("abc")]
    await sessions.all_run(2)
    assert set(sessions.opened) == {"a", "b"}
    sessions.gates["b"].set()
    await sessions.all_run(3)
    for gate in sessions.gates.values():
        gate.set()
    assert [each.text for each in await asyncio.gather(*tasks)] == ["done"] * 3


@pytest.mark.parametrize("down", ["one", "all"])
async def test_a_subagent_that_fails_is_an_outcome_of_its_own(down: str) -> None:
    failed = SubagentOutcome(status=RunStatus.FAILED, text="", error="down")
    no_key = ProviderError("no key", kind=ProviderErrorKind.CONFIGURATION)
    ends = {"a": no_key} if down == "one" else {"a": no_key, "b": failed, "c": LedgerError("full")}
    rig = Rig(FakeSessions(ends))
    outcomes = await asyncio.gather(*(rig.start(name, index) for index, name in enumerate("abc")))
    statuses = [each.status for each in outcomes]
    if down == "one":
        assert statuses == [RunStatus.FAILED, RunStatus.COMPLETED, RunStatus.COMPLETED]
    else:
        assert statuses == [RunStatus.FAILED] * 3
        assert [each.error for each in outcomes] == ["no key", "down", "full"]
    assert len(rig.ends) == 3, "each end is recorded"


async def test_a_cancelled_task_ends_its_subagent_first_and_its_end_is_on_record() -> None:
    sessions = FakeSessions()
    sessions.gates = {"a": asyncio.Event(), "b": asyncio.Event()}
    rig = Rig(sessions)
    tasks = [rig.start("a"), rig.start("b", 1)]
    await sessions.all_run(2)
    tasks[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    assert rig.ends == {"owner-t1": RunStatus.INTERRUPTED}
    assert sessions.opened["a"].is_closed
    sessions.gates["b"].set()
    assert (await tasks[1]).text == "done", "its sibling goes on"


async def test_a_task_that_is_cancelled_before_its_session_is_open_or_while_it_waits_ends_too() -> None:
    sessions = FakeSessions()
    sessions.may_open.clear()
    rig = Rig(sessions, most=1)
    opening, waiting = rig.start("a"), rig.start("b", 1)
    await sessions.opening.wait()
    for task in (waiting, opening):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert rig.ends == {"owner-t1": RunStatus.INTERRUPTED}
    sessions.may_open.set()
    assert (await rig.start("c", 2)).text == "done", "the place is free again"


async def test_a_person_who_stops_the_turn_from_a_question_of_a_subagent_stops_the_call() -> None:
    stopped = SubagentOutcome(status=RunStatus.INTERRUPTED, text="")
    rig = Rig(FakeSessions({"a": stopped}))
    with pytest.raises(SubagentStopped):
        await rig.start("a")
    assert rig.ends == {"owner-t1": RunStatus.INTERRUPTED}


async def test_what_happens_in_its_session_reaches_the_observers_with_its_name() -> None:
    rig = Rig(FakeSessions())
    await rig.start("say this")
    (progressed,) = (e for e in rig.seen.events if isinstance(e, SubagentProgressed))
    assert progressed.subagent_id == "owner-t1"
    assert progressed.event == {"type": "text_delta", "v": 1, "text": "say this"}


async def test_the_owner_has_on_record_what_a_subagent_does_to_files_and_spends() -> None:
    seen = RecordingObserver()
    own, context = FakeLedger(), a_context(4)
    ledger = LinkedLedger(own, EventBus([seen]), context)
    usage = UsageCounted(model="p/m", usage=Usage(input=1), cost_usd=None)
    inner = a_context(0, call_id="inner", batch_id="other")
    kept = FilesKept(context=inner, manifest="m", files=1, complete=True)
    effects = EffectsObserved(context=inner, effects=Effects(changes=(), complete=True))
    for event in (kept, TextDelta(text="x"), effects, usage):
        await ledger.append(event)
    assert [type(event) for event in seen.events] == [FilesKept, EffectsObserved, UsageCounted]
    assert [e.context for e in seen.events if isinstance(e, FilesKept | EffectsObserved)] == [context, context]
    assert [e.subagent_id for e in seen.events if isinstance(e, EffectsObserved)] == [own.session_id]


async def test_what_is_noted_of_a_subagent_is_on_both_records_before_what_comes_after_it() -> None:
    owned, own, context = FakeLedger(), FakeLedger(), a_context(4)
    events = EventBus([], ledger=LinkedLedger(own, EventBus([], ledger=owned), context))
    inner = a_context(0, call_id="inner", batch_id="other")
    usage = UsageCounted(model="p/m", usage=Usage(input=1), cost_usd=None)
    kept = FilesKept(context=inner, manifest="m", files=1, complete=True)
    started = CallStarted(context=inner, tool="write_file", arguments={})
    effects = EffectsObserved(context=inner, effects=Effects(changes=(), complete=True))

    events.note(usage)
    events.note(kept)
    await events.announce(started)
    assert own.events == [usage, kept, started]
    assert [type(event) for event in owned.events] == [UsageCounted, FilesKept]

    events.note(effects)
    events.note(usage)
    await events.record(TurnStarted(prompt="last"))
    assert own.events[3:] == [effects, usage, TurnStarted(prompt="last")]
    assert {type(event) for event in owned.events[2:]} == {EffectsObserved, UsageCounted}


async def test_a_call_of_a_subagent_does_not_start_where_its_owner_cannot_record_what_files_held() -> None:
    owned, own, seen = FakeLedger(), FakeLedger(), RecordingObserver()
    events = EventBus([seen], ledger=LinkedLedger(own, EventBus([], ledger=owned), a_context(4)))
    inner, other = a_context(0, call_id="inner"), a_context(1, call_id="other")
    owned.trouble = "the disk is full"

    events.note(FilesKept(context=inner, manifest="m", files=1, complete=True))
    await events.announce(CallStarted(context=other, tool="write_file", arguments={}))
    for _ in range(2):
        with pytest.raises(LedgerError, match="the disk is full"):
            await events.announce(CallStarted(context=inner, tool="write_file", arguments={}))
    assert seen.of(ErrorOccurred) == [ErrorOccurred(message="the disk is full")]


async def test_the_record_of_a_subagent_is_closed_after_all_that_was_noted_on_it() -> None:
    own = FakeLedger()
    ledger = LinkedLedger(own, EventBus([], ledger=FakeLedger()), a_context(4))
    effects = EffectsObserved(context=a_context(0), effects=Effects(changes=(), complete=True))
    noted = ledger.append(effects, may_wait=True)
    await ledger.aclose()
    await noted
    assert own.events == [effects]


def test_progress_says_what_runs_what_was_used_and_who_is_waited_for() -> None:
    progress = SubagentProgress()
    assert progress.sentence == "thinks · 0 answers · 0 tokens"
    progress.apply(CallStarted(context=a_context(0), tool="read_file", arguments={"path": "src/a.py"}))
    assert progress.doing == "read src/a.py"
    progress.apply(CallStarted(context=a_context(1), tool="grep_search", arguments={"pattern": "x y"}))
    assert progress.doing == "search x y (and 1 more)"
    progress.apply(UsageCounted(model="p/m", usage=Usage(input=1200, output=30), cost_usd=Decimal("0.02")))
    assert progress.amounts == "0 answers · 1,230 tokens · $0.02"
    progress.apply(TextDelta(text="one\ntw"))
    progress.apply(TextDelta(text="o"))
    assert list(progress.lines) == ["one", "two"]


# ---------------------------------------------------------------- in the background


class _Background:
    """A rig whose subagents become jobs of their owner."""

    def __init__(self, sessions: FakeSessions, *, most: int = 8) -> None:
        self.rig = Rig(sessions, most=most)
        self.notes = PendingMessages()
        self.jobs = BackgroundJobs(
            events=self.rig.events, outputs=Outputs(None, OutputLimits()), pending_messages=self.notes
        )
        workers = Workers(subagents=self.rig.runner, tasks=_TASKS, plan_tasks=_NO_PLAN)
        self.tool = Task(lambda: workers, self.jobs)

    async def start(self, prompt: str, index: int = 0) -> str:
        return await self.tool.execute({"prompt": prompt, "background": True}, a_context(index))

    async def end_of(self, job_id: str) -> JobEnded:
        job = self.jobs.find(job_id)
        assert job.watch is not None
        await job.watch
        assert job.ended is not None
        return job.ended

    def read_notes(self) -> list[str]:
        found = []
        while (word := self.notes.pop(steering=True)) is not None:
            found.append(word.said.text)
        return found


class _Tasks:
    async def build(self, prompt: str, agent: str = "") -> SubagentTask:
        return SubagentTask(prompt=prompt, agent=agent)


_TASKS: Any = _Tasks()
_NO_PLAN: Any = None


async def test_the_owner_works_on_while_a_subagent_does_and_reads_its_report_as_a_note() -> None:
    sessions = FakeSessions({"a": SubagentOutcome(status=RunStatus.COMPLETED, text="found it")})
    sessions.gates = {"a": asyncio.Event()}
    bench = _Background(sessions)

    said = await bench.start("a")

    assert said.startswith("job-1 works on it in the background")
    assert bench.read_notes() == []
    sessions.gates["a"].set()
    assert (await bench.end_of("job-1")).status is JobStatus.ANSWERED
    (note,) = bench.read_notes()
    assert note.startswith("The subagent job-1 has reported after")
    assert "task: a" in note
    assert "| found it" in note
    assert bench.rig.ends == {"owner-t1": RunStatus.COMPLETED}
    assert bench.rig.runner.take_spent() == [SPENT]


async def test_one_that_fails_or_is_stopped_says_so() -> None:
    failed = SubagentOutcome(status=RunStatus.FAILED, text="", error="no network")
    sessions = FakeSessions({"a": failed})
    sessions.gates = {"b": asyncio.Event()}
    bench = _Background(sessions)
    await bench.start("a")
    await bench.start("b", 1)
    await sessions.all_run(2)

    stopped = await bench.jobs.stop_by_id("job-2")

    assert (await bench.end_of("job-1")).status is JobStatus.FAILED
    assert "stopped by you" in stopped
    assert bench.rig.ends == {"owner-t1": RunStatus.FAILED, "owner-t2": RunStatus.INTERRUPTED}
    notes = bench.read_notes()
    assert any("job-1 failed" in note and "no network" in note for note in notes)
    assert any("job-2 was stopped by the person" in note for note in notes)


async def test_more_than_may_work_at_once_are_refused_and_not_waited_for() -> None:
    sessions = FakeSessions()
    sessions.gates = {"a": asyncio.Event()}
    bench = _Background(sessions, most=1)
    await bench.start("a")

    with pytest.raises(ToolError, match=r"tools\.task\.max_parallel"):
        await bench.start("b", 1)

    sessions.gates["a"].set()
    await bench.end_of("job-1")
    assert "job-2" in await bench.start("b", 1)
    await bench.end_of("job-2")


async def test_they_end_with_the_session_and_nothing_of_them_is_left() -> None:
    sessions = FakeSessions()
    sessions.gates = {"a": asyncio.Event()}
    bench = _Background(sessions)
    await bench.start("a")
    await sessions.all_run(1)

    (record,) = await bench.jobs.close()

    assert (record.status, record.stopper) == (JobStatus.STOPPED, JobStopper.SESSION)
    assert sessions.opened["a"].is_closed
    assert bench.rig.ends == {"owner-t1": RunStatus.INTERRUPTED}


async def test_what_one_says_can_be_read_while_it_works() -> None:
    sessions = FakeSessions()
    sessions.gates = {"a": asyncio.Event()}
    bench = _Background(sessions)
    await bench.start("a")
    await sessions.all_run(1)

    sessions.opened["a"]._observer.notify(
        CallStarted(context=a_context(), tool="read_file", arguments={"path": "a.py"})
    )

    page = bench.jobs.read_page(bench.jobs.find("job-1"), None, 100)
    assert page is not None
    assert page.text == "read a.py\n"
    assert any("read a.py" in each.text for each in bench.rig.seen.events if isinstance(each, JobProgressed))
    await bench.jobs.close()


def _resumed(*events: Event) -> BackgroundJobs:
    bus = EventBus([], past=records_of(events))
    return BackgroundJobs(events=bus, outputs=Outputs(None, OutputLimits()), pending_messages=PendingMessages())


async def test_after_a_kill_the_model_reads_what_became_of_one() -> None:
    begun = SessionStarted(session_id="owner", model="p/m", mode=Mode.ASK, cwd="/ws")
    job = JobStarted(job_id="job-1", context=a_context(), command="task: a", subagent_id="owner-t1")
    for ends, words in (
        ({}, ["was interrupted", "owner-t1", "task: a"]),
        ({"owner-t1": DONE}, ["ended before the quorum that it worked in did", "| done"]),
    ):
        jobs = _resumed(begun, TurnStarted(prompt="x"), job)
        assert describe_lost_jobs(jobs.lost, is_copy=False) == (
            "subagent ended with the process, not asked again: job-1 `task: a`",
        )

        await jobs.recover(is_copy=False, ends=ends)

        word = jobs._pending_messages.pop(steering=True)
        assert word is not None
        assert all(each in word.said.text for each in words)


async def test_the_end_of_a_lost_one_is_found_in_its_own_session() -> None:
    (job,) = _resumed(
        SessionStarted(session_id="owner", model="p/m", mode=Mode.ASK, cwd="/ws"),
        TurnStarted(prompt="x"),
        JobStarted(job_id="job-1", context=a_context(), command="task: a", subagent_id="owner-t1"),
    ).lost
    report = RunReport(
        session_id="owner-t1", status=RunStatus.COMPLETED, text="done", turns=1, stop_reason="end_turn"
    )

    async def read(session_id: str) -> Sequence[LedgerRecord]:
        assert session_id == "owner-t1"
        return records_of([SessionFinished(report=report)])

    async def fail(session_id: str) -> Sequence[LedgerRecord]:
        raise LedgerError("there is no such session")

    assert (await find_background_ends([job], read))["owner-t1"].text == "done"
    assert await find_background_ends([job], fail) == {}
