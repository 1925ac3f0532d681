"""The person of a gate that nobody watches: what the reviewers say is waited for, and given to the caller."""

from __future__ import annotations

import asyncio

from quorum.application.ports.people import ReviewContext
from quorum.application.review.non_interactive_approver import NonInteractiveApprover
from quorum.domain.review.questions import NobodyThere, ReviewAnswer, ReviewRequest


class UnaskedApprover(NonInteractiveApprover):
    """Implements `Approver`. The caller asks its own person, who reads the votes with the question."""

    is_there = True

    async def review(self, request: ReviewRequest, review_context: ReviewContext) -> ReviewAnswer:
        """Wait for the votes, and leave the question to the caller."""
        complete = asyncio.Event()

        def look() -> None:
            if not review_context.awaited:
                complete.set()

        stop = review_context.watch(look)
        try:
            look()
            await complete.wait()
        finally:
            stop()
        return NobodyThere()
