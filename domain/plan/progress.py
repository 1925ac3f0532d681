"""How far a plan is: the tasks of an approved one, and the steps that a model keeps with `update_plan`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from quorum.domain.errors import ToolError
from quorum.domain.plan.plan import Plan, PlanTask
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


# The value of a session's state that holds the tasks, and what the values begin with that hold their reports.
PLAN_VALUE = "plan"
_REPORT_VALUE = "plan_report:"


class TaskStatus(StrEnum):
    """How far a task is.

    BLOCKED: a task that comes before it has failed. UNKNOWN: it was begun and then interrupted, so that nobody
    can say how far it came.
    """

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


class TaskRefused(ValueError):
    """A task cannot have this status now; the message says why."""


class PlanProgress(Struct, frozen=True):
    """The status of each task of a plan, by its id."""

    plan: Plan
    statuses: Mapping[str, TaskStatus]

    @classmethod
    def read(cls, plan: Plan, steps: JsonValue) -> PlanProgress:
        """The progress that these steps tell, as `to_steps` writes them; what they leave out is pending."""
        listed = steps if isinstance(steps, list | tuple) else ()
        known = {str(step.get("id")): step.get("status") for step in listed if isinstance(step, Mapping)}
        words = {status.value: status for status in TaskStatus}
        statuses = {task.id: words.get(str(known.get(task.id)), TaskStatus.PENDING) for task in plan.tasks}
        return cls(plan, statuses)

    def to_steps(self) -> JsonValue:
        """The tasks in their order, as the value `plan` of a session's state."""
        return [
            {"id": task.id, "text": _format_first_line(task), "status": self.statuses[task.id].value}
            for task in self.plan.ordered
        ]

    @property
    def is_done(self) -> bool:
        return all(status is TaskStatus.DONE for status in self.statuses.values())

    @property
    def ready(self) -> tuple[PlanTask, ...]:
        """The tasks that can be started now, in their order."""
        return tuple(
            task
            for task in self.plan.ordered
            if self.statuses[task.id] is TaskStatus.PENDING and not self._list_missing(task)
        )

    @property
    def failed(self) -> tuple[PlanTask, ...]:
        """The tasks that failed, in their order."""
        return tuple(task for task in self.plan.ordered if self.statuses[task.id] is TaskStatus.FAILED)

    @property
    def done(self) -> int:
        """How many tasks are done."""
        return sum(status is TaskStatus.DONE for status in self.statuses.values())

    def is_blocked(self, task_id: str) -> bool:
        """Whether a task that comes before this one has failed."""
        return self.statuses[task_id] is TaskStatus.BLOCKED

    def list_blocked(self, task_id: str) -> tuple[str, ...]:
        """The ids of the tasks that wait for this one, in their order."""
        waiting = self.plan.list_dependants({task_id})
        return tuple(task.id for task in self.plan.ordered if task.id in waiting)

    def mark(self, task_id: str, status: TaskStatus) -> PlanProgress:
        """The progress with a task started, done or failed. Raises TaskRefused.

        A task that fails blocks those that depend on it, until it is started again.
        """
        task = self.plan.find(task_id)
        if task is None:
            known = ", ".join(each.id for each in self.plan.ordered)
            raise TaskRefused(f"the plan has no task {task_id!r}; its tasks are: {known}")
        if missing := self._list_missing(task):
            raise TaskRefused(f"{task_id} comes after {', '.join(missing)}, which is not done")
        statuses = {**self.statuses, task_id: status}
        for other in self.plan.ordered:
            blocked = any(statuses[id_] in (TaskStatus.FAILED, TaskStatus.BLOCKED) for id_ in other.depends_on)
            if blocked and statuses[other.id] is TaskStatus.PENDING:
                statuses[other.id] = TaskStatus.BLOCKED
            elif not blocked and statuses[other.id] is TaskStatus.BLOCKED:
                statuses[other.id] = TaskStatus.PENDING
        return PlanProgress(self.plan, statuses)

    def describe_next(self, task_id: str) -> str:
        """How things stand after a change of this task, and what can be started: sentences for the model."""
        if self.is_done:
            return "All tasks are done, and the plan with them. Sum up what was reached."
        status = self.statuses[task_id]
        parts = [f"{task_id} is {status.value.replace('_', ' ')}."]
        if status is TaskStatus.FAILED and (blocked := self.list_blocked(task_id)):
            parts.append(f"Blocked by it: {', '.join(blocked)}.")
        under_way = [t.id for t in self.plan.ordered if self.statuses[t.id] is TaskStatus.IN_PROGRESS]
        if ready := [task.id for task in self.ready]:
            parts.append(f"Can be started: {', '.join(ready)}.")
        elif not under_way:
            parts.append("No other task can be started: tell the person where things stand.")
        return " ".join(parts)

    def _list_missing(self, task: PlanTask) -> tuple[str, ...]:
        return tuple(id_ for id_ in task.depends_on if self.statuses[id_] is not TaskStatus.DONE)


def _format_first_line(task: PlanTask) -> str:
    first, _, _ = task.description.partition("\n")
    return f"{task.id}: {first}"


def name_report(task_id: str) -> str:
    """The name of the value that holds what the subagent of a task reported."""
    return f"{_REPORT_VALUE}{task_id}"


def drop_progress(values: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """The values without those of a plan: another one begins with none of its tasks begun."""
    return {
        name: value
        for name, value in values.items()
        if name != PLAN_VALUE and not name.startswith(_REPORT_VALUE)
    }
