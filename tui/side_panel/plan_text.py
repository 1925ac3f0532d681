"""The steps of a plan in words and signs: how far all of them are, and which one is where."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from quorum.application.view.present import Step, StepStatus
from quorum.domain.text.printable import make_printable

_QUIET = "$foreground 60%"
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
    StepStatus.PENDING: _QUIET,
    StepStatus.IN_PROGRESS: "$text-accent",
    StepStatus.DONE: "$text-success",
    StepStatus.FAILED: "$text-error",
    StepStatus.BLOCKED: _QUIET,
    StepStatus.UNKNOWN: "$text-warning",
}
_TEXT_STYLES = {StepStatus.IN_PROGRESS: "bold", StepStatus.DONE: _QUIET, StepStatus.BLOCKED: _QUIET}
_OVER = (StepStatus.DONE, StepStatus.BLOCKED)


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


def render_plan(plan: Sequence[Step], lines: int) -> Content:
    """The plan on at most `lines` lines, from two on. Where it needs more, steps that are over are left out
    first, then those that wait. Once all are done it is one line.
    """
    heading = Content.assemble(("Plan", "bold"), (f"  {describe_progress(plan)}", _QUIET))
    if all(step.status is StepStatus.DONE for step in plan):
        return heading
    rows = lines - 1
    shown = list(plan)
    if len(shown) > rows:
        shown = [step for step in plan if step.status not in _OVER]
    hidden = 0
    if len(shown) > rows:
        first = sorted(shown, key=lambda step: step.status is StepStatus.PENDING)
        shown, hidden = first[: rows - 1], len(shown) - rows + 1
    drawn = [heading, *map(_render_step, shown)]
    if hidden:
        drawn.append(Content(f"… {hidden} more").stylize(_QUIET))
    return Content("\n").join(drawn)


def _render_step(step: Step) -> Content:
    text = make_printable(step.text, newlines=False)
    mark = (f"{find_mark(step)} ", _MARK_STYLES[step.status])
    return Content.assemble(mark, (text, _TEXT_STYLES.get(step.status, "")))
