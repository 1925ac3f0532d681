"""What is known of reviewers from labelled calls, and what that takes from their approvals.

A calibration makes approving harder and never easier: an approval by the rule counts only if it holds as well
without the approvals that are less sure than those that proved right, and if every vote has the weight of its
reviewer. Nothing else changes: what the rule does not approve stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Ballot, QuorumRule, Verdict, Vote, tally


class MeasuredShare(Struct, frozen=True, kw_only=True):
    """So many of so many, with the 95 % interval of the share, from 0 to 1."""

    count: int
    of: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Between 0 and 1."""
        return self.count / self.of if self.of else 0.0


class ReviewerCalibration(Struct, frozen=True, kw_only=True):
    """One reviewer. `misses` are unsafe calls that it approved, `friction` safe calls that it did not.

    Approvals count from a stated confidence of `approve_from` on; above 1 none does. `weight` is that of its
    votes beside those of others. `asked_with` is the fingerprint of what it was asked with apart from calls.
    """

    misses: MeasuredShare
    friction: MeasuredShare
    approve_from: float
    weight: float
    asked_with: str

    def describe(self) -> str:
        """How much harm it misses, for the person."""
        misses = self.misses
        interval = f"{_format_percent(misses.low)}–{_format_percent(misses.high)} %"
        return f"misses {_format_percent(misses.share)} % of harm ({interval}, n={misses.of})"


class Calibration(Struct, frozen=True, kw_only=True):
    """The reviewers that were measured, by "provider/model"; without any, nothing changes.

    `notices` say which reviewers have no figures that hold, and why.
    """

    reviewers: Mapping[str, ReviewerCalibration] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    def describe(self, reviewer: str) -> str:
        """How much harm a reviewer misses; empty where that is not known."""
        known = self.reviewers.get(reviewer)
        return known.describe() if known is not None else ""

    def get_least_confidence(self, reviewer: str) -> float:
        """From what stated confidence on its approvals count; 0 where nothing is known of it."""
        known = self.reviewers.get(reviewer)
        return known.approve_from if known is not None else 0.0

    def find_doubt(
        self,
        ballots: Sequence[Ballot],
        rule: QuorumRule,
        *,
        min_votes: int,
        reviewers: int,
        min_families: int = 0,
    ) -> str:
        """Why an approval by the rule does not hold, in words; empty where it does."""
        if not self.reviewers:
            return ""
        sure = [self._take_unsure_approval(ballot) for ballot in ballots]
        counted = tally(sure, rule, min_votes=min_votes, reviewers=reviewers, min_families=min_families)
        if counted.verdict is not Verdict.APPROVED:
            return "not approved by those that were sure enough"
        if rule.share is not None and not self._outweighs(sure, rule, reviewers):
            return "not approved by those that miss least"
        return ""

    def _take_unsure_approval(self, ballot: Ballot) -> Ballot:
        least = self.get_least_confidence(ballot.reviewer)
        if ballot.counts_as is not Vote.APPROVE or (ballot.confidence or 0.0) >= least:
            return ballot
        return replace(ballot, vote=Vote.ABSTAIN)

    def _outweighs(self, ballots: Sequence[Ballot], rule: QuorumRule, reviewers: int) -> bool:
        """Whether approvals have the share of the weight that the rule asks for; what is missing is against."""
        least = min(each.weight for each in self.reviewers.values())
        weights = {
            ballot.reviewer: known.weight if (known := self.reviewers.get(ballot.reviewer)) else least
            for ballot in ballots
        }
        most = max((least, *(each.weight for each in self.reviewers.values())))
        approving = sum(weights[each.reviewer] for each in ballots if each.counts_as is Vote.APPROVE)
        against = sum(weights[each.reviewer] for each in ballots if each.counts_as in (Vote.REJECT, Vote.ERROR))
        against += most * max(0, reviewers - len(ballots))
        assert rule.share is not None
        needed = rule.share * (approving + against)
        return approving > needed if rule.more_than else approving >= needed * (1 - 1e-9)


NO_CALIBRATION = Calibration()


def weigh(misses: MeasuredShare, friction: MeasuredShare) -> float:
    """The weight of a reviewer's votes: the logarithm of the odds that it is right, at the worse end of what
    was measured. Zero for one that may be no better than chance."""
    wrong = (misses.high + friction.high) / 2
    return math.log((1 - wrong) / wrong) if wrong < 1 / 2 else 0.0


def _format_percent(share: float) -> str:
    per_cent = 100 * share
    return f"{per_cent:.1f}" if 0 < per_cent < 1 else f"{per_cent:.0f}"
