"""The sentences about the steps of a panel, for any front end."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal

from quorum.domain.events.event import PanelAnswered, PanelConcluded, PanelResumed, PanelReviewed, PanelStarted
from quorum.domain.panel.cost_estimate import CostEstimate, sum_estimates
from quorum.domain.panel.panel_answer import PanelAnswer
from quorum.domain.panel.peer_review import PeerReview
from quorum.domain.text.amounts import format_duration


def describe_panel_step(
    event: PanelStarted | PanelResumed | PanelAnswered | PanelReviewed | PanelConcluded,
) -> str:
    """What a person without a screen reads of a step; empty where there is nothing to say."""
    match event:
        case PanelStarted(costs=costs):
            return "; ".join([*filter(None, [describe_total_cost(costs)]), *describe_costs(costs)])
        case PanelResumed():
            return "the panel is continued: only what is missing is asked for"
        case PanelAnswered(answer=answer):
            return describe_answer(answer)
        case PanelReviewed(review=review):
            return f"{review.label} {_describe_error(review)}" if review.error else ""
        case PanelConcluded() if event.merged and event.additions:
            points = "; ".join(f"{each.text} ({', '.join(each.answers)})" for each in event.additions)
            return f"the drafts differ: {points}"
        case PanelConcluded():
            return event.reason


def describe_total_cost(costs: Sequence[CostEstimate]) -> str:
    """What a panel costs before it starts, in a line; empty where nothing was estimated."""
    if not costs:
        return ""
    total = sum_estimates(costs)
    few, many = total.least_requests, total.most_requests
    requests = f"{few} requests" if few == many else f"{few} to {many} requests"
    if total.least_usd is None:
        return f"{requests}; no price is known, so neither is the cost"
    least = f"at least about {_format_dollars(total.least_usd)}"
    if total.most_usd is not None:
        return f"{requests}, {least}, at most about {_format_dollars(total.most_usd)}"
    return f"{requests}, {least}; what it costs at most is not known"


def describe_costs(costs: Sequence[CostEstimate]) -> list[str]:
    """What each model of a panel costs before it starts."""
    return [f"{each.label or 'moderator'} {each.model} {_describe_range(each)}" for each in costs]


def _describe_range(cost: CostEstimate) -> str:
    if cost.least_usd is None:
        return "at a price that is not known"
    if cost.most_usd is None:
        return f"{_format_dollars(cost.least_usd)} or more, its longest answer is not known"
    return f"{_format_dollars(cost.least_usd)} to {_format_dollars(cost.most_usd)}"


def _format_dollars(usd: Decimal) -> str:
    """Four digits, rounded up: an estimate of nothing is said of nothing alone."""
    return f"${usd.quantize(Decimal('0.0001'), rounding=ROUND_CEILING):,}"


def describe_answer(answer: PanelAnswer) -> str:
    """How asking a participant ended, and after how long."""
    how = f"{answer.label} {answer.model} answered" if answer.is_answer else describe_missing_answer(answer)
    return f"{how} · {format_duration(answer.secs)}"


def describe_missing_answer(answer: PanelAnswer) -> str:
    """Who gave no answer, and why."""
    return f"{answer.label} {answer.model} gave no answer: {answer.reason}"


def describe_missing_review(review: PeerReview) -> str:
    """Who reviewed nothing, and why."""
    return f"{review.label} {review.model} {_describe_error(review)}"


def _describe_error(review: PeerReview) -> str:
    return f"reviewed no other answer: {review.error}"
