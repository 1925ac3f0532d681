"""What let a reviewed call run, in a few words."""

from __future__ import annotations

from quorum.application.view.entries import Call
from quorum.domain.review.ballot import Vote
from quorum.domain.review.questions import DecisionLabel


def describe_decision(call: Call) -> str:
    """What let a reviewed call run, in a few words; empty where nothing did."""
    if not call.is_decided:
        return ""
    match call.decision:
        case DecisionLabel.APPROVED | DecisionLabel.EDITED:
            return describe_approval(call.decision, call.reason)
        case DecisionLabel.ALLOWED if call.votes:
            verdicts = [ballot.counts_as for ballot in call.votes]
            count = f"{verdicts.count(Vote.APPROVE)}:{verdicts.count(Vote.REJECT)}"
            spared = f", {len(call.not_asked)} not asked" if call.not_asked else ""
            return f"quorum approved {count}{spared}"
        case DecisionLabel.ALLOWED:
            return call.reason or "allowed"
        case _:
            return ""


def describe_approval(label: DecisionLabel, reason: str | None) -> str:
    """That the person approved; empty where this was not what they decided."""
    match label:
        case DecisionLabel.APPROVED | DecisionLabel.EDITED:
            who = "you approved" if label is DecisionLabel.APPROVED else "you approved what you edited"
            return f"{who} · {reason}" if reason else who
        case _:
            return ""
