"""Has subagents carry out tasks of the approved plan, several at a time where their files do not meet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence

from quorum.application.calls.tool_set import ToolSet
from quorum.application.cancellation import run_to_end
from quorum.application.event_bus import EventBus
from quorum.application.plan_service import PlanService
from quorum.application.ports.models import LlmGateway
from quorum.application.ports.subagents import SubagentPort, SubagentStopped
from quorum.application.turn.switchable_session import SESSIONS_OWN, complete_model_name
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.calls.tool_traits import ToolTraits, find_traits
from quorum.domain.errors import LedgerError, PlanRefused, ProviderError
from quorum.domain.events.event import NoticeGiven
from quorum.domain.events.report import RunStatus
from quorum.domain.events.subagents import SubagentOutcome
from quorum.domain.instructions.offer_list import AgentDefinition
from quorum.domain.plan.plan import FAIL_TASK, RUN_TASK, ApprovedPlan, Plan, PlanTask
from quorum.domain.plan.progress import TaskRefused, TaskStatus
from quorum.domain.sessions.state import OpenCall
from quorum.domain.subagent_task import SubagentTask

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


class DefinedTasks:
    """Makes tasks of prompts and the names of agents. A definition gives no tool that the session has not.

    `find` raises ToolError for a name that is not known. `current_model` answers which model the session has.
    """

    def __init__(
        self,
        find: Callable[[str], AgentDefinition],
        tools: ToolSet,
        current_model: Callable[[], str],
        gateway: LlmGateway,
        events: EventBus,
    ) -> None:
        self._find = find
        self._tools = tools
        self._current_model = current_model
        self._gateway = gateway
        self._events = events
        self._reported: set[str] = set()

    async def build(self, prompt: str, agent: str = "") -> SubagentTask:
        """The task; without an agent's name it is one for the usual subagent. Raises ToolError for a name that
        is not known. What of a definition cannot be had is said once."""
        if not agent:
            return SubagentTask(prompt=prompt)
        definition = self._find(agent)
        return SubagentTask(
            prompt=prompt,
            agent=definition.name,
            instructions=definition.instructions,
            tools=await self._choose_tools(definition),
            model=await self._choose_model(definition),
        )

    async def _choose_tools(self, definition: AgentDefinition) -> frozenset[str] | None:
        if definition.tools is None:
            if not definition.excluded:
                return None
            only_look = (each.name for each in self._tools.list_definitions() if each.risk is RiskLevel.LOW)
            return select_for_subagent(only_look) - frozenset(definition.excluded)
        known = select_for_subagent(self._tools.names)
        wanted = definition.wanted_tools
        if missing := [name for name in wanted if name not in known]:
            await self._report(
                f"the agent {definition.name} names tools that it cannot have here: {', '.join(missing)}"
            )
        given = known.intersection(wanted)
        added = (name for name in known - given if _comes_along(find_traits(name), given))
        return given | frozenset(added).difference(definition.excluded)

    async def _choose_model(self, definition: AgentDefinition) -> str:
        """The full name of its model; empty where that of the owner answers."""
        if definition.model in SESSIONS_OWN:
            return ""
        current = self._current_model()
        try:
            return await complete_model_name(definition.model, current, self._gateway)
        except ProviderError as error:
            await self._report(
                f"the agent {definition.name} asks for the model {definition.model}, which cannot be had: "
                f"{error}; {current} answers"
            )
            return ""

    async def _report(self, message: str) -> None:
        if message not in self._reported:
            self._reported.add(message)
            await self._events.record(NoticeGiven(message=message))


def select_for_subagent(tools: Iterable[str]) -> frozenset[str]:
    """Those of the tools that a subagent may have."""
    return frozenset(name for name in tools if not find_traits(name).is_owners)


def _comes_along(traits: ToolTraits, given: Collection[str]) -> bool:
    """Whether an agent has a tool that it does not name: to look after what runs in the background, or to read
    what a long output left out."""
    return traits.is_always_given or traits.companion_of in given
