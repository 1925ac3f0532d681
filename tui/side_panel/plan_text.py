"""The steps of a plan in words and signs: how far all of them are, and which one is where."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from quorum.application.view.present import Step, StepStatus
from quorum.domain.text.printable import make_printable
from quorum.tui.widgets.colours import QUIET

_MARKS = {
    StepStatus.PENDING: "○",
    StepStatus.IN_PROGRESS: "●",
    StepStatus.DONE: "✓",
    StepStatus.FAILED: "✗",
    StepStatus.BLOCKED: "–",
    StepStatus.UNKNOWN: "?",
}
# Of a plan that a person approved, as the dialog shows it.
_BOXES = {StepStatus.PENDING: "☐", StepStatus.DONE: "☑"}
_MARK_STYLES = {
    StepStatus.PENDING: QUIET,
    StepStatus.IN_PROGRESS: "$text-accent",
    StepStatus.DONE: "$text-success",
    StepStatus.FAILED: "$text-error",
    StepStatus.BLOCKED: QUIET,
    StepStatus.UNKNOWN: "$text-warning",
}
_TEXT_STYLES = {StepStatus.IN_PROGRESS: "bold"}
_TOLD = (StepStatus.IN_PROGRESS, StepStatus.FAILED, StepStatus.UNKNOWN)


def find_mark(step: Step) -> str:
    """The sign of a step: a box, where it is one of an approved plan."""
    mark = _MARKS[step.status]
    return _BOXES.get(step.status, mark) if step.is_approved else mark


def describe_progress(plan: Sequence[Step]) -> str:
    """How many steps run together, if several do, and how many of all are done."""
    done = sum(step.status is StepStatus.DONE for step in plan)
    running = sum(step.status is StepStatus.IN_PROGRESS for step in plan)
    together = f"{running} run together · " if running > 1 else ""
    return f"{together}{done} of {len(plan)}"


def render_plan_line(plan: Sequence[Step]) -> Content:
    """How many steps are done, and those that run or went wrong, in one line."""
    done = sum(step.status is StepStatus.DONE for step in plan)
    shown = sorted((step for step in plan if step.status in _TOLD), key=lambda step: _TOLD.index(step.status))
    heading = Content.assemble(("Plan", "bold"), f" {done}/{len(plan)}")
    return Content(" · ").join([heading, *map(_render_step, shown)])


def _render_step(step: Step) -> Content:
    text = make_printable(step.text, newlines=False)
    mark = (f"{find_mark(step)} ", _MARK_STYLES[step.status])
    return Content.assemble(mark, (text, _TEXT_STYLES.get(step.status, "")))
