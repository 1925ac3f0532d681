"""update_plan: the model's own list of steps, for the person to follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import OutputKind, ToolTraits
from quorum.domain.errors import ToolError
from quorum.domain.text.json_value import JsonObject, JsonValue

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

_MARKS = {"pending": "○", "in_progress": "●", "done": "✓"}
# Other words for a status, as models and other programs write them.
_SYNONYMS = {
    "": "pending",
    "todo": "pending",
    "to_do": "pending",
    "open": "pending",
    "not_started": "pending",
    "inprogress": "in_progress",
    "doing": "in_progress",
    "active": "in_progress",
    "started": "in_progress",
    "complete": "done",
    "completed": "done",
    "finished": "done",
}
_ITEM: JsonObject = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "minLength": 1, "description": "The step in a few words."},
        "status": {"type": "string", "description": "pending (if left out), in_progress or done."},
    },
    "required": ["text"],
    "additionalProperties": False,
}

TRAITS = ToolTraits(verb="plan", output=OutputKind.PLAN, kind="think")


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
                    description="All steps of the plan, each with its text and status.",
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
        items = arguments.get("items")
        if not isinstance(items, Sequence) or isinstance(items, str):
            raise ToolError("items must be a list of {text, status}")
        steps = [_read_step(item, place) for place, item in enumerate(items)]
        running = [str(place) for place, (status, _) in enumerate(steps) if status == "in_progress"]
        if len(running) > 1:
            raise ToolError(f"items {', '.join(running)} are all in_progress: at most one may be")
        plan: JsonValue = [{"text": label, "status": status} for status, label in steps]
        context.controls.modify(lambda state: state.having("plan", plan))
        if not steps:
            return "the plan is empty"
        return "\n".join(f"{n} {_MARKS[status]} {label}" for n, (status, label) in enumerate(steps, start=1))


def _read_step(item: JsonValue, place: int) -> tuple[str, str]:
    if not isinstance(item, Mapping):
        raise ToolError(f"items[{place}] must be an object with text and status")
    status, label = _read_status(item.get("status")), item.get("text")
    if not isinstance(label, str) or not label.strip():
        raise ToolError(f"items[{place}].text must say what the step is")
    if status is None:
        raise ToolError(f"items[{place}].status must be one of {', '.join(_MARKS)}")
    return status, " ".join(label.split())


def _read_status(given: JsonValue) -> str | None:
    """The status that a word stands for; None where it stands for none. What is missing is pending."""
    if given is None:
        return "pending"
    if not isinstance(given, str):
        return None
    word = "_".join(given.casefold().replace("-", " ").replace("_", " ").split())
    word = _SYNONYMS.get(word, word)
    return word if word in _MARKS else None
