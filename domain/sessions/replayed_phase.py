"""Where a session stands with plans, replayed from its events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from quorum.domain.events.event import (
    ChangeReviewed,
    FinalReviewDropped,
    PhaseScopeChanged,
    PlanApproved,
    PlanWithdrawn,
)
from quorum.domain.plan.phase import SessionPhase
from quorum.domain.plan.progress import PLAN_VALUE, PlanProgress
from quorum.domain.plan.reading import BadPlan, check_plan
from quorum.domain.text.json_value import JsonValue

PhaseEvent: TypeAlias = PhaseScopeChanged | PlanApproved | PlanWithdrawn | ChangeReviewed | FinalReviewDropped

_NOT_WHOLE = "an approved plan was not kept as it was approved, so it is in force no more"


class ReplayedPhase:
    """Keeps up with the scope, the approved plan and its review, and remembers them for each turn.

    `mended` says in sentences which recorded plan does not fit its approval.
    """

    def __init__(self) -> None:
        self.current = SessionPhase()
        self.mended: list[str] = []
        self._before: list[SessionPhase] = []
        self._undone: dict[tuple[int, ...], SessionPhase] = {}

    def apply(self, event: PhaseEvent, values: Mapping[str, JsonValue]) -> None:
        """Apply what happened with plans. `values` are those of the session, which tell how far a plan is."""
        match event:
            case PhaseScopeChanged(scope=scope):
                self.current = self.current.enter(scope)
            case PlanApproved():
                self._approve(event)
            case PlanWithdrawn():
                self.current = self.current.withdraw(is_done=self._is_done(values))
            case ChangeReviewed(result=result):
                self.current = self.current.conclude_review(result)
            case FinalReviewDropped():
                self.current = self.current.drop_review()

    def begin_turn(self, *, is_another_task: bool) -> None:
        """Remember what there is before another turn. What was undone stays so."""
        self._before.append(self.current)
        self._undone.clear()
        if is_another_task:
            self.end_turn()

    def end_turn(self) -> None:
        """A review that came to its result is over with its turn, or with another task of the person."""
        self.current = self.current.close_review()

    def rewind(self, turn: int, turns: tuple[int, ...]) -> None:
        """Return to before this turn, which takes `turns` back."""
        if 0 <= turn < len(self._before):
            self._undone[turns] = self.current
            self.current = self._before[turn]

    def redo(self, turns: tuple[int, ...]) -> None:
        """Bring back what there was before these turns were undone."""
        self.current = self._undone.pop(turns, self.current)

    def _is_done(self, values: Mapping[str, JsonValue]) -> bool:
        approved = self.current.approved
        return approved is not None and PlanProgress.read(approved.plan, values.get(PLAN_VALUE)).is_done

    def _approve(self, event: PlanApproved) -> None:
        try:
            plan = check_plan(event.plan)
        except BadPlan:
            plan = None
        if plan is None or plan.digest != event.digest:
            self.current = self.current.withdraw()
            self.mended.append(_NOT_WHOLE)
        else:
            self.current = self.current.approve(plan, event.base)
