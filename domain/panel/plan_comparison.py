"""What is said of the plan that several models chose: why it is this one, and what speaks against it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quorum.domain.panel.panel_answer import (
    Agreement,
    AnswerReview,
    PanelAnswer,
    PeerReview,
    PlanChoice,
    RankedAnswer,
    find_tied,
)
from quorum.domain.review.plan_terms import ComparedPlan, PlanComparison
from quorum.domain.text.printable import put_in_one_line

CHANGED = "the plan was changed after it was scored"


def compare_plans(choice: PlanChoice) -> PlanComparison:
    """What the person reads beside the plan that stands, and all plans."""
    plans = {answer.label: answer for answer in choice.panel.given}
    return PlanComparison(
        findings=tuple(_list_findings(choice)),
        plans=tuple(
            ComparedPlan(
                label=rank.label,
                model=plans[rank.label].model,
                text=plans[rank.label].text,
                score=rank.score,
                remarks=tuple(_list_remarks(choice.panel.reviews, rank.label)),
            )
            for rank in choice.ranked
        ),
    )


def render_plan_choice(choice: PlanChoice) -> str:
    """The same for the transcript, as Markdown, without the plans."""
    first, *rest = _list_findings(choice)
    return "\n".join((f"**{first}**", *(["", *(f"- {each}" for each in rest)] if rest else [])))


def _list_findings(choice: PlanChoice) -> Iterator[str]:
    """Why it is this plan, who is missing, then what speaks against it."""
    yield _explain_choice(choice.plan, choice.ranked)
    if any(rank.score is not None for rank in choice.ranked):
        yield f"scores: {', '.join(f'{rank.label} {_show_score(rank)}' for rank in choice.ranked)}"
    given = {answer.label: answer for answer in choice.panel.answers}
    for participant in choice.panel.participants:
        answer = given.get(participant.label)
        if answer is None or not answer.is_answer:
            why = answer.reason if answer is not None else "it was not asked"
            yield f"{participant.label} ({participant.model}) made no plan: {put_in_one_line(why)}"
    for peer in choice.panel.reviews:
        if peer.error:
            yield f"{peer.label} ({peer.model}) scored no plan: {put_in_one_line(peer.error)}"
    about = [*_find_reviews(choice.panel.reviews, choice.chosen)]
    for peer, review in about:
        yield from (f"danger, says {peer.label}: {put_in_one_line(danger)}" for danger in review.dangers)
    for peer, review in about:
        if review.agreement is not Agreement.YES:
            how = "does not agree" if review.agreement is Agreement.NO else "agrees in part"
            yield f"{peer.label} {how}: {put_in_one_line(review.comment)}"
    for point in choice.additions:
        yield f"{choice.chosen} lacks, says {', '.join(point.answers)}: {put_in_one_line(point.text)}"
    if choice.reason:
        yield put_in_one_line(choice.reason)


def _explain_choice(plan: PanelAnswer, ranked: Sequence[RankedAnswer]) -> str:
    name, best = f"plan {plan.label} of {plan.model}", ranked[0]
    if len(ranked) == 1:
        return f"{name} is the only one"
    if best.score is None:
        return f"{name} is the first of {len(ranked)}, and no plan was scored"
    if tied := find_tied(ranked):
        return f"{name} is the first of {', '.join(tied)}, which the others score alike, {best.score:.1f} of 10"
    return f"{name} is the one that the others score best, {best.score:.1f} of 10"


def _find_reviews(reviews: Sequence[PeerReview], label: str) -> Iterator[tuple[PeerReview, AnswerReview]]:
    """The reviews of a plan by those that did not make it, with who gave them."""
    for peer in reviews:
        yield from ((peer, review) for review in peer.reviews if review.answer == label != peer.label)


def _list_remarks(reviews: Sequence[PeerReview], label: str) -> Iterator[str]:
    for peer, review in _find_reviews(reviews, label):
        comment = put_in_one_line(review.comment)
        yield f"{peer.label} scores {review.score}, agrees: {review.agreement.value}. {comment}"
        yield from (f"danger, says {peer.label}: {put_in_one_line(danger)}" for danger in review.dangers)


def _show_score(rank: RankedAnswer) -> str:
    return "not scored" if rank.score is None else f"{rank.score:.1f}"
