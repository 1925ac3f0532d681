"""What is typed and chosen in a review: one form for each stage that needs one."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from textual.widget import Widget

from quorum.domain.review.questions import ReviewRequest
from quorum.tui.screens.review.keys import Stage
from quorum.tui.screens.review.offer_form import OfferForm, select_readable_offer
from quorum.tui.screens.review.rule_form import RuleForm, select_offered
from quorum.tui.screens.review.task_form import TaskForm
from quorum.tui.screens.review.text.plan import find_plan, find_plan_text
from quorum.tui.screens.review.widgets import CallEditor, ReasonLine

if TYPE_CHECKING:
    from quorum.application.ports.people import ReviewContext

_EDITOR_LINES = 8


class ReviewForms:
    """The forms of one card. Each is made when it is first wanted, and kept for further requests.

    `offer` are the rules that the request offers, if all of them can be read.
    """

    def __init__(self, request: ReviewRequest, review_context: ReviewContext) -> None:
        self._made: dict[Stage, Widget] = {}
        self.rule = RuleForm(request.proposals, review_context.preview)
        self.propose(request, review_context)

    def propose(self, request: ReviewRequest, review_context: ReviewContext) -> None:
        """Hold what belongs to this request, and nothing of what was typed or chosen before."""
        self.can_rule = bool(select_offered(request.proposals))
        self.rule.propose(request.proposals, review_context.preview, review_context.replay)
        self.offer = select_readable_offer(request.offer)
        self.offered: OfferForm | None = None
        if self.offer is not None:
            form = self._made.get("offering")
            self.offered = form if isinstance(form, OfferForm) else OfferForm(self.offer)
            self.offered.propose(self.offer, review_context.replay)
        self.tasks: TaskForm | None = None
        is_editable = not request.is_elsewhere and find_plan_text(request.packet) is not None
        if is_editable and (plan := find_plan(request.packet)) is not None and len(plan.tasks) > 1:
            tasks = self._made.get("dropping")
            self.tasks = tasks if isinstance(tasks, TaskForm) else TaskForm(plan)
            self.tasks.propose(plan)
        if isinstance(reason := self._made.get("reasoning"), ReasonLine):
            reason.clear()

    def find(self, stage: Stage) -> tuple[Widget | None, bool]:
        """The form of a stage, if it has one, and whether it was only made now."""
        if (form := self._made.get(stage)) is not None:
            return form, False
        if (form := self._make(stage)) is not None:
            self._made[stage] = form
        return form, form is not None

    def show(self, shown: Widget | None) -> None:
        """Show this form and no other."""
        for form in self._made.values():
            form.display = form is shown

    def focus(self, form: Widget | None, otherwise: Widget) -> None:
        """Have what is typed go to the form, or keys to the choices where nothing is typed into it."""
        if form is self.rule:
            self.rule.open()
        elif form is None or form in (self.offered, self.tasks):
            otherwise.focus()
        else:
            form.focus()

    def lay_out(self, stage: Stage, *, roomy: bool, width: int) -> int:
        """Have the forms take the lines that belong to the room; how many that of the stage takes."""
        self.rule.lay_out(roomy=roomy)
        lines = {"reasoning": 2, "editing": 1 + _EDITOR_LINES, "ruling": self.rule.lines}
        if self.offered is not None:
            lines["offering"] = self.offered.lay_out(roomy=roomy, width=width)
        if self.tasks is not None:
            lines["dropping"] = self.tasks.lay_out(roomy=roomy)
        return lines.get(stage, 0)

    def _make(self, stage: Stage) -> Widget | None:
        match stage:
            case "reasoning":
                return ReasonLine()
            case "editing":
                return CallEditor()
            case "ruling":
                return self.rule
            case "offering":
                return self.offered
            case "dropping":
                return self.tasks
            case "choosing" | "listing" | "polling" | "detailing":
                return None
            case _:
                assert_never(stage)
