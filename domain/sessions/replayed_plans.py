"""Where a session stands with plans, and how reviewers judged the undecided ones, replayed from its events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, assert_never

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.events.event import (
    ChangeReviewed,
    FinalReviewDropped,
    PanelConcluded,
    PhaseScopeChanged,
    PlanApproved,
    PlanProposed,
    PlanReviewStarted,
    PlanWithdrawn,
    QuorumConcluded,
    ReviewDecided,
    ReviewRequested,
    VoteCast,
)
from quorum.domain.panel.panel_answer import OpenPanel, PanelForm, PlanChoice
from quorum.domain.plan.plan import BadPlan, PlanRound, SessionPhase, check_plan
from quorum.domain.plan.progress import PLAN_VALUE, PlanProgress
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Ballot, Vote
from quorum.domain.review.plan_terms import CREATE_PLAN
from quorum.domain.review.questions import DecisionLabel
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


PlanRoundEvent: TypeAlias = (
    PlanReviewStarted
    | VoteCast
    | QuorumConcluded
    | ReviewRequested
    | ReviewDecided
    | PlanApproved
    | PlanProposed
)
_VOTES = {vote.value: vote for vote in Vote}


class ReplayedPlanRounds:
    """Keeps up with the rounds, and with the choice among plans of several models. They are over once a plan is
    approved, handed over or rejected by the person, with another prompt after a turn that had come to its end,
    and with an undo, whose redo brings them back.

    A process that died leaves its turn without an end: what was voted in it still counts.
    """

    def __init__(self) -> None:
        self.rounds: tuple[PlanRound, ...] = ()
        self.choice: PlanChoice | None = None
        self._asked: ToolExecutionContext | None = None
        self._undone: dict[tuple[int, ...], tuple[tuple[PlanRound, ...], PlanChoice | None]] = {}

    def begin_turn(self, *, is_another_task: bool) -> None:
        """Forget what was undone: it stays so. With another task the rounds are over, too."""
        self._undone.clear()
        if is_another_task:
            self._clear()

    def rewind(self, turns: tuple[int, ...]) -> None:
        """Set the rounds aside with the turns that are undone."""
        self._undone[turns] = self.rounds, self.choice
        self._clear()

    def redo(self, turns: tuple[int, ...]) -> None:
        """Bring back the rounds of before these turns were undone."""
        self.rounds, self.choice = self._undone.pop(turns, (self.rounds, self.choice))

    def conclude(self, panel: OpenPanel | None, event: PanelConcluded) -> None:
        """Keep the choice that the open panel came to, where it made plans."""
        if panel is None or panel.panel_id != event.panel_id or panel.form is not PanelForm.PLAN:
            return
        if any(each.label == event.chosen for each in panel.given):
            chosen = str(event.chosen)
            self.choice = PlanChoice(panel=panel, chosen=chosen, additions=event.additions, reason=event.reason)

    def apply(self, event: PlanRoundEvent) -> None:
        """Apply what happened to a plan that is judged. Votes on other calls are passed over."""
        match event:
            case PlanReviewStarted():
                self._start(event)
            case VoteCast():
                if (vote := _VOTES.get(event.verdict)) is not None:
                    self._add(event, vote)
            case QuorumConcluded():
                self.rounds = tuple(
                    replace(each, concluded=event) if each.digest == event.digest else each
                    for each in self.rounds
                )
            case ReviewRequested():
                if event.packet.call.tool_name == CREATE_PLAN:
                    self._asked = event.context
            case ReviewDecided(decision=DecisionLabel.REJECTED, context=context):
                if context == self._asked or any(each.context == context for each in self.rounds):
                    self._clear()
            case ReviewDecided():
                pass
            case PlanApproved() | PlanProposed():
                self._clear()
            case _:
                assert_never(event)

    def _clear(self) -> None:
        self.rounds, self.choice = (), None

    def _start(self, event: PlanReviewStarted) -> None:
        known = (each.ballots for each in reversed(self.rounds) if each.plan_digest == event.plan_digest)
        ballots = tuple(ballot for ballot in next(known, ()) if ballot.vote is not Vote.ERROR)
        begun = PlanRound(
            number=event.round,
            context=event.context,
            plan=event.plan,
            plan_digest=event.plan_digest,
            digest=event.digest,
            ballots=ballots,
        )
        self.rounds = (*self.rounds, begun)

    def _add(self, event: VoteCast, vote: Vote) -> None:
        ballot = Ballot(
            reviewer=event.reviewer,
            vote=vote,
            reason=event.reason,
            confidence=event.confidence,
            objection=event.objection,
            in_scope=event.in_scope,
            lens=event.lens,
            objections=event.objections,
            measured=event.measured,
        )
        self.rounds = tuple(
            replace(each, ballots=(*_leave_out(each.ballots, event.reviewer), ballot))
            if each.digest == event.digest
            else each
            for each in self.rounds
        )


def _leave_out(ballots: tuple[Ballot, ...], reviewer: str) -> tuple[Ballot, ...]:
    return tuple(ballot for ballot in ballots if ballot.reviewer != reviewer)
