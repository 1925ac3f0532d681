"""update_task: how far a task of the approved plan is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorum.application.plan_service import PlanService
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import ToolTraits
from quorum.domain.errors import PlanRefused, ToolError
from quorum.domain.plan.plan import UPDATE_TASK
from quorum.domain.plan.progress import TaskRefused, TaskStatus
from quorum.domain.text.json_value import JsonObject

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

_STATUSES = {
    "started": TaskStatus.IN_PROGRESS,
    "in_progress": TaskStatus.IN_PROGRESS,
    "done": TaskStatus.DONE,
    "failed": TaskStatus.FAILED,
}

TRAITS = ToolTraits(verb="task", telling=("id", "status"), kind="think", is_owners=True, is_planners=True)


def build(parts: ToolParts) -> UpdateTask:
    return UpdateTask(parts.plans)


class UpdateTask:
    """Marks a task. With the last task done the plan is in force no more."""

    def __init__(self, plans: PlanService) -> None:
        self._plans = plans
        self.definition = ToolDefinition(
            name=UPDATE_TASK,
            description=(
                "Say that you start a task of the approved plan, that it is done, or that it has failed. A "
                "task starts when those it depends on are done; what depends on a failed one is blocked."
            ),
            parameters=(
                ToolParameter(name="id", type="string", description="The id of the task.", required=True),
                ToolParameter(name="status", type="string", choices=tuple(_STATUSES), required=True),
            ),
            risk=RiskLevel.LOW,
            access=lambda _arguments: Access.of(writes={"state:plan"}),
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """Tell the model what it can start next. Raises ToolError where no plan or no such task is there."""
        if self._plans.phase.approved is None:
            raise ToolError("no plan is in force")
        status = _STATUSES.get(str(arguments.get("status")).strip().lower())
        if status is None:
            raise ToolError("status must be started, done or failed")
        task_id = str(arguments.get("id")).strip()
        try:
            if status is TaskStatus.IN_PROGRESS:
                progress = await self._plans.begin_task(task_id, context)
            else:
                progress = await self._plans.end_task(task_id, status, context)
        except (PlanRefused, TaskRefused) as problem:
            raise ToolError(str(problem)) from problem
        return progress.describe_next(task_id)
