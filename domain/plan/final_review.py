"""The review of what an approved plan has led to."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.code_review.change import ChangeBase
from quorum.domain.code_review.review_result import ReviewResult
from quorum.domain.plan.plan import Plan


class FinalReview(Struct, frozen=True, kw_only=True):
    """A review that is due: all tasks of the plan are done.

    `base` is the repository as it was when the plan was approved. There is a `result` from the end of the
    review to the end of its turn.
    """

    plan: Plan
    base: ChangeBase
    result: ReviewResult | None = None
