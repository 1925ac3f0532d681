"""What happens in a code review beside what its panel tells: what reviewers look at, find and try."""

from __future__ import annotations

from typing import ClassVar

from domain.calls.execution import Outcome
from domain.code_review.finding import Trial
from domain.code_review.review_result import PartReview, ReviewResult
from domain.events.panel import PanelEvent
from domain.lazy_dataclass import dataclass
from domain.text.json_value import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerLooked(PanelEvent):
    """A call has ended with which a reviewer, or a participant that makes a plan or a draft, looks at the
    repository. `characters` is how much it was shown."""

    type: ClassVar = "reviewer_looked"
    durable: ClassVar = True
    label: str
    tool: str
    arguments: JsonObject
    outcome: Outcome
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartReviewed(PanelEvent):
    """A reviewer's answer about a part of the change is there, or never will be."""

    type: ClassVar = "part_reviewed"
    durable: ClassVar = True
    review: PartReview


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsTried(PanelEvent):
    """A model has tried findings of others; where it gave no answer, `error` says why. `question` is the digest
    of what it was asked."""

    type: ClassVar = "findings_tried"
    durable: ClassVar = True
    label: str
    question: str
    trials: tuple[Trial, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReviewed(PanelEvent):
    """What a code review comes to."""

    type: ClassVar = "change_reviewed"
    durable: ClassVar = True
    result: ReviewResult
