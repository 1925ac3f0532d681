"""The turns of a session in a layer: at the end of each nothing runs any more, and its effects wait."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress

from quorum.application.event_bus import EventBus
from quorum.application.staging.effects_inquiry import EffectsInquiry
from quorum.application.staging.effects_review import EffectsReview
from quorum.domain.errors import StagingError
from quorum.domain.events.event import ErrorOccurred, LayerEntered


class StagedTurns:
    """What a session in a layer does at its beginning, and at the end of each turn.

    `end_jobs` ends what turns left running; `hold` keeps the layer from being taken away meanwhile. `entered`
    says what was found in it.
    """

    def __init__(
        self,
        review: EffectsReview,
        inquiry: EffectsInquiry,
        end_jobs: Callable[[], Awaitable[None]],
        events: EventBus,
        *,
        hold: Callable[[], AbstractContextManager[None]],
        entered: LayerEntered,
    ) -> None:
        self.review, self.inquiry, self.hold = review, inquiry, hold
        self._end_jobs, self._events, self._entered = end_jobs, events, entered

    async def open(self) -> None:
        """Record that the session works in the layer, and merge what subagents of earlier processes did in
        theirs. Raises LedgerError."""
        await self._events.announce(self._entered)
        await self.review.merge_left()

    async def note_files(self, upper: str = "") -> None:
        """Keep what files held that a batch changed, in the layer of a subagent's own that the kernel keeps in
        `upper`, or here: the person may change them before the turn ends."""
        with suppress(StagingError):  # the end of the turn reads them, too, and says so
            await self.review.note_files(upper)

    async def note_files_of(self, subagent_id: str, tell: Callable[[str], Awaitable[None]]) -> None:
        """The same after a batch of a subagent, which reads where it replaced lines of another."""
        await self.note_files()
        await self.review.tell_of_overlaps(subagent_id, tell)

    async def gather_votes(self) -> None:
        """Have the reviewers vote on what the turn did. Raises LedgerError."""
        if not self.review.has_reviewers:
            return
        await self._end_jobs()
        with suppress(StagingError):  # as above
            await self.review.vote(await self.review.read())

    async def conclude(self) -> bool:
        """End what the turn left running, and record what waits: whether anything does. Raises LedgerError."""
        await self._end_jobs()
        try:
            return await self.review.note_waiting() is not None
        except StagingError as error:
            await self._events.record(ErrorOccurred(message=f"the effects of the turn are not known: {error}"))
            return True
