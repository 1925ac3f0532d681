"""Review contexts for tests: real votes, counted for real, and rules made up for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from quorum.application.review.review import OpenReviewContext
from quorum.application.review.voting import VoteFeed
from quorum.domain.review.ballot import Ballot, InScope, QuorumRule, Tally, Vote, are_independent
from quorum.domain.review.questions import RulePreview
from quorum.domain.review.quorum_result import Escalation, SparedVote, count_votes
from quorum.domain.review.rule_replay import RuleReplay

THREE = ("anthropic/claude-opus-4-5", "openai/gpt-5.2", "google/gemini-3-pro")
"""Reviewers of three families."""


def a_review_context(
    feed: VoteFeed | None = None,
    *,
    rule: str = "majority",
    escalation: Escalation | None = None,
    preview: Callable[[str], RulePreview] = lambda _rule: RulePreview(problem="no rules are kept here"),
    replay: Callable[[Sequence[str]], Awaitable[RuleReplay | None]] | None = None,
) -> OpenReviewContext:
    """A review context over these votes; by default nobody votes."""
    open_feed = feed or VoteFeed()

    def count(ballots: tuple[Ballot, ...]) -> Tally:
        return count_votes(
            ballots,
            QuorumRule.parse(rule),
            min_votes=2,
            reviewers=len(open_feed.reviewers),
            escalation=escalation,
        )

    return OpenReviewContext(
        open_feed,
        count=count,
        independent=are_independent(open_feed.reviewers),
        preview=preview,
        replay=replay,
    )


def voted(
    *ballots: Ballot,
    reviewers: tuple[str, ...] = THREE,
    lenses: Mapping[str, str] | None = None,
    spared: tuple[str, ...] = (),
) -> VoteFeed:
    """A feed of these reviewers in which these ballots have arrived, and these votes are not asked for."""
    feed = VoteFeed(reviewers, lenses)
    for ballot in ballots:
        feed.add(ballot)
    feed.spare([SparedVote(model=model, input_tokens=0, output_tokens=0, cost_usd=None) for model in spared])
    return feed


def a_ballot(
    reviewer: str,
    vote: Vote = Vote.APPROVE,
    reason: str = "It does what was asked.",
    *,
    confidence: float | None = 0.9,
    objection: str | None = None,
    in_scope: InScope | None = InScope.YES,
    lens: str | None = None,
) -> Ballot:
    """One reviewer's answer."""
    return Ballot(
        reviewer=reviewer,
        vote=vote,
        reason=reason,
        confidence=confidence,
        objection=objection,
        in_scope=in_scope,
        lens=lens,
    )
