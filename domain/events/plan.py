"""Plans: whether one is being made, and what became of those that were proposed."""

from __future__ import annotations

from typing import ClassVar

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.code_review.change import ChangeBase
from quorum.domain.fact import CallStage, Fact
from quorum.domain.plan.phase import PhaseScope
from quorum.domain.plan.plan import Plan
from quorum.domain.plan.plan_text import render_plan_text
from quorum.domain.text.amounts import format_amount

_SCOPES = {
    PhaseScope.FULL: "plan mode is off",
    PhaseScope.FAST: "plan mode is off; models review no plan (fast)",
    PhaseScope.PLAN_ONLY: "plan mode: the model only looks, and proposes a plan",
}


class PhaseScopeChanged(Fact, frozen=True, kw_only=True, tag="phase_scope_changed"):
    """From now on the session goes this far."""

    scope: PhaseScope

    @property
    def sentence(self) -> str:
        """What holds from now on."""
        return _SCOPES[self.scope]


class PlanReviewStarted(Fact, frozen=True, kw_only=True, tag="plan_review_started"):
    """The reviewers are to judge a plan before anybody is asked to approve it.

    `digest` is that of the packet they vote on, `plan_digest` that of the plan; `round` counts from 1. What was
    voted on the same plan in a round before is not asked for again.
    """

    place: ClassVar = CallStage.PLAN_REVIEW
    context: ToolExecutionContext
    plan: Plan
    plan_digest: str
    digest: str
    round: int


class PlanProposed(Fact, frozen=True, kw_only=True, tag="plan_proposed"):
    """A plan was made where nobody can approve one: the run ends with it. `digest` is that of the plan."""

    place: ClassVar = CallStage.PLAN_PROPOSED
    context: ToolExecutionContext
    plan: Plan
    digest: str

    @property
    def sentence(self) -> str:
        """What was made."""
        tasks = format_amount(len(self.plan.tasks), "task")
        return f"a plan of {tasks} was made; nobody was asked to approve it"

    @property
    def details(self) -> str:
        """The plan."""
        return render_plan_text(self.plan)


class PlanApproved(Fact, frozen=True, kw_only=True, tag="plan_approved"):
    """A person approved the plan of this digest. It is in force from now on, in place of any other.

    `base` is the repository before it, None where what it leads to is not reviewed.
    """

    place: ClassVar = CallStage.PLAN_APPROVED
    context: ToolExecutionContext
    plan: Plan
    digest: str
    base: ChangeBase | None = None

    @property
    def sentence(self) -> str:
        """What was approved."""
        tasks = format_amount(len(self.plan.tasks), "task")
        return f"the plan of {tasks} is approved (sha256 {self.digest[:12]})"

    @property
    def details(self) -> str:
        """The plan."""
        return render_plan_text(self.plan)


class PlanWithdrawn(Fact, frozen=True, kw_only=True, tag="plan_withdrawn"):
    """The approved plan is in force no more; `reason` says why, in a sentence."""

    reason: str

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        return f"the plan is in force no more: {self.reason}"


class FinalReviewDropped(Fact, frozen=True, kw_only=True, tag="final_review_dropped"):
    """What a plan led to is not reviewed, though it was to be; `reason` says why, in a sentence."""

    reason: str

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        return f"there is no final review of the plan: {self.reason}"
