"""fail_task: a subagent says that its task of the plan cannot be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import ToolTraits
from quorum.domain.errors import ToolError
from quorum.domain.plan.plan import FAIL_TASK
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.tools.builtin.parts import require_text

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

TRAITS = ToolTraits(telling=("reason",), kind="think", is_conditional=True)


def build(parts: ToolParts) -> FailTask | None:
    """The tool; there only for a subagent that carries out a task of a plan."""
    return FailTask() if parts.is_owned and parts.asker.plan_task else None


class FailTask:
    """Says it: the record of the call is what counts. Only subagents that carry out tasks of a plan have it."""

    def __init__(self) -> None:
        self.definition = ToolDefinition(
            name=FAIL_TASK,
            description=(
                "Say that your task cannot be done, or not as it is meant. What comes after it in the plan "
                "does not begin then. Call it at most once, before your last message."
            ),
            parameters=(
                ToolParameter(
                    name="reason",
                    type="string",
                    description="Why, and what would have to change, in a sentence or two.",
                    required=True,
                ),
            ),
            risk=RiskLevel.LOW,
            access=lambda _arguments: Access(),
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """What the subagent does next. Raises ToolError without a reason."""
        if not require_text(arguments, "reason").strip():
            raise ToolError("reason is empty; say why the task cannot be done")
        return "It is noted that the task failed. Say in your last message what is done, what is not, and why."
