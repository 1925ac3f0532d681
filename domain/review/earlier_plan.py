"""A plan that reviewers judged before the one that the person is asked about."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.review.ballot import Ballot


class EarlierPlan(Struct, frozen=True, kw_only=True):
    """The plan of round `number`, as Markdown, and the votes on it."""

    number: int
    text: str
    ballots: tuple[Ballot, ...]
