"""What happened with plans, in words."""

from __future__ import annotations

from domain.events.event import PhaseScopeChanged, PlanApproved, PlanProposed, PlanWithdrawn
from domain.plan.phase import PhaseScope
from domain.plan.plan_text import render_plan_text
from domain.text.amounts import format_amount

_SCOPES = {
    PhaseScope.FULL: "plan mode is off",
    PhaseScope.FAST: "plan mode is off; models review no plan (fast)",
    PhaseScope.PLAN_ONLY: "plan mode: the model only looks, and proposes a plan",
}


def describe_plan_event(
    event: PhaseScopeChanged | PlanProposed | PlanApproved | PlanWithdrawn,
) -> tuple[str, str]:
    """One sentence, and the text below it, which may be empty."""
    match event:
        case PhaseScopeChanged(scope=scope):
            return _SCOPES[scope], ""
        case PlanProposed(plan=plan):
            tasks = format_amount(len(plan.tasks), "task")
            return f"a plan of {tasks} was made; nobody was asked to approve it", render_plan_text(plan)
        case PlanApproved(plan=plan, digest=digest):
            tasks = format_amount(len(plan.tasks), "task")
            return f"the plan of {tasks} is approved (sha256 {digest[:12]})", render_plan_text(plan)
        case PlanWithdrawn(reason=reason):
            return f"the plan is in force no more: {reason}", ""
