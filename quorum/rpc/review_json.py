"""A review as clients of the remote control and the page of pending reviews see it."""

from __future__ import annotations

from quorum.application.ports.people import ReviewContext
from quorum.domain.review.ballot import Ballot, sort_dissent_first
from quorum.domain.review.questions import ReviewRequest, RuleOffer
from quorum.tui.screens.review.earlier import Earlier
from quorum.tui.screens.review.text.facts import collect_facts
from quorum.tui.screens.review.text.plan import find_plan_text
from quorum.tui.screens.review.text.title import build_title


def render_review_json(
    request: ReviewRequest, review_context: ReviewContext, earlier: Earlier, root: str
) -> dict[str, object]:
    """All that is asked, and the votes so far; paths are relative to `root`, the folder of the session."""
    known = collect_facts(request, earlier, root=root)
    return {
        "kind": "review",
        "title": "".join(build_title(request.packet, root)),
        "digest": request.packet.digest,
        "packet": request.packet.to_json(),
        "preamble": request.preamble,
        "reasons": list(request.reasons),
        "signing": "" if request.signing is None else request.signing.describe(),
        "batch_size": request.batch_size,
        "stale": request.stale,
        "dangers": [line.text for line in known.dangers],
        "arguments": [line.text for line in known.arguments],
        "votes": render_votes_json(review_context),
        "plan": find_plan_text(request.packet),
        "earlier_plans": render_earlier_plans_json(request),
        "comparison": render_comparison_json(request),
        "following": [packet.digest for packet in request.following],
        "offer": None if (offer := request.offer) is None else _offer_as_json(offer),
    }


def render_votes_json(review_context: ReviewContext) -> dict[str, object]:
    """The votes so far, the strongest objection first, and who has not voted yet."""
    return {
        "ballots": [_render_ballot(ballot) for ballot in sort_dissent_first(review_context.ballots)],
        "awaited": list(review_context.awaited),
        "not_asked": list(review_context.not_asked),
        "lenses": dict(review_context.lenses),
        "count": _describe_count(review_context),
        "independent": review_context.independent,
    }


def _describe_count(review_context: ReviewContext) -> str:
    if not review_context.reviewers:
        return ""
    return review_context.tally.describe_count(len(review_context.awaited))


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


def _offer_as_json(offer: RuleOffer) -> dict[str, object]:
    """The rules that the dialog offers; they are saved at the keyboard only."""
    return {"rules": list(offer.rules), "approvals": offer.approvals, "covers": list(offer.covers)}
