"""run_task: a subagent carries out a task of the approved plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from quorum.application.plan_service import PlanService
from quorum.application.subagents.plan_task_runner import PlanTaskRunner, describe_access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import ToolTraits
from quorum.domain.errors import PlanRefused, ToolError
from quorum.domain.plan.plan import RUN_TASK, UPDATE_TASK
from quorum.domain.plan.progress import TaskRefused, TaskStatus
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.tools.builtin.parts import require_text
from quorum.infrastructure.tools.builtin.task import INLINE_BYTES, SUMMARY_BYTES, end_turn_when_stopped

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

TRAITS = ToolTraits(
    verb="task",
    telling=("id",),
    wording={"note": "with a note"},
    kind="think",
    is_conditional=True,
    is_owners=True,
    is_planners=True,
)


def build(parts: ToolParts) -> RunTask | None:
    """The tool; none for a subagent, whose calls its owner reviews."""
    return RunTask(parts.plans, lambda: parts.get_workers().plan_tasks) if not parts.is_owned else None


class RunTask:
    """Has a task carried out and waits for the report. Low risk: each call in it is judged by itself.

    `runner` answers who carries tasks out, once the session is complete.
    """

    def __init__(self, plans: PlanService, runner: Callable[[], PlanTaskRunner]) -> None:
        self._plans = plans
        self._runner = runner
        self.definition = ToolDefinition(
            name=RUN_TASK,
            description=(
                "Have a subagent carry out a task of the approved plan, and get its report. Call it for every "
                "task that is left, in one answer and in the order of the plan: tasks that do not depend on "
                "each other and write other files run at the same time, the others one after the other, and "
                "one that comes after a failed task is not begun. A task that takes few calls you can "
                f"carry out yourself, with {UPDATE_TASK}."
            ),
            parameters=(
                ToolParameter(name="id", type="string", description="The id of the task.", required=True),
                ToolParameter(
                    name="note",
                    type="string",
                    description="What the subagent has to know besides the plan's objective, the task's "
                    "description and the reports of the tasks before it: it sees nothing of your conversation.",
                ),
            ),
            risk=RiskLevel.LOW,
            access=lambda arguments: describe_access(plans.phase.approved, str(arguments.get("id")).strip()),
            inline_bytes=INLINE_BYTES,
            summary_bytes=SUMMARY_BYTES,
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """The report, and what can be started next. Raises ToolError where the task failed or cannot begin, and
        Interrupted where the person stopped the turn from a question about it."""
        task_id, note = require_text(arguments, "id").strip(), require_text(arguments, "note", "").strip()
        if self._plans.phase.approved is None:
            raise ToolError("no plan is in force")
        try:
            with end_turn_when_stopped():
                status, text = await self._runner().run(task_id, note, context)
        except (PlanRefused, TaskRefused) as problem:
            raise ToolError(str(problem)) from problem
        if status is not TaskStatus.DONE:
            raise ToolError(text)
        return text
