"""The sentences about the steps of a code review, for any front end."""

from __future__ import annotations

from domain.code_review.review_result import PartReview, ReviewResult
from domain.review.ballot import Vote
from domain.text.amounts import format_amount


def describe_part_review(review: PartReview) -> str:
    """What one reviewer says of one part, in a line."""
    where = f"{review.label} {review.model}, part {review.part}"
    if review.vote is Vote.ERROR:
        return f"{where}: no answer: {review.reason}"
    return f"{where}: {review.vote.value}, {format_amount(len(review.findings), 'finding')}. {review.reason}"


def describe_review_result(result: ReviewResult) -> str:
    """What a code review came to, in a line."""
    votes = ", ".join(f"{ballot.reviewer} {ballot.vote.value}" for ballot in result.ballots)
    found = format_amount(len(result.findings), "finding")
    return f"{result.description}: {result.verdict.value} ({result.rule}) · {found} · {votes}"
