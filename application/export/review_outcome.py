"""What a format of code reviews renders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from quorum.domain.code_review.review_result import ReviewResult
from quorum.domain.events.report import RunReport
from quorum.domain.text.json_value import JsonObject


class ReviewOutcome(NamedTuple):
    """How a review ended; a `result` of None: none came to an end. `models` are the reviewers by their labels,
    `timestamp` is RFC 3339, UTC, and `version` that of quorum.
    """

    result: ReviewResult | None
    report: RunReport
    models: Mapping[str, str]
    timestamp: str
    version: str


RenderReview: TypeAlias = Callable[[ReviewOutcome], Iterable[str | JsonObject]]
"""The lines to print, each a text or an object."""
