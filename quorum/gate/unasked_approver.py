"""The person of a gate that nobody watches: what the reviewers say is waited for, and given to the caller."""

from __future__ import annotations

import asyncio

from quorum.application.ports.people import PersonAnswer, Question, ReviewQuestion
from quorum.application.review.non_interactive_approver import NonInteractiveApprover
from quorum.domain.review.questions import NobodyThere


class UnaskedApprover(NonInteractiveApprover):
    """Implements `Approver`. The caller asks its own person, who reads the votes with the question."""

    is_there = True

    async def ask(self, question: Question) -> PersonAnswer:
        """Wait for the votes about a call, and leave the question to the caller."""
        if not isinstance(question, ReviewQuestion):
            return await super().ask(question)
        context, complete = question.context, asyncio.Event()

        def look() -> None:
            if not context.awaited:
                complete.set()

        stop = context.watch(look)
        try:
            look()
            await complete.wait()
        finally:
            stop()
        return NobodyThere()
