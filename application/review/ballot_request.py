"""Asking one reviewer for its ballot: one request, for calls that wait for it and for measuring reviewers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from quorum.application.ports.models import LlmGateway
from quorum.application.review.ballot_paper import BallotPaper
from quorum.application.review.quorum_policy import QuorumPolicy
from quorum.application.structured_answer import ask_in_form
from quorum.domain.conversation.effort import find_effort
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.review.ballot import Ballot


async def request_ballot(
    gateway: LlmGateway,
    policy: QuorumPolicy,
    reviewer: str,
    paper: BallotPaper,
    *,
    count: Callable[[LlmResponse], Awaitable[None]],
) -> Ballot:
    """Put a paper to a reviewer within the time that the policy gives it. `count` is given each response.

    Raises TimeoutError, Unreadable, ProviderError and SpendCapReached.
    """
    async with asyncio.timeout(policy.vote_timeout_secs):
        conversation, instructions = Conversation(), paper.render_instructions(policy.find_lens(reviewer))
        effort = find_effort(policy.efforts, reviewer, "review")
        session = gateway.open_session(reviewer, conversation, instructions, effort=effort)
        return await ask_in_form(session, conversation, paper.question, paper.make_form(reviewer), count=count)
