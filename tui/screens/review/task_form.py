"""The form of a plan's tasks, of which each can be dropped or kept."""

from __future__ import annotations

from typing import ClassVar

from quorum.domain.plan.plan import Plan, PlanTask
from quorum.domain.plan.task_choice import TaskChoice
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.review.text.rows import LineKind, Row, StyledPart
from quorum.tui.screens.review.widgets import Rows
from quorum.tui.transcript.cells.lines import fit_text

_BESIDE_TEXT = 4
_MOST_ROWS = {False: 5, True: 10}


class TaskForm(Rows):
    """Lists the tasks with boxes, one of them marked, and what depends on the marked one below."""

    DEFAULT_CSS: ClassVar[str] = """
    TaskForm {
        margin-top: 1;
    }
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__(id="task_form")
        self._most = _MOST_ROWS[False]
        self.propose(plan)

    def propose(self, plan: Plan) -> None:
        """Hold the tasks of this plan, all of them kept, from the next drawing on."""
        self.choice, self._place = TaskChoice(plan), 0

    def mark(self, step: int) -> None:
        """Mark the next task, or the one before."""
        self._place = (self._place + step) % len(self.choice.plan.tasks)
        self._draw()

    def toggle(self) -> None:
        """Drop the marked task, or keep it again."""
        self.choice = self.choice.toggle(self._marked.id)
        self._draw()

    def on_mount(self) -> None:
        self._draw()

    def lay_out(self, *, roomy: bool) -> int:
        """Take the lines that belong to the room there is; how many these are, the margin included."""
        self._most = _MOST_ROWS[roomy]
        if self.is_mounted:
            self._draw()
        return 2 + self._shown

    @property
    def _marked(self) -> PlanTask:
        return self.choice.plan.tasks[self._place]

    @property
    def _shown(self) -> int:
        return min(self._most, len(self.choice.plan.tasks))

    def _draw(self) -> None:
        width, tasks = self.app.size.width - _BESIDE_TEXT, self.choice.plan.tasks
        first = max(0, min(self._place - self._shown // 2, len(tasks) - self._shown))
        rows = [self._build_row(task, width) for task in tasks[first : first + self._shown]]
        note = (StyledPart(fit_text(self._explain(len(tasks)), width), LineKind.QUIET),)
        self.show([*rows, note], height=self._shown + 1)

    def _build_row(self, task: PlanTask, width: int) -> Row:
        is_dropped = task.id in self.choice.dropped
        head = f"{'>' if task is self._marked else ' '} [{' ' if is_dropped else 'x'}] "
        text = fit_text(make_printable(f"{task.id}: {task.description}", newlines=False), width - len(head))
        kind = LineKind.QUIET if is_dropped else LineKind.STRONG if task is self._marked else LineKind.PLAIN
        return (StyledPart(head, kind), StyledPart(text, kind))

    def _explain(self, count: int) -> str:
        task_id, place = self._marked.id, f"{self._place + 1} of {count}"
        if behind := ", ".join(self.choice.list_behind(task_id)):
            return f"{place} · {behind} cannot be done without {task_id}"
        return f"{place} · no other task depends on {task_id}"
