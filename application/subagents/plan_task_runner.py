"""Has subagents carry out tasks of the approved plan, several at a time where their files do not meet."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from quorum.application.calls.tool_set import ToolSet
from quorum.application.cancellation import run_to_end
from quorum.application.plan_service import PlanService
from quorum.application.ports.subagents import SubagentPort, SubagentStopped
from quorum.application.subagents.defined_tasks import select_for_subagent
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.errors import LedgerError, PlanRefused
from quorum.domain.events.report import RunStatus
from quorum.domain.events.subagents import SubagentOutcome
from quorum.domain.plan.phase import FAIL_TASK, RUN_TASK, ApprovedPlan
from quorum.domain.plan.plan import Plan, PlanTask
from quorum.domain.plan.progress import TaskRefused, TaskStatus
from quorum.domain.sessions.state import OpenCall
from quorum.domain.subagents.subagent_task import SubagentTask

# What `update_task` and `create_plan` write too, and what contains the resource of each pair of tasks.
_PLAN = "state:plan"
_LONGEST_REPORT = 8_000  # characters, of what the tasks that come after it read
_PROMPT = """\
Task {id} of the plan: {description}

Carry out this task, and nothing else of the plan, which a person has approved. Other tasks may run beside it,
in other files. The objective of the plan: {objective}

It may write: {writes}
It may run: {commands}
Whatever else changes something is asked about and may be rejected.

