"""How far the plan of a session is, read from its state."""

from __future__ import annotations

from quorum.domain.plan.progress import PlanProgress
from quorum.domain.sessions.state import SessionState


def read_progress(state: SessionState) -> PlanProgress | None:
    """How far the plan is that is in force; None where there is none."""
    approved = state.phase.approved
    return PlanProgress.read(approved.plan, state.values.get("plan")) if approved is not None else None
