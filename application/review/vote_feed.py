"""The votes about one packet, as they come in: whoever shows them looks again when notified."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from quorum.domain.review.ballot import Ballot
from quorum.domain.review.quorum_result import SparedVote


class VoteFeed:
    """Ballots of the reviewers, in the order they arrived. Lives on one event loop.

    `lenses` names the lens of each reviewer that has one; `spared` are the votes that nobody asks for any more.
    """

    def __init__(self, reviewers: Sequence[str] = (), lenses: Mapping[str, str] | None = None) -> None:
        self.reviewers = tuple(reviewers)
        self.lenses: Mapping[str, str] = lenses or {}
        self.spared: tuple[SparedVote, ...] = ()
        self._ballots: list[Ballot] = []
        self._watchers: list[Callable[[], None]] = []

    @property
    def ballots(self) -> tuple[Ballot, ...]:
        """What has been said so far."""
        return tuple(self._ballots)

    @property
    def awaited(self) -> tuple[str, ...]:
        """The reviewers that have not answered yet, and still may."""
        settled = {ballot.reviewer for ballot in self._ballots} | {vote.model for vote in self.spared}
        return tuple(reviewer for reviewer in self.reviewers if reviewer not in settled)

    @property
    def not_asked(self) -> tuple[str, ...]:
        """The reviewers that are not asked at all."""
        return tuple(vote.model for vote in self.spared)

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Have `watcher` called after each arrival; the answer ends that."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher) if watcher in self._watchers else None

    def add(self, ballot: Ballot) -> None:
        """Take in a ballot."""
        self._ballots.append(ballot)
        self._notify()

    def spare(self, votes: Sequence[SparedVote]) -> None:
        """Wait for these votes no more: nobody asks for them."""
        self.spared = tuple(votes)
        self._notify()

    def _notify(self) -> None:
        for watcher in tuple(self._watchers):
            watcher()
