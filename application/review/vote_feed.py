"""The votes about one packet, as they come in: whoever shows them looks again when notified."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from domain.review.ballot import Ballot


class VoteFeed:
    """Ballots of the asked reviewers, in the order they arrived. Lives on one event loop."""

    def __init__(self, reviewers: Sequence[str] = ()) -> None:
        self.reviewers = tuple(reviewers)
        self._ballots: list[Ballot] = []
        self._watchers: list[Callable[[], None]] = []

    @property
    def ballots(self) -> tuple[Ballot, ...]:
        """What has been said so far."""
        return tuple(self._ballots)

    @property
    def awaited(self) -> tuple[str, ...]:
        """The reviewers that have not answered yet."""
        answered = {ballot.reviewer for ballot in self._ballots}
        return tuple(reviewer for reviewer in self.reviewers if reviewer not in answered)

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Have `watcher` called after each arrival; the answer ends that."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher) if watcher in self._watchers else None

    def add(self, ballot: Ballot) -> None:
        """Take in a ballot."""
        self._ballots.append(ballot)
        for watcher in tuple(self._watchers):
            watcher()
