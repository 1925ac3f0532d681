"""The plans of one session: the scope it works in, the plan that is in force, and how far it is."""

from __future__ import annotations

from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.application.ports.workspace import PlanChanges
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.code_review.change import ChangeBase
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import PlanRefused, ToolError
from quorum.domain.events.event import (
    FinalReviewDropped,
    PhaseScopeChanged,
    PlanApproved,
    PlanProposed,
    PlanWithdrawn,
    StateMerged,
)
from quorum.domain.goal import PROPOSE_CHECKS
from quorum.domain.plan.plan import RUN_TASK, UPDATE_TASK, PhaseScope, Plan, SessionPhase
from quorum.domain.plan.progress import PLAN_VALUE, PlanProgress, TaskStatus, name_report
from quorum.domain.sessions.state import SessionState
from quorum.domain.text.json_value import JsonObject, JsonValue


def read_progress(state: SessionState) -> PlanProgress | None:
    """How far the plan is that is in force; None where there is none."""
    approved = state.phase.approved
    return PlanProgress.read(approved.plan, state.values.get("plan")) if approved is not None else None


_UPDATE_PLAN = "update_plan"
_ALL_DONE = "all its tasks are done"


class PlanService:
    """Puts plans in force and withdraws them.

    Where the session stands is read from its events, so that what is recorded, undone or redone is what holds.
    `scope` is the one that a new session begins with; a resumed one does, too, where `is_asked_for`. What
    a plan led to is reviewed in the end where there are `changes` that read it.
    """

    def __init__(
        self,
        *,
        events: EventBus,
        kind: SessionKind,
        scope: PhaseScope = PhaseScope.FULL,
        is_asked_for: bool = False,
        changes: PlanChanges | None = None,
    ) -> None:
        self._events = events
        self._changes = changes
        self._kind = kind
        self._scope, self._is_asked_for = scope, is_asked_for

    @property
    def phase(self) -> SessionPhase:
        """Whether a plan is being made, and which one is in force."""
        return self._events.phase

    @property
    def progress(self) -> PlanProgress | None:
        """How far the plan is that is in force; None where there is none."""
        return read_progress(self._events.state)

    async def begin(self, *, is_resumed: bool) -> None:
        """Have the session begin with its scope. A plan whose last task was done when the process before this
        one ended is in force no more."""
        if is_resumed and self.progress is not None and self.progress.is_done:
            await self.withdraw(_ALL_DONE)
        if self._kind is SessionKind.AGENT and (self._is_asked_for or not is_resumed):
            await self.set_scope(self._scope)

    async def set_scope(self, scope: PhaseScope) -> None:
        """Have the session go this far from now on. Raises PlanRefused where it cannot make plans."""
        if scope is self.phase.scope:
            return
        if self._kind is SessionKind.EXTERNAL:
            raise PlanRefused("the agent of this session plans by itself: say in a prompt that it should")
        if self._kind is not SessionKind.AGENT:
            raise PlanRefused("this session changes nothing, so there is nothing to plan")
        await self._events.record(PhaseScopeChanged(scope=scope))

    async def leave(self) -> None:
        """Stop making a plan: the session goes as far as before."""
        if self.phase.is_planning:
            await self.set_scope(self.phase.later)

    async def put_in_force(self, plan: Plan, context: ToolExecutionContext) -> None:
        """Put a plan in force that a person has approved. Raises LedgerError, and then it is not."""
        base, problem = await self._read_base()
        approved = PlanApproved(context=context, plan=plan, digest=plan.digest, base=base)
        await self._events.announce(approved, urgent=True)
        if problem:
            await self._events.record(FinalReviewDropped(reason=problem))
        await self._events.record(
            StateMerged(
                batch_id=context.batch_id, changed={PLAN_VALUE: PlanProgress.read(plan, None).to_steps()}
            )
        )

    async def _read_base(self) -> tuple[ChangeBase | None, str]:
        """What a final review counts from; None without one, and why there is none although it is wanted."""
        if self._changes is None:
            return None, ""
        if self.phase.is_fast:
            return None, "in the scope fast no other model looks at a plan"
        try:
            return await self._changes.read_base(), ""
        except ToolError as problem:
            return None, str(problem)

    async def begin_task(self, task_id: str, context: ToolExecutionContext) -> PlanProgress:
        """Record that a task begins, before it does. Raises PlanRefused, TaskRefused and LedgerError."""
        progress = self._get_progress().mark(task_id, TaskStatus.IN_PROGRESS)
        await self._events.announce(_describe_progress(progress, context))
        return progress

    async def end_task(
        self, task_id: str, status: TaskStatus, context: ToolExecutionContext, *, report: str | None = None
    ) -> PlanProgress:
        """Record how a task stands, and what its subagent reported, if it had one.

        With the last task done the plan is in force no more. Raises PlanRefused and TaskRefused.
        """
        progress = self._get_progress().mark(task_id, status)
        await self._events.record(_describe_progress(progress, context, task_id, report))
        if progress.is_done:
            await self.withdraw(_ALL_DONE)
        return progress

    def find_report(self, task_id: str) -> str | None:
        """What the subagent of a task reported; None where it had none."""
        report = self._events.state.values.get(name_report(task_id))
        return report if isinstance(report, str) else None

    async def propose(self, plan: Plan, context: ToolExecutionContext) -> None:
        """Record a plan that nobody can approve. Raises LedgerError."""
        await self._events.announce(PlanProposed(context=context, plan=plan, digest=plan.digest))

    async def withdraw(self, reason: str) -> None:
        """Have the approved plan in force no more, or else have no review of one that was carried out. Raises
        PlanRefused where there is neither."""
        if self.phase.approved is not None:
            await self._events.record(PlanWithdrawn(reason=reason))
        elif self.phase.review is not None:
            await self._events.record(FinalReviewDropped(reason=reason))
        else:
            raise PlanRefused("no plan is in force")

    def _get_progress(self) -> PlanProgress:
        if (progress := self.progress) is None:
            raise PlanRefused("no plan is in force")
        return progress


def _describe_progress(
    progress: PlanProgress, context: ToolExecutionContext, task_id: str = "", report: str | None = None
) -> StateMerged:
    changed: dict[str, JsonValue] = {PLAN_VALUE: progress.to_steps()}
    if report is not None:
        changed[name_report(task_id)] = report
    return StateMerged(batch_id=context.batch_id, changed=changed)


class PhaseTools:
    """The tools that the model is offered in the present phase: what only reads while a plan is made, and what
    proposes checks while there is a goal without any."""

    def __init__(self, events: EventBus, tools: ToolSet) -> None:
        self._events, self._tools = events, tools

    def list_schemas(self) -> tuple[JsonObject, ...]:
        """Their neutral schemas, for the next request."""
        return tuple(each for each in self._tools.list_schemas() if self._is_offered(str(each.get("name"))))

    def _is_offered(self, name: str) -> bool:
        phase = self._events.phase
        if name == PROPOSE_CHECKS:
            goal = self._events.state.goal
            return goal is not None and goal.is_open and not goal.checks and not phase.is_planning
        if phase.is_planning:
            tool = self._tools.find(name)
            only_reads = tool is not None and tool.definition.risk is RiskLevel.LOW
            return only_reads and name not in (RUN_TASK, UPDATE_TASK, _UPDATE_PLAN)
        match name:
            case "create_plan":
                return False
            case "run_task" | "update_task":
                return phase.approved is not None
            case "update_plan":  # the list of steps is that of the approved plan
                return phase.approved is None
            case _:
                return True
