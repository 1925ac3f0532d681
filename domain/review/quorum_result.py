"""The record `quorum_result` of the votes on one packet, version 2, and how the votes come to it.

Records of version 1 are read as well: they lack `in_scope` and `counts_as`, and each vote counted as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import UNSET, Struct, UnsetType

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.fact import CallStage, Fact
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Ballot, DecidedBy, InScope, QuorumRule, Tally, Verdict, Vote, tally
from quorum.domain.review.calibration import NO_CALIBRATION, Calibration
from quorum.domain.review.plan_terms import PlanObjection
from quorum.domain.struct_json import Amount
from quorum.domain.text.json_value import JsonObject


class VoteRecord(Struct, frozen=True, kw_only=True):
    """One vote as the record of a quorum has it. `verdict` is approve, reject, abstain or model_error.

    `counts_as` is what was counted, one of the same words: an approval whose `in_scope` is no counts as a
    reject, and with unclear as an abstention. Both are None in version 1. `lens` names what the reviewer looked
    at above all, None where that is nothing in particular. `objections` are what it finds wrong with a plan.
    `program` names the agent program that was asked, with its version; not set where an API was.
    """

    model: str
    verdict: str
    reasoning: str
    confidence: float | None
    objection: str | None = None
    in_scope: InScope | None = None
    counts_as: str | None = None
    lens: str | None = None
    objections: tuple[PlanObjection, ...] = ()
    program: str | UnsetType = UNSET


class SparedVote(Struct, frozen=True, kw_only=True):
    """The vote of a reviewer that was not asked, because the first one left no doubt.

    The tokens are an estimate: what asking the first reviewer used, cached ones included. `cost_usd` is that at
    the price of this model, None where it has no known price, and nothing where a plan pays for it, `by_plan`.
    """

    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: Amount | None
    by_plan: bool | UnsetType = UNSET


class QuorumConcluded(Fact, frozen=True, kw_only=True, tag="quorum_result"):
    """The models have voted on the packet of this digest: the record `quorum_result`.

    `api_version` is 2, or 1 in a record from before there was `in_scope`. `decided_by` says whether the rule or
    the first vote alone decided; `spared` are the votes that were then not asked for, in the reviewers' order.

    `topic` is `action_review`, or `plan_review` where the packet is a plan; the target of that has its `round`.

    `timestamp` is RFC 3339, UTC, to the millisecond. `verdict` is approved, rejected or unclear; `feedback`
    gathers the reasons of those who were against, where it was not approved.
    """

    place: ClassVar = CallStage.VOTES_COUNTED
    timestamp: str
    topic: str
    target: JsonObject
    approved: bool
    verdict: str
    rule: str
    votes: tuple[VoteRecord, ...]
    feedback: str | None
    context: ToolExecutionContext
    digest: str
    api_version: int = 2
    decided_by: DecidedBy = DecidedBy.RULE
    spared: tuple[SparedVote, ...] = ()


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