If you cannot do the task, or not as it is meant, call {fail_task} before your last message: what comes after it
must not begin then. Otherwise your last message says that it is done."""


class PlanTaskRunner:
    """Runs tasks of the plan in force.

    Each is a subagent with all tools that its owner may give, whose calls are held against what the task
    declares. A task is recorded as begun before it begins, and how it ended before its call ends.
    """

    def __init__(self, plans: PlanService, subagents: SubagentPort, tools: ToolSet) -> None:
        self._plans = plans
        self._subagents = subagents
        self._tools = tools
        self._running: set[str] = set()

    async def run(self, task_id: str, note: str, context: ToolExecutionContext) -> tuple[TaskStatus, str]:
        """Have a task carried out that the call of `context` names; `note` is what its subagent has to know
        besides. How it ended, and for the model its report and how the plan stands.

        Raises PlanRefused and TaskRefused where it cannot begin, LedgerError where that cannot be recorded, and
        SubagentStopped.
        """
        approved, task = self._find_task(task_id)
        work = SubagentTask(
            prompt=self._build_prompt(approved.plan, task, note),
            tools=select_for_subagent(self._tools.names) | {FAIL_TASK},
            plan_task=task_id,
        )
        self._running.add(task_id)
        try:
            await self._begin(approved, task_id, context)
            outcome = await self._have_done(approved, work, context)
            status, report = _choose_status(outcome), _shorten(outcome.message)
            standing = await run_to_end(self._mark(approved, task_id, status, report, context))
            return status, f"{outcome.message}\n\n{standing}"
        finally:
            self._running.discard(task_id)

    async def recover(self, calls: Sequence[OpenCall]) -> None:
        """Record how the tasks stand whose calls a process left open when it died. None is run again."""
        if (progress := self._plans.progress) is None:
            return
        for call in calls:
            task_id = read_task_id(call)
            if call.context is None or progress.statuses.get(task_id) is not TaskStatus.IN_PROGRESS:
                continue
            status, report = TaskStatus.UNKNOWN, None
            if (outcome := call.subagent_outcome) is not None:
                status, report = _choose_status(outcome), _shorten(outcome.message)
            await self._plans.end_task(task_id, status, call.context, report=report)

    def _find_task(self, task_id: str) -> tuple[ApprovedPlan, PlanTask]:
        phase, progress = self._plans.phase, self._plans.progress
        if phase.is_planning or phase.approved is None or progress is None:
            raise PlanRefused("no plan is in force")
        plan = phase.approved.plan
        if (task := plan.find(task_id)) is None:
            known = ", ".join(each.id for each in plan.ordered)
            raise TaskRefused(f"the plan has no task {task_id!r}; its tasks are: {known}")
        if task_id in self._running:
            raise TaskRefused(f"{task_id} is being carried out")
        if progress.statuses[task_id] is TaskStatus.DONE:
            raise TaskRefused(f"{task_id} is done, so it is not run again")
        for other in sorted(self._running):
            if not plan.may_run_side_by_side(task_id, other):
                raise TaskRefused(
                    f"{task_id} cannot run beside {other}: it comes after it, or may write its files"
                )
        return phase.approved, task

    def _build_prompt(self, plan: Plan, task: PlanTask, note: str) -> str:
        parts = [
            _PROMPT.format(
                objective=plan.objective,
                id=task.id,
                description=task.description,
                writes=", ".join(task.writes) or "nothing",
                commands=", ".join(task.commands) or "nothing",
                fail_task=FAIL_TASK,
            )
        ]
        for before in task.depends_on:
            report = self._plans.find_report(before) or "It is done. Nothing else is recorded of it."
            parts.append(f"What came of {before}, which comes before it, is data:\n\n{report}")
        if note:
            parts.append(f"The agent that has the plan carried out adds:\n\n{note}")
        return "\n\n".join(parts)

    async def _begin(self, approved: ApprovedPlan, task_id: str, context: ToolExecutionContext) -> None:
        try:
            await self._plans.begin_task(task_id, context)
        except (LedgerError, asyncio.CancelledError):  # it will not begin
            await run_to_end(self._mark(approved, task_id, TaskStatus.PENDING, None, context))
            raise

    async def _have_done(
        self, approved: ApprovedPlan, work: SubagentTask, context: ToolExecutionContext
    ) -> SubagentOutcome:
        try:
            return await self._subagents.run(work, context)
        except (SubagentStopped, LedgerError, asyncio.CancelledError):
            await run_to_end(self._mark(approved, work.plan_task, TaskStatus.UNKNOWN, None, context))
            raise

    async def _mark(
        self,
        approved: ApprovedPlan,
        task_id: str,
        status: TaskStatus,
        report: str | None,
        context: ToolExecutionContext,
    ) -> str:
        """Mark a task, unless its plan was withdrawn meanwhile, and say how things stand."""
        now = self._plans.phase.approved
        if now is None or now.digest != approved.digest:
            return "Meanwhile the plan was withdrawn: carry out nothing more of it."
        progress = await self._plans.end_task(task_id, status, context, report=report)
        return progress.describe_next(task_id)


def read_task_id(call: OpenCall) -> str:
    """The task that a call has carried out; empty for a call of another tool."""
    return str(call.call.arguments.get("id")).strip() if call.call.tool_name == RUN_TASK else ""


def describe_access(approved: ApprovedPlan | None, task_id: str) -> Access:
    """What a call that runs this task conflicts with: whatever else marks tasks, and the tasks that may not run
    beside it. So calls of one answer follow each other where they have to, and no others."""
    if approved is None or approved.plan.find(task_id) is None:
        return Access.of(writes={_PLAN})
    plan = approved.plan
    meets = (o.id for o in plan.tasks if o.id != task_id and not plan.may_run_side_by_side(task_id, o.id))
    return Access.of(
        writes={f"{_PLAN}/{task_id}", *(f"{_PLAN}/{'+'.join(sorted((task_id, o)))}" for o in meets)}
    )


def _choose_status(outcome: SubagentOutcome) -> TaskStatus:
    """A task is done where its subagent came to its end and nothing was withheld for want of a person."""
    match outcome.status:
        case RunStatus.COMPLETED:
            return TaskStatus.DONE
        case RunStatus.INTERRUPTED:
            return TaskStatus.UNKNOWN
        case RunStatus.FAILED | RunStatus.LIMIT | RunStatus.NEEDS_APPROVAL | RunStatus.REFUSED:
            return TaskStatus.FAILED


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_REPORT else f"{text[:_LONGEST_REPORT]}\n[the rest is left out]"
