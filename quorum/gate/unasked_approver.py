"""The person of a gate that nobody watches: what the reviewers say is waited for, and given to the caller."""

from __future__ import annotations

import asyncio

from application.ports.people import ReviewContext
from domain.conversation.spend_caps import SpendQuestion
from domain.mcp.server_question import ServerAction, ServerAnswer, ServerQuestion
from domain.review.questions import NobodyThere, ReviewAnswer, ReviewRequest
from domain.sessions.trust import TrustQuestion


class UnaskedApprover:
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

    async def trust(self, question: TrustQuestion) -> bool:
        """Trust nothing."""
        return False

    async def offer_sandboxed(self, sandbox: str) -> bool:
        """Nobody is there to choose a mode."""
        return False

    async def answer_server(self, question: ServerQuestion) -> ServerAnswer:
        """Tell the server nothing."""
        return ServerAnswer(action=ServerAction.DECLINE)

    async def raise_cap(self, question: SpendQuestion) -> bool:
        """Raise no spend cap."""
        return False
