"""update_plan: the model's own list of steps, for the person to follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import OutputKind, ToolTraits
from quorum.domain.plan.progress import encode_step_list, read_step_list, render_step_list
from quorum.domain.text.json_value import JsonObject

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

_ITEM: JsonObject = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "minLength": 1},
        "status": {"type": "string", "description": "pending (default), in_progress or done."},
    },
    "required": ["text"],
    "additionalProperties": False,
}

TRAITS = ToolTraits(verb="plan", counted={"items": "step"}, output=OutputKind.PLAN, kind="think")


def build(parts: ToolParts) -> UpdatePlan:
    return UpdatePlan()


class UpdatePlan:
    """Takes the whole plan anew, puts it into the run's state, and gives it back as text."""

    def __init__(self) -> None:
        self.definition = ToolDefinition(
            name="update_plan",
            description=(
                "Show the person your plan for a task of several steps. Give the complete list each time, "
                "in order; at most one item may be in_progress. Update it as soon as a step is done."
            ),
            parameters=(
                ToolParameter(
                    name="items",
                    type="array",
                    description="All steps, each in a few words.",
                    required=True,
                    items=_ITEM,
                ),
            ),
            risk=RiskLevel.LOW,
            access=lambda _arguments: Access.of(writes={"state:plan"}),
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """One step a line: number, mark, text. Raises ToolError if the list is no plan.

        The plan becomes the value `plan` of the run's state, as a list of {text, status}.
        """
        steps = read_step_list(arguments.get("items"))
        plan = encode_step_list(steps)
        context.controls.modify(lambda state: state.having("plan", plan))
        return render_step_list(steps)
