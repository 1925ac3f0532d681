"""create_plan: puts a plan to the person; approved, it is the scope of the work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from quorum.application.calls.tool_set import ToolSet
from quorum.application.plan_service import PlanService
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import ToolTraits
from quorum.domain.errors import ToolError
from quorum.domain.plan.plan import RUN_TASK, UPDATE_TASK, BadPlan, Plan, read_plan
from quorum.domain.review.plan_terms import CREATE_PLAN
from quorum.domain.text.json_value import JsonObject

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

_TEXTS: JsonObject = {"type": "array", "items": {"type": "string"}}
_TASK: JsonObject = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "A short name: letters, digits, - and _."},
        "description": {"type": "string", "description": "What is done, and how one can tell that it is done."},
        "depends_on": {**_TEXTS, "description": "The ids of tasks that must be done before."},
        "writes": {
            **_TEXTS,
            "description": "Patterns of the files it writes, from the workspace: src/parser/*.py, docs/**.",
        },
        "commands": {
            **_TEXTS,
            "description": "Patterns of the shell commands it runs, word by word: pytest tests/parser *. "
            "A * at the end stands for any further words.",
        },
    },
    "required": ["id", "description"],
    "additionalProperties": False,
}

TRAITS = ToolTraits(
    verb="plan",
    title="Approve this plan",
    telling=("objective",),
    counted={"tasks": "task"},
    kind="think",
    is_owners=True,
    is_planners=True,
)


def build(parts: ToolParts) -> CreatePlan:
    return CreatePlan(parts.plans, str(parts.root), tools=parts.get_tool_set)


class CreatePlan:
    """Puts the plan in force if a person was asked about it; where nobody can be, hands it over unapproved.

    `tools` answers which tools the session has, once it is complete.
    """

    def __init__(self, plans: PlanService, cwd: str, tools: Callable[[], ToolSet] | None = None) -> None:
        self._plans, self._cwd, self._tools = plans, cwd, tools
        self.definition = ToolDefinition(
            name=CREATE_PLAN,
            description=(
                "You are making a plan: look at what you need with the other tools, change nothing, then call "
                "this once with the whole plan. The person approves, edits or rejects it. Once it is approved "
                "you carry it out: what a task declares to write and run then needs no further question, and "
                "everything else is asked about, so declare all of it, and no more."
            ),
            parameters=(
                ToolParameter(
                    name="objective", type="string", description="What is to be reached.", required=True
                ),
                ToolParameter(
                    name="reasoning",
                    type="string",
                    description="Why like this, and what else was considered.",
                    required=True,
                ),
                ToolParameter(name="tasks", type="array", description="The tasks.", required=True, items=_TASK),
            ),
            risk=RiskLevel.LOW,
            access=lambda _arguments: Access.of(writes={"state:plan"}),
        )

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """Touches nothing. Raises ToolError for what is no plan, before anybody is asked about it."""
        _read(arguments)
        return Seal(cwd=self._cwd)

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """Tell the model what became of the plan."""
        plan = _read(arguments)
        if not context.controls.was_asked:
            await self._plans.propose(plan, context)
            return "The plan is made. Nobody is there to approve it, so the run ends with it."
        await self._plans.put_in_force(plan, context)
        order = ", ".join(task.id for task in plan.ordered)
        return (
            f"The person approved the plan (sha256 {plan.digest[:12]}). Carry it out now, in this order: "
            f"{order}. {self._describe_way()}Call {UPDATE_TASK} when you start a task, and when it is done or "
            "has failed. What lies outside of what the tasks declare is asked about."
        )

    def _describe_way(self) -> str:
        """Who carries the tasks out, where that cannot be a subagent."""
        if self._tools is None or self._tools().find(RUN_TASK) is not None:
            return ""
        return f"There is no {RUN_TASK} here: carry out each task yourself, one after the other. "


def _read(arguments: JsonObject) -> Plan:
    try:
        return read_plan(arguments)
    except BadPlan as problem:
        raise ToolError(f"this is no plan: {problem}") from problem
