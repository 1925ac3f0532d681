"""What a code review comes to: the findings, the votes, and whether the change is approved."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from quorum.domain.code_review.finding import CodeFinding, ReportedFinding
from quorum.domain.review.ballot import Ballot, Verdict, Vote
from quorum.domain.text.amounts import format_amount


class PartReview(Struct, frozen=True, kw_only=True):
    """What one reviewer says of one part of a change; `question` is the digest of what it was asked.

    Where it gave no answer the vote is an error, and `reason` says why.
    """

    label: str
    model: str
    part: int
    question: str
    vote: Vote
    reason: str
    confidence: float | None = None
    findings: tuple[ReportedFinding, ...] = ()


class ReviewResult(Struct, frozen=True, kw_only=True):
    """The end of a code review. `ballots` are in the order of the reviewers, `findings` the surest first.

    `conclusion` is the moderator's text, empty where there is none. `base` and `commit` are what the change is
    between, `digest` is that of the change. `sensitive_files` are the changed files that no reviewer was
    shown because they are sensitive.
    """

    description: str
    digest: str
    base: str
    commit: str
    verdict: Verdict
    rule: str
    ballots: tuple[Ballot, ...]
    is_independent: bool
    findings: tuple[CodeFinding, ...]
    files: int
    parts: int
    conclusion: str = ""
    agreement: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    sensitive_files: tuple[str, ...] = ()

    @property
    def is_approved(self) -> bool:
        """Whether the votes approve the change."""
        return self.verdict is Verdict.APPROVED


def combine_votes(reviews: Sequence[PartReview]) -> Ballot:
    """One reviewer's vote on the whole change, of its votes on the parts, of which there must be one.

    Rejecting a part rejects the change. Otherwise a part without an answer, or an abstention, is none of an
    approval: only who approves every part approves the change.
    """
    order = (Vote.REJECT, Vote.ERROR, Vote.ABSTAIN, Vote.APPROVE)
    vote = next(each for each in order if any(review.vote is each for review in reviews))
    those = [review for review in reviews if review.vote is vote]
    confidences = [review.confidence for review in those if review.confidence is not None]
    reason = "; ".join(dict.fromkeys(review.reason for review in those if review.reason))
    if len(reviews) > 1:
        reason = f"{format_amount(len(those), 'part')} of {len(reviews)}: {reason}"
    confidence = (max if vote is Vote.REJECT else min)(confidences) if confidences else None
    return Ballot(reviewer=reviews[0].model, vote=vote, reason=reason, confidence=confidence)
