"""What participants say of each other's answers: structured ballots, and the order that follows from them.

A score is a number that a model gave in a field for it. Text is never read for one, and nobody's silence counts
as a score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from fractions import Fraction

from msgspec import Struct

BEST_SCORE = 10


class Agreement(StrEnum):
    """Whether a participant agrees with what another one answered."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"


class AnswerReview(Struct, frozen=True, kw_only=True):
    """What a participant says of the answer with this label. `score` is from 0 to BEST_SCORE; `dangers` are
    what could go wrong with it, where it is a plan."""

    answer: str
    score: int
    agreement: Agreement
    comment: str
    dangers: tuple[str, ...] = ()


class PeerReview(Struct, frozen=True, kw_only=True):
    """One participant's reviews of the other answers. Where it gave none, `error` says why."""

    label: str
    model: str
    reviews: tuple[AnswerReview, ...] = ()
    error: str = ""

    def covers(self, labels: Iterable[str]) -> bool:
        """Whether it has a review of each of these answers."""
        return {review.answer for review in self.reviews}.issuperset(labels)


class RankedAnswer(Struct, frozen=True, kw_only=True):
    """An answer's place among the others. `score` is the mean of its scores, None where nobody gave one."""

    label: str
    score: float | None
    scores: int


def rank_answers(labels: Sequence[str], reviews: Sequence[PeerReview]) -> tuple[RankedAnswer, ...]:
    """Sort answers by the mean of their scores, the best first; where that is the same, the order of `labels`
    decides. An answer without a score comes last. A participant's review of its own answer does not count."""
    given: dict[str, list[int]] = {label: [] for label in labels}
    for peer in reviews:
        for review in peer.reviews:
            if review.answer != peer.label and review.answer in given:
                given[review.answer].append(review.score)
    means = {label: Fraction(sum(scores), len(scores)) for label, scores in given.items() if scores}
    best_first = sorted(labels, key=lambda label: -means.get(label, Fraction(-1)))
    return tuple(
        RankedAnswer(
            label=label,
            score=float(means[label]) if label in means else None,
            scores=len(given[label]),
        )
        for label in best_first
    )


def find_tied(ranked: Sequence[RankedAnswer]) -> tuple[str, ...]:
    """The labels of the answers that share the best score; none where one has it alone, or nobody scored."""
    best = ranked[0].score if ranked else None
    tied = tuple(each.label for each in ranked if each.score == best)
    return tied if best is not None and len(tied) > 1 else ()
