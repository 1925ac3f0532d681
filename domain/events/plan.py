"""Plans: whether one is being made, and what became of those that were proposed."""

from __future__ import annotations

from typing import ClassVar

from domain.calls.execution import ToolExecutionContext
from domain.code_review.change import ChangeBase
from domain.lazy_dataclass import dataclass
from domain.plan.phase import PhaseScope
from domain.plan.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseScopeChanged:
    """From now on the session goes this far."""

    type: ClassVar = "phase_scope_changed"
    durable: ClassVar = True
    scope: PhaseScope


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReviewStarted:
    """The reviewers are to judge a plan before anybody is asked to approve it.

    `digest` is that of the packet they vote on, `plan_digest` that of the plan; `round` counts from 1. What was
    voted on the same plan in a round before is not asked for again.
    """

    type: ClassVar = "plan_review_started"
    durable: ClassVar = True
    context: ToolExecutionContext
    plan: Plan
    plan_digest: str
    digest: str
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanProposed:
    """A plan was made where nobody can approve one: the run ends with it. `digest` is that of the plan."""

    type: ClassVar = "plan_proposed"
    durable: ClassVar = True
    context: ToolExecutionContext
    plan: Plan
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanApproved:
    """A person approved the plan of this digest. It is in force from now on, in place of any other.

    `base` is the repository before it, None where what it leads to is not reviewed.
    """

    type: ClassVar = "plan_approved"
    durable: ClassVar = True
    context: ToolExecutionContext
    plan: Plan
    digest: str
    base: ChangeBase | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWithdrawn:
    """The approved plan is in force no more; `reason` says why, in a sentence."""

    type: ClassVar = "plan_withdrawn"
    durable: ClassVar = True
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalReviewDropped:
    """What a plan led to is not reviewed, though it was to be; `reason` says why, in a sentence."""

    type: ClassVar = "final_review_dropped"
    durable: ClassVar = True
    reason: str

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        return f"there is no final review of the plan: {self.reason}"
