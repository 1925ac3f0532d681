"""Where a session stands with plans, replayed from its events."""

from __future__ import annotations

from domain.events.event import PhaseScopeChanged, PlanApproved, PlanWithdrawn
from domain.plan.phase import SessionPhase
from domain.plan.reading import BadPlan, check_plan

_NOT_WHOLE = "an approved plan was not kept as it was approved, so it is in force no more"


class ReplayedPhase:
    """Keeps up with the scope and the approved plan, and remembers them for each turn.

    `mended` says in sentences which recorded plan does not fit its approval.
    """

    def __init__(self) -> None:
        self.current = SessionPhase()
        self.mended: list[str] = []
        self._before: list[SessionPhase] = []
        self._undone: dict[tuple[int, ...], SessionPhase] = {}

    def take(self, event: PhaseScopeChanged | PlanApproved | PlanWithdrawn) -> None:
        """Apply what happened with plans."""
        match event:
            case PhaseScopeChanged(scope=scope):
                self.current = self.current.enter(scope)
            case PlanApproved():
                self._approve(event)
            case PlanWithdrawn():
                self.current = self.current.withdraw()

    def begin_turn(self) -> None:
        """Remember what there is before another turn. What was undone stays so."""
        self._before.append(self.current)
        self._undone.clear()

    def rewind(self, turn: int, turns: tuple[int, ...]) -> None:
        """Return to before this turn, which takes `turns` back."""
        if 0 <= turn < len(self._before):
            self._undone[turns] = self.current
            self.current = self._before[turn]

    def redo(self, turns: tuple[int, ...]) -> None:
        """Bring back what there was before these turns were undone."""
        self.current = self._undone.pop(turns, self.current)

    def _approve(self, event: PlanApproved) -> None:
        try:
            plan = check_plan(event.plan)
        except BadPlan:
            plan = None
        if plan is None or plan.digest != event.digest:
            self.current = self.current.withdraw()
            self.mended.append(_NOT_WHOLE)
        else:
            self.current = self.current.approve(plan)
