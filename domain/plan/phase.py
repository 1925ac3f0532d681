"""The phase of a session: whether a plan is made or in force, how it is judged, and the review at its end."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.code_review.change import ChangeBase
from quorum.domain.code_review.review_result import ReviewResult
from quorum.domain.plan.plan import Plan, PlanTask, render_rule
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Ballot, Verdict, Vote
from quorum.domain.review.permission_rules import Answer, Rule
from quorum.domain.review.plan_terms import PlanTerms
from quorum.domain.review.quorum_result import QuorumConcluded


class FinalReview(Struct, frozen=True, kw_only=True):
    """A review that is due: all tasks of the plan are done.

    `base` is the repository as it was when the plan was approved. There is a `result` from the end of the
    review to the end of its turn.
    """

    plan: Plan
    base: ChangeBase
    result: ReviewResult | None = None


UPDATE_TASK = "update_task"
RUN_TASK = "run_task"
FAIL_TASK = "fail_task"


class PhaseScope(StrEnum):
    """How far a session goes.

    FULL works at once; FAST does too, and a plan made in between is put to no model; PLAN_ONLY only looks, and
    makes a plan, until one is approved.
    """

    FULL = "full"
    FAST = "fast"
    PLAN_ONLY = "plan-only"


class ApprovedPlan(Struct, frozen=True, kw_only=True):
    """A plan that a person approved, and the rules it stands for. `digest` is that of the plan; `base` is the
    repository before it, where what it leads to is reviewed."""

    plan: Plan
    digest: str
    rules: tuple[Rule, ...]
    base: ChangeBase | None = None

    @classmethod
    def make(cls, plan: Plan, base: ChangeBase | None = None) -> ApprovedPlan:
        """The plan with its rules, each pattern once."""
        rules: dict[str, Rule] = {}
        for task in plan.ordered:
            for rule in _build_rules(task):
                rules.setdefault(rule.id, rule)
        return cls(plan=plan, digest=plan.digest, rules=tuple(rules.values()), base=base)

    def list_rules(self, task_id: str) -> tuple[Rule, ...]:
        """The rules that one of its tasks stands for; none for a task that it does not have."""
        task = self.plan.find(task_id)
        return _build_rules(task) if task is not None else ()


class SessionPhase(Struct, frozen=True, kw_only=True):
    """Where a session stands. `later` is the scope in force once a plan is approved or planning is left;
    `review` is the one that is due of a plan that was carried out."""

    scope: PhaseScope = PhaseScope.FULL
    later: PhaseScope = PhaseScope.FULL
    approved: ApprovedPlan | None = None
    review: FinalReview | None = None

    @property
    def is_fast(self) -> bool:
        """Whether no model is asked about a plan: so it is from the scope that is in force, or is later."""
        return PhaseScope.FAST in (self.scope, self.later)

    @property
    def is_planning(self) -> bool:
        """Whether a plan is being made: nothing is changed until it is approved."""
        return self.scope is PhaseScope.PLAN_ONLY

    def make_terms(self, *, is_person_there: bool, task_id: str = "") -> PlanTerms:
        """What decisions depend on, for a call of the task `task_id` if there is one.

        Where nobody can approve a plan, one may be made all the same.
        """
        return PlanTerms(
            is_planning=self.is_planning,
            is_bound=self.approved is not None,
            asks=is_person_there or not self.is_planning,
            task_id=task_id,
        )

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of the approved plan; none where there is none."""
        return self.approved.rules if self.approved is not None else ()

    def narrow_rules(self, rules: tuple[Rule, ...], task_id: str) -> tuple[Rule, ...]:
        """These rules for a call of one task: of those of the approved plan only the task's own."""
        if self.approved is None:
            return rules
        of_plan = frozenset(self.approved.rules)
        return (*(rule for rule in rules if rule not in of_plan), *self.approved.list_rules(task_id))

    def enter(self, scope: PhaseScope) -> SessionPhase:
        if scope is not PhaseScope.PLAN_ONLY:
            return replace(self, scope=scope, later=scope)
        return replace(self, scope=scope)

    def approve(self, plan: Plan, base: ChangeBase | None = None) -> SessionPhase:
        """The phase with an approved plan in force, in place of any other and of a review that is due."""
        return replace(self, scope=self.later, approved=ApprovedPlan.make(plan, base), review=None)

    def withdraw(self, *, is_done: bool = False) -> SessionPhase:
        """The phase without an approved plan. Where it `is_done` and has a base, its review is due."""
        review = None
        if is_done and self.approved is not None and self.approved.base is not None:
            review = FinalReview(plan=self.approved.plan, base=self.approved.base)
        return replace(self, approved=None, review=review)

    def conclude_review(self, result: ReviewResult) -> SessionPhase:
        """The phase with the result of the review that is due, if one is."""
        return self if self.review is None else replace(self, review=replace(self.review, result=result))

    def close_review(self) -> SessionPhase:
        """The phase after the turn of a review, which is over if it has a result."""
        return self.drop_review() if self.review is not None and self.review.result is not None else self

    def drop_review(self) -> SessionPhase:
        """The phase without a review that is due."""
        return replace(self, review=None)


def _build_rules(task: PlanTask) -> tuple[Rule, ...]:
    source = f"task {task.id} of the approved plan"
    return tuple(
        Rule.parse(render_rule(pattern, is_command=is_command), Answer.ALLOW, source)
        for patterns, is_command in ((task.writes, False), (task.commands, True))
        for pattern in patterns
    )


class PlanRound(Struct, frozen=True, kw_only=True):
    """The judgement of one plan.

    `number` counts the rounds from 1. `digest` is that of the packet that was voted on, and `plan_digest` that
    of the plan as it was proposed: what is recorded of it may hide secrets. `ballots` are those that have
    arrived, `concluded` is the count of all; None while some are missing.
    """

    number: int
    context: ToolExecutionContext
    plan: Plan
    plan_digest: str
    digest: str
    ballots: tuple[Ballot, ...] = ()
    concluded: QuorumConcluded | None = None

    @property
    def was_objected_to(self) -> bool:
        """Whether the reviewers voted, did not approve the plan, and one of them at least was against it."""
        return self.concluded is not None and is_objected_to(
            self.concluded.verdict, [vote.counts_as for vote in self.concluded.votes]
        )


def is_objected_to(verdict: str, counted: list[str | None]) -> bool:
    """Whether a plan with this verdict and these counted votes goes back to the model that made it."""
    return verdict != Verdict.APPROVED and Vote.REJECT in counted
