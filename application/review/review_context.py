"""What an open review shows beside the call: the votes as they come in, and what a rule would do."""

from __future__ import annotations

from collections.abc import Callable

from application.review.vote_feed import VoteFeed
from domain.review.ballot import Ballot, Tally
from domain.review.questions import RulePreview


class OpenReviewContext:
    """Implements `ReviewContext` over the votes about one packet and the rules about one call."""

    def __init__(
        self,
        feed: VoteFeed,
        *,
        count: Callable[[tuple[Ballot, ...]], Tally],
        independent: bool,
        preview: Callable[[str], RulePreview],
    ) -> None:
        self.reviewers = feed.reviewers
        self.independent = independent
        self.watch = feed.watch
        self.preview = preview
        self._feed = feed
        self._count = count

    @property
    def ballots(self) -> tuple[Ballot, ...]:
        """What the reviewers have said so far, in the order it came."""
        return self._feed.ballots

    @property
    def tally(self) -> Tally:
        """What that comes to; a vote still awaited counts as failed."""
        return self._count(self._feed.ballots)
