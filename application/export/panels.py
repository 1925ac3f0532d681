"""What a document tells of a panel: each answer whole, and what the others said of it."""

from __future__ import annotations

from application.view.panel_wording import describe_answer, describe_missing_review, describe_total_cost
from domain.events.event import PanelAnswered, PanelConcluded, PanelReviewed, PanelStarted
from domain.panel.peer_review import BEST_SCORE


def describe_panel_event(
    event: PanelStarted | PanelAnswered | PanelReviewed | PanelConcluded,
) -> tuple[str, str]:
    """A line, and the text below it."""
    match event:
        case PanelStarted():
            models = [f"{each.label}: {each.model}" for each in event.participants]
            cost = describe_total_cost(event.costs)
            return "a panel was asked:", "\n".join([*models, *([f"estimated: {cost}"] if cost else [])])
        case PanelAnswered(answer=answer):
            return describe_answer(answer), answer.text
        case PanelReviewed(review=review) if review.error:
            return describe_missing_review(review), ""
        case PanelReviewed(review=review):
            lines = [
                f"{each.answer}: {each.score} of {BEST_SCORE}, agrees: {each.agreement.value}. {each.comment}"
                for each in review.reviews
            ]
            return f"{review.label} {review.model} reviewed the other answers:", "\n".join(lines)
        case PanelConcluded(synthesis=None):
            return f"the panel ended without a synthesis: {event.reason}", ""
        case PanelConcluded():
            return "the panel ended with a synthesis", ""
