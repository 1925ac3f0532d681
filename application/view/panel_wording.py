"""The sentences about the steps of a panel, for any front end."""

from __future__ import annotations

from domain.events.event import PanelAnswered, PanelConcluded, PanelReviewed
from domain.panel.panel_answer import PanelAnswer
from domain.panel.peer_review import PeerReview
from domain.text.amounts import format_duration


def describe_panel_step(event: PanelAnswered | PanelReviewed | PanelConcluded) -> str:
    """What a person without a screen reads of a step; empty where there is nothing to say."""
    match event:
        case PanelAnswered(answer=answer):
            return describe_answer(answer)
        case PanelReviewed(review=review):
            return f"{review.label} {_describe_error(review)}" if review.error else ""
        case PanelConcluded():
            return event.reason


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
