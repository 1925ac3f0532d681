"""What happens in a code review beside what its panel tells: what reviewers look at, find and try."""

from __future__ import annotations

from typing import ClassVar

from quorum.domain.calls.execution import Outcome
from quorum.domain.code_review.finding import Trial
from quorum.domain.code_review.review_result import PartReview, ReviewResult
from quorum.domain.events.panel import PanelEvent
from quorum.domain.fact import CanonicalPlace
from quorum.domain.text.json_value import JsonObject


class ReviewerLooked(PanelEvent, frozen=True, kw_only=True, tag="reviewer_looked"):
    """A call has ended with which a reviewer, or a participant that makes a plan or a draft, looks at the
    repository. `characters` is how much it was shown."""

    place: ClassVar = CanonicalPlace.BY_CHANCE
    label: str
    tool: str
    arguments: JsonObject
    outcome: Outcome
    characters: int


class PartReviewed(PanelEvent, frozen=True, kw_only=True, tag="part_reviewed"):
    """A reviewer's answer about a part of the change is there, or never will be."""

    place: ClassVar = CanonicalPlace.BY_CHANCE
    review: PartReview


class FindingsTried(PanelEvent, frozen=True, kw_only=True, tag="findings_tried"):
    """A model has tried findings of others; where it gave no answer, `error` says why. `question` is the digest
    of what it was asked."""

    place: ClassVar = CanonicalPlace.BY_CHANCE
    label: str
    question: str
    trials: tuple[Trial, ...] = ()
    error: str = ""


class ChangeReviewed(PanelEvent, frozen=True, kw_only=True, tag="change_reviewed"):
    """What a code review comes to."""

    result: ReviewResult
