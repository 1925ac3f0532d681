"""The person of a run whose reviews are answered later, from another process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from quorum.application.ports.people import PersonAnswer, Question, ReviewQuestion
from quorum.application.review.non_interactive_approver import NonInteractiveApprover
from quorum.domain.review.questions import NobodyThere, ReviewAnswer


class DeferringApprover(NonInteractiveApprover):
    """Implements `Approver` by leaving reviews open: none is answered here, and whoever runs the turn ends the
    process. All other questions are answered as where nobody is there.

    A review that no later process could ask again is withheld: that of a subagent, which ends with the process,
    and one about a secret, which is not recorded. `on_review` is called whenever a review begins to wait.
    """

    def __init__(self, on_review: Callable[[], None] = lambda: None) -> None:
        self._on_review = on_review
        self._waiting: list[str] = []

    @property
    def waiting(self) -> tuple[str, ...]:
        """The digests of the reviews that wait now."""
        return tuple(self._waiting)

    async def ask(self, question: Question) -> PersonAnswer:
        """Wait without an end for a review, or withhold what cannot be asked again."""
        if not isinstance(question, ReviewQuestion):
            return await super().ask(question)
        packet = question.request.packet
        if packet.asked_by or not question.request.is_recorded_whole:
            return NobodyThere()
        self._waiting.append(packet.digest)
        self._on_review()
        try:
            unanswered: asyncio.Future[ReviewAnswer] = asyncio.get_running_loop().create_future()
            return await unanswered
        finally:
            self._waiting.remove(packet.digest)
