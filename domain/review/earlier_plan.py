"""A plan that reviewers judged before the one that the person is asked about."""

from __future__ import annotations

from domain.lazy_dataclass import dataclass
from domain.review.ballot import Ballot


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierPlan:
    """The plan of round `number`, as Markdown, and the votes on it."""

    number: int
    text: str
    ballots: tuple[Ballot, ...]
