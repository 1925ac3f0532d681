"""The list of steps that a model keeps with `update_plan`: how it is read, written and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from quorum.domain.errors import ToolError
from quorum.domain.text.json_value import JsonValue

PlanStep: TypeAlias = tuple[str, str]
"""The status of a step and its text."""

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


def read_step_list(items: JsonValue) -> tuple[PlanStep, ...]:
    """Read the steps as a model writes them. Raises ToolError if they are no plan."""
    if not isinstance(items, Sequence) or isinstance(items, str):
        raise ToolError("items must be a list of {text, status}")
    steps = tuple(_read_step(item, place) for place, item in enumerate(items))
    running = [str(place) for place, (status, _) in enumerate(steps) if status == "in_progress"]
    if len(running) > 1:
        raise ToolError(f"items {', '.join(running)} are all in_progress: at most one may be")
    return steps


def encode_step_list(steps: Sequence[PlanStep]) -> JsonValue:
    """The steps as the value `plan` of a session's state."""
    return [{"text": label, "status": status} for status, label in steps]


def render_step_list(steps: Sequence[PlanStep]) -> str:
    """One step a line: number, mark, text."""
    if not steps:
        return "the plan is empty"
    return "\n".join(_render_step(number, step) for number, step in enumerate(steps, start=1))


def describe_step_changes(before: Sequence[PlanStep], now: Sequence[PlanStep]) -> tuple[str, ...]:
    """The steps that are new or stand otherwise than before, a line each, and those that are gone."""
    left = list(before)
    lines = []
    for number, step in enumerate(now, start=1):
        if step in left:
            left.remove(step)
        else:
            lines.append(_render_step(number, step))
    kept = {label for _, label in now}
    return (*lines, *(f"− {label}" for _, label in left if label not in kept))


def _render_step(number: int, step: PlanStep) -> str:
    status, label = step
    return f"{number} {_MARKS.get(status, '○')} {label}"


def _read_step(item: JsonValue, place: int) -> PlanStep:
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
