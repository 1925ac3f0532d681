"""The votes on what is asked, as remote control lists them."""

from __future__ import annotations

from quorum.application.ports.people import ReviewContext
from quorum.domain.review.ballot import Ballot, sort_dissent_first
from quorum.domain.review.questions import ReviewRequest


def render_votes_json(review_context: ReviewContext) -> dict[str, object]:
    """The votes so far, the strongest objection first, and who has not voted yet."""
    return {
        "ballots": [_render_ballot(ballot) for ballot in sort_dissent_first(review_context.ballots)],
        "awaited": list(review_context.awaited),
        "not_asked": list(review_context.not_asked),
        "lenses": dict(review_context.lenses),
        "count": review_context.tally.describe_count() if review_context.reviewers else "",
        "independent": review_context.independent,
    }


def render_earlier_plans_json(request: ReviewRequest) -> list[dict[str, object]]:
    """The plans that reviewers judged before this one, oldest first, each with its votes."""
    return [
        {
            "round": earlier.number,
            "text": earlier.text,
            "ballots": [_render_ballot(ballot) for ballot in sort_dissent_first(earlier.ballots)],
        }
        for earlier in request.earlier_plans
    ]


def render_comparison_json(request: ReviewRequest) -> dict[str, object] | None:
    """What several models planned and said of each other's plans, the best first; None where one model did."""
    if request.comparison is None:
        return None
    return {
        "findings": list(request.comparison.findings),
        "plans": [
            {
                "label": plan.label,
                "model": plan.model,
                "score": plan.score,
                "remarks": list(plan.remarks),
                "text": plan.text,
            }
            for plan in request.comparison.plans
        ],
    }


def _render_ballot(ballot: Ballot) -> dict[str, object]:
    return {
        "reviewer": ballot.reviewer,
        "lens": ballot.lens,
        "vote": ballot.vote.value,
        "in_scope": ballot.in_scope,
        "counts_as": ballot.counts_as.value,
        "explanation": ballot.explanation,
        "confidence": ballot.confidence,
        "reason": ballot.reason,
        "objection": ballot.objection,
        "objections": [objection.to_json() for objection in ballot.objections],
    }
