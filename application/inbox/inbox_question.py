"""A waiting decision as the review dialog shows it, in another process than the one that asks."""

from __future__ import annotations

from quorum.application.ports.people import ReviewContext
from quorum.application.review.review import OpenReviewContext
from quorum.application.review.vote_feed import VoteFeed
from quorum.domain.review.ballot import QuorumRule
from quorum.domain.review.escalation import count_votes
from quorum.domain.review.questions import ReviewRequest, RulePreview
from quorum.domain.sessions.waiting_review import WaitingReview

_NO_RULES = "a rule is made where the session is open"


def build_request(review: WaitingReview) -> ReviewRequest:
    """The question, which can only be answered with yes or no here."""
    return ReviewRequest(
        packet=review.packet,
        reasons=review.reasons,
        routine_reasons=review.routine_reasons,
        batch_size=1,
        is_elsewhere=True,
    )


def build_review_context() -> ReviewContext:
    """Nobody votes here, and no rule can be tried."""
    majority = QuorumRule.parse("majority")
    return OpenReviewContext(
        VoteFeed(),
        count=lambda ballots: count_votes(ballots, majority, min_votes=1, reviewers=0),
        independent=False,
        preview=lambda _rule: RulePreview(problem=_NO_RULES),
    )
