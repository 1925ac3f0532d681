"""The person of a run that nobody watches, and of models that must not reach anybody with a question."""

from __future__ import annotations

from quorum.application.ports.people import ReviewContext
from quorum.domain.conversation.spend_caps import SpendQuestion
from quorum.domain.mcp.server_question import ServerAction, ServerAnswer, ServerQuestion
from quorum.domain.review.questions import NobodyThere, ReviewAnswer, ReviewRequest
from quorum.domain.sessions.trust import TrustQuestion


class NonInteractiveApprover:
    """Implements `Approver` where nobody can be asked: what would have to be asked is withheld."""

    is_there = False

    async def review(self, request: ReviewRequest, review_context: ReviewContext) -> ReviewAnswer:
        """Withhold every call that would have to be asked about."""
        return NobodyThere()

    async def trust(self, question: TrustQuestion) -> bool:
        return False

    async def offer_sandboxed(self, sandbox: str) -> bool | None:
        """Choose no mode."""
        return False

    async def answer_server(self, question: ServerQuestion) -> ServerAnswer:
        return ServerAnswer(action=ServerAction.DECLINE)

    async def raise_cap(self, question: SpendQuestion) -> bool:
        return False
