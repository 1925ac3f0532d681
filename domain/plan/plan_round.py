"""A round in which reviewers judged a plan before the person was asked about it."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.plan.plan import Plan
from quorum.domain.review.ballot import Ballot, Verdict, Vote
from quorum.domain.review.quorum_result import QuorumConcluded


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
