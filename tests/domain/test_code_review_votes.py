"""What a reviewer's votes on the parts of a change are together."""

from __future__ import annotations

from itertools import product

import pytest

from quorum.domain.code_review.review_result import PartReview, combine_votes
from quorum.domain.review.ballot import Vote


def part(vote: Vote, confidence: float | None = None, reason: str = "r") -> PartReview:
    return PartReview(
        label="A", model="p/m", part=1, question="q", vote=vote, reason=reason, confidence=confidence
    )


@pytest.mark.parametrize("votes", list(product(Vote, repeat=3)))
def test_only_who_approves_every_part_approves_and_any_rejection_rejects(votes: tuple[Vote, ...]) -> None:
    vote = combine_votes([part(each) for each in votes]).vote
    assert (vote is Vote.APPROVE) == all(each is Vote.APPROVE for each in votes)
    assert (vote is Vote.REJECT) == (Vote.REJECT in votes)


def test_the_reasons_of_the_parts_that_decide_are_kept() -> None:
    ballot = combine_votes([part(Vote.APPROVE, 0.9), part(Vote.REJECT, 0.6, "x"), part(Vote.REJECT, 0.8, "y")])
    assert (ballot.reason, ballot.confidence) == ("2 parts of 3: x; y", 0.8)


def test_an_approval_is_as_sure_as_its_least_sure_part() -> None:
    assert combine_votes([part(Vote.APPROVE, 0.9), part(Vote.APPROVE, 0.4)]).confidence == 0.4
