"""What a document tells of a panel: each answer whole, and what the others said of it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from quorum.application.view.code_review_wording import describe_part_review, describe_review_result
from quorum.application.view.debate_wording import describe_debate_step, describe_objection
from quorum.application.view.panel_wording import describe_answer, describe_missing_review, describe_total_cost
from quorum.domain.events.event import (
    AnswerDefended,
    AnswerRevised,
    ChangeReviewed,
    FindingsTried,
    ObjectionsRaised,
    ObjectionsRuled,
    PanelAnswered,
    PanelConcluded,
    PanelEvent,
    PanelReviewed,
    PanelStarted,
    PartReviewed,
    ReviewerLooked,
)
from quorum.domain.panel.peer_review import BEST_SCORE, AnswerReview


def describe_panel_event(event: PanelEvent) -> tuple[str, str]:
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
            lines = [line for each in review.reviews for line in _describe_review(each)]
            return f"{review.label} {review.model} reviewed the other answers:", "\n".join(lines)
        case PanelConcluded():
            return _describe_conclusion(event)
        case ReviewerLooked():
            arguments = json.dumps(event.arguments, ensure_ascii=False)
            return f"{event.label} looked: {event.tool} {arguments} · {event.outcome.value}", ""
        case PartReviewed():
            return describe_part_review(event.review), ""
        case FindingsTried(error=""):
            trials = (f"{one.finding}: {one.ruling.value}. {one.reason}" for one in event.trials)
            return f"{event.label} tried findings of others:", "\n".join(trials)
        case FindingsTried():
            return f"{event.label} tried no findings: {event.error}", ""
        case ObjectionsRaised() | AnswerDefended() | ObjectionsRuled() | AnswerRevised():
            return describe_debate_step(event), _render_debate_step(event)
        case ChangeReviewed():
            return describe_review_result(event.result), ""
        case _:
            return "", ""


def _describe_conclusion(event: PanelConcluded) -> tuple[str, str]:
    points = "\n".join(f"{', '.join(each.answers)}: {each.text}" for each in event.additions)
    if event.merged:
        return f"one text was made of the drafts{'; they differ:' if points else ''}", points
    if event.additions:
        return f"answer {event.chosen} stands; what the others add:", points
    if event.synthesis is not None:
        return "the panel ended with a synthesis", ""
    if event.chosen is not None and not event.reason:
        return f"answer {event.chosen} stands", ""
    return f"the panel ended without a synthesis: {event.reason}", ""


def _render_debate_step(event: ObjectionsRaised | AnswerDefended | ObjectionsRuled | AnswerRevised) -> str:
    match event:
        case ObjectionsRaised(raised=raised):
            lines = [f"{describe_objection(each)}\n{each.evidence}" for each in raised.objections]
        case AnswerDefended(defence=defence):
            lines = [
                f"{each.objection} {'conceded' if each.is_conceded else 'contested'}: {each.text}"
                for each in defence.responses
            ]
        case ObjectionsRuled(ruled=ruled):
            lines = [f"{each.objection} {each.ruling.value}: {each.reason}" for each in ruled.rulings]
        case AnswerRevised(revised=revised):
            lines = [revised.text]
    return "\n".join(lines)


def _describe_review(review: AnswerReview) -> Iterator[str]:
    agrees = review.agreement.value
    yield f"{review.answer}: {review.score} of {BEST_SCORE}, agrees: {agrees}. {review.comment}"
    yield from (f"  danger: {danger}" for danger in review.dangers)
