"""Escalation: the first reviewer is asked alone, and the others only where its vote leaves doubt.

What one vote may do is approve, and only where it is sure that the call does no harm and was asked for. It
never rejects alone, and neither doubt nor an outage of the first reviewer spares anybody. Approved in this way,
a call has not met the rule: the tally says that the first vote decided.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Ballot, DecidedBy, InScope, QuorumRule, Tally, Verdict, Vote, tally
from quorum.domain.review.calibration import NO_CALIBRATION, Calibration

DEFAULT_ESCALATE_BELOW = 0.8


class Escalation(Struct, frozen=True, kw_only=True):
    """`first` is the reviewer, "provider/model", that is asked alone.

    Its vote leaves doubt where it is less sure than `below`, from 0 to 1.
    """

    first: str
    below: float = DEFAULT_ESCALATE_BELOW

    def is_settled_by(self, ballots: Sequence[Ballot]) -> bool:
        """Whether the first reviewer alone has voted, and approves without doubt of what was asked for."""
        if len(ballots) != 1:
            return False
        (ballot,) = ballots
        sure = ballot.confidence is not None and ballot.confidence >= self.below
        approves = ballot.vote is Vote.APPROVE and ballot.in_scope is InScope.YES
        return ballot.reviewer == self.first and approves and sure


def count_votes(
    ballots: Sequence[Ballot],
    rule: QuorumRule,
    *,
    min_votes: int,
    reviewers: int,
    escalation: Escalation | None = None,
    min_families: int = 0,
    calibration: Calibration = NO_CALIBRATION,
) -> Tally:
    """Count the ballots of `reviewers` models: by the rule, or by the first vote where that leaves no doubt.

    An approval by the rule that the calibration does not bear out is unclear.
    """
    counted = tally(ballots, rule, min_votes=min_votes, reviewers=reviewers, min_families=min_families)
    if escalation is None or not escalation.is_settled_by(ballots):
        if counted.verdict is not Verdict.APPROVED:
            return counted
        doubt = calibration.find_doubt(
            ballots, rule, min_votes=min_votes, reviewers=reviewers, min_families=min_families
        )
        return replace(counted, verdict=Verdict.UNCLEAR, doubt=doubt) if doubt else counted
    return replace(
        counted,
        errors=0,
        not_asked=reviewers - len(ballots),
        verdict=Verdict.APPROVED,
        decided_by=DecidedBy.FIRST_VOTE,
    )
