"""Carrying out the tasks of an approved plan: which run at the same time, and what is recorded of each."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from decimal import Decimal
from typing import NoReturn

import pytest

from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.application.plan_service import PlanService
from quorum.application.ports.subagents import SubagentStopped
from quorum.application.subagents.plan_task_runner import PlanTaskRunner, describe_access
from quorum.domain.calls.access import has_conflict
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.response import Usage
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import LedgerError, PlanRefused
from quorum.domain.events.event import PlanApproved, PlanWithdrawn, StateMerged
from quorum.domain.events.report import CallRecord, RunReport, RunStatus
from quorum.domain.events.subagents import SubagentOutcome
from quorum.domain.plan.plan import ApprovedPlan, PhaseScope, Plan, read_plan
from quorum.domain.plan.progress import TaskRefused, TaskStatus
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.state import OpenCall
from quorum.domain.subagent_task import SubagentTask
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.support.builders import a_context
from tests.support.fake_ledger import FakeLedger
from tests.support.fake_ports import RecordingObserver

PLAN = read_plan(
    {
        "objective": "a parser",
        "reasoning": "",
        "tasks": [
            {"id": "lexer", "description": "cut it up", "writes": ["src/lexer.py"], "commands": ["pytest *"]},
            {"id": "docs", "description": "tell of it", "writes": ["docs/**"]},
            {"id": "parser", "description": "read it", "depends_on": ["lexer"], "writes": ["src/parser.py"]},
            {"id": "rename", "description": "rename all", "writes": ["docs/*.md"]},
        ],
    }
)


class FakeSubagents:
    """Ends tasks as told once their gates open."""

    def __init__(self, ends: Mapping[str, SubagentOutcome | Exception] = {}) -> None:
        self.ends = ends
        self.gates: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, SubagentTask] = {}
        self.begun: dict[str, asyncio.Event] = {}

    async def run(self, task: SubagentTask, context: ToolExecutionContext) -> SubagentOutcome:
        self.tasks[task.plan_task] = task
        self.begun.setdefault(task.plan_task, asyncio.Event()).set()
        if (gate := self.gates.get(task.plan_task)) is not None:
            await gate.wait()
        end = self.ends.get(task.plan_task, ended(RunStatus.COMPLETED, f"{task.plan_task} is written"))
        if isinstance(end, Exception):
            raise end
        return end

    def take_spent(self) -> list[tuple[Usage, Decimal | None]]:
        return []

    async def start(self, task: SubagentTask, context: ToolExecutionContext) -> NoReturn:
        raise AssertionError("tasks of a plan are waited for")

    def take_needs_approval(self) -> bool:
        return False

    async def have_begun(self, *task_ids: str) -> None:
        async with asyncio.timeout(30):
            for task_id in task_ids:
                await self.begun.setdefault(task_id, asyncio.Event()).wait()


def ended(status: RunStatus, text: str = "") -> SubagentOutcome:
    return SubagentOutcome(status=status, text=text)


class Rig:
    def __init__(self, subagents: FakeSubagents | None = None, *, ledger: FakeLedger | None = None) -> None:
        self.seen = RecordingObserver()
        self.subagents = subagents or FakeSubagents()
        self.events = EventBus([self.seen], ledger=ledger)
        self.plans = PlanService(events=self.events, kind=SessionKind.AGENT)
        self.runner = PlanTaskRunner(self.plans, self.subagents, ToolSet({}, JsonSchema()))

    async def approve(self, plan: Plan = PLAN) -> None:
        await self.events.record(PlanApproved(context=a_context(9), plan=plan, digest=plan.digest))

    def start(self, task_id: str, index: int = 0, note: str = "") -> asyncio.Task[tuple[TaskStatus, str]]:
        return asyncio.create_task(self.runner.run(task_id, note, a_context(index)))

    @property
    def statuses(self) -> dict[str, str]:
        progress = self.plans.progress
        return {} if progress is None else {id_: status.value for id_, status in progress.statuses.items()}


def report_of(tool: str, outcome: Outcome) -> RunReport:
    call = CallRecord(context=a_context(0), tool=tool, outcome=outcome, decision=DecisionLabel.ALLOWED)
    return RunReport(
        session_id="s-t1",
        status=RunStatus.COMPLETED,
        stop_reason=None,
        text="that is it",
        turns=1,
        calls=(call,),
    )


async def test_two_independent_tasks_take_as_long_as_the_slower_and_are_on_record_before_they_begin() -> None:
    subagents = FakeSubagents()
    subagents.gates = {"lexer": asyncio.Event(), "docs": asyncio.Event()}
    rig = Rig(subagents)
    await rig.approve()
    lexer, docs = rig.start("lexer"), rig.start("docs", 1)
    await subagents.have_begun("lexer", "docs")  # neither has ended: one waits for nothing of the other
    assert rig.statuses == {
        "lexer": "in_progress",
        "docs": "in_progress",
        "parser": "pending",
        "rename": "pending",
    }
    subagents.gates["docs"].set()
    assert (await docs)[0] is TaskStatus.DONE
    assert not lexer.done()
    subagents.gates["lexer"].set()
    status, text = await lexer
    assert status is TaskStatus.DONE
    assert text == "lexer is written\n\nlexer is done. Can be started: parser, rename."


async def test_a_task_reads_its_text_the_objective_the_note_and_the_reports_of_what_comes_before() -> None:
    rig = Rig()
    await rig.approve()
    await rig.start("lexer")
    await rig.start("parser", note="use the names of the grammar")
    prompt = rig.subagents.tasks["parser"].prompt
    for part in (
        "a parser",
        "Task parser of the plan: read it",
        "src/parser.py",
        "lexer is written",
        "use the names",
    ):
        assert part in prompt
    assert "tell of it" not in prompt, "other tasks are none of its business"
    assert rig.subagents.tasks["parser"].title == "task parser of the plan"


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (ended(RunStatus.FAILED), TaskStatus.FAILED),
        (ended(RunStatus.LIMIT, "half of it"), TaskStatus.FAILED),
        (ended(RunStatus.NEEDS_APPROVAL, "all but one file"), TaskStatus.FAILED),
        (ended(RunStatus.REFUSED, "no"), TaskStatus.FAILED),
        (ended(RunStatus.INTERRUPTED), TaskStatus.UNKNOWN),
    ],
)
async def test_only_a_task_that_came_to_its_end_is_done(end: SubagentOutcome, status: TaskStatus) -> None:
    rig = Rig(FakeSubagents({"lexer": end}))
    await rig.approve()
    assert (await rig.start("lexer"))[0] is status
    assert rig.statuses["lexer"] == status.value
    assert rig.statuses["parser"] == ("blocked" if status is TaskStatus.FAILED else "pending")
    with pytest.raises(TaskRefused, match="parser comes after lexer, which is not done"):
        await rig.start("parser")
    assert "parser" not in rig.subagents.tasks


async def test_a_task_that_is_done_is_not_run_again_and_one_that_failed_is() -> None:
    subagents = FakeSubagents({"docs": ended(RunStatus.FAILED)})
    rig = Rig(subagents)
    await rig.approve()
    await rig.start("lexer")
    with pytest.raises(TaskRefused, match="lexer is done, so it is not run again"):
        await rig.start("lexer")
    await rig.start("docs")
    subagents.ends = {}
    assert (await rig.start("docs"))[0] is TaskStatus.DONE


async def test_tasks_that_may_write_one_file_or_follow_each_other_never_run_side_by_side() -> None:
    subagents = FakeSubagents()
    subagents.gates = {"docs": asyncio.Event()}
    rig = Rig(subagents)
    await rig.approve()
    docs = rig.start("docs")
    await subagents.have_begun("docs")
    with pytest.raises(TaskRefused, match="rename cannot run beside docs"):
        await rig.start("rename")
    with pytest.raises(TaskRefused, match="docs is being carried out"):
        await rig.start("docs")
    subagents.gates["docs"].set()
    await docs


@pytest.mark.parametrize(
    ("first", "second", "follows"),
    [("lexer", "docs", False), ("lexer", "parser", True), ("docs", "rename", True), ("lexer", "lexer", True)],
)
def test_calls_of_one_answer_follow_each_other_exactly_where_their_tasks_may_not_run_side_by_side(
    first: str, second: str, follows: bool
) -> None:
    approved = ApprovedPlan.make(PLAN)
    assert has_conflict(describe_access(approved, first), describe_access(approved, second)) is follows
    assert has_conflict(describe_access(approved, first), describe_access(None, second)), "it cannot be placed"


async def test_a_task_that_cannot_be_put_on_record_does_not_begin() -> None:
    ledger = FakeLedger()
    rig = Rig(ledger=ledger)
    await rig.approve()
    ledger.trouble = "the disk is full"
    with pytest.raises(LedgerError):
        await rig.start("lexer")
    assert not rig.subagents.tasks
    assert rig.statuses["lexer"] == "pending"


@pytest.mark.parametrize("stop", ["cancelled", "stopped from a question"])
async def test_a_task_that_is_stopped_is_of_unknown_end_and_can_be_run_again(stop: str) -> None:
    subagents = FakeSubagents()
    rig = Rig(subagents)
    await rig.approve()
    if stop == "cancelled":
        subagents.gates = {"lexer": asyncio.Event()}
        running = rig.start("lexer")
        await subagents.have_begun("lexer")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    else:
        subagents.ends = {"lexer": SubagentStopped("stopped")}
        with pytest.raises(SubagentStopped):
            await rig.start("lexer")
    assert rig.statuses["lexer"] == "unknown"
    subagents.gates, subagents.ends = {}, {}
    assert (await rig.start("lexer"))[0] is TaskStatus.DONE


async def test_with_the_last_task_done_the_plan_is_in_force_no_more() -> None:
    rig = Rig()
    await rig.approve()
    for task_id in ("lexer", "docs", "parser", "rename"):
        _, text = await rig.start(task_id)
    assert text.endswith("All tasks are done, and the plan with them. Sum up what was reached.")
    assert rig.plans.phase.approved is None
    with pytest.raises(PlanRefused):
        await rig.start("lexer")


async def test_a_plan_that_is_withdrawn_while_a_task_runs_gets_no_status_any_more() -> None:
    subagents = FakeSubagents()
    subagents.gates = {"lexer": asyncio.Event()}
    rig = Rig(subagents)
    await rig.approve()
    running = rig.start("lexer")
    await subagents.have_begun("lexer")
    await rig.plans.withdraw("the person withdrew it")
    subagents.gates["lexer"].set()
    _, text = await running
    assert "the plan was withdrawn" in text
    assert isinstance(rig.seen.events[-1], PlanWithdrawn)


async def test_nothing_is_carried_out_while_another_plan_is_made() -> None:
    rig = Rig()
    await rig.approve()
    await rig.plans.set_scope(PhaseScope.PLAN_ONLY)
    with pytest.raises(PlanRefused):
        await rig.start("lexer")


async def test_another_plan_begins_with_none_of_its_tasks_begun() -> None:
    rig = Rig()
    await rig.approve()
    await rig.start("lexer")
    await rig.approve()
    assert set(rig.statuses.values()) == {"pending"}
    assert rig.plans.find_report("lexer") is None


@pytest.mark.parametrize(
    ("outcome", "status", "report"),
    [
        (ended(RunStatus.COMPLETED, "all written"), "done", "all written"),
        (ended(RunStatus.LIMIT, "half"), "failed", "[the task reached a limit before it was done]\nhalf"),
        (None, "unknown", None),
    ],
)
async def test_after_a_crash_a_task_stands_as_its_subagent_ended_or_its_end_is_unknown(
    outcome: SubagentOutcome | None, status: str, report: str | None
) -> None:
    rig = Rig()
    await rig.approve()
    await rig.plans.begin_task("lexer", a_context(0))
    await rig.plans.begin_task("docs", a_context(1))  # by the session's own agent
    run = ToolCall(tool_name="run_task", arguments={"id": "lexer"}, native_id="c0")
    other = ToolCall(tool_name="read_file", arguments={"id": "docs"}, native_id="c1")
    calls = [
        OpenCall(call=run, context=a_context(0), started=True, subagent_outcome=outcome),
        OpenCall(call=other, context=a_context(1), started=True),
    ]
    await rig.runner.recover(calls)
    assert (rig.statuses["lexer"], rig.statuses["docs"]) == (status, "in_progress")
    assert rig.plans.find_report("lexer") == report
    merged = sum(isinstance(event, StateMerged) for event in rig.seen.events)
    await rig.runner.recover(calls)
    assert sum(isinstance(event, StateMerged) for event in rig.seen.events) == merged


def test_a_run_that_said_that_its_task_failed_has_failed() -> None:
    said = SubagentOutcome.of(report_of("fail_task", Outcome.OK))
    assert said.status is RunStatus.FAILED
    assert "it cannot be done as planned" in said.message
    assert SubagentOutcome.of(report_of("fail_task", Outcome.ERROR)).status is RunStatus.COMPLETED
    assert SubagentOutcome.of(report_of("read_file", Outcome.OK)).status is RunStatus.COMPLETED
