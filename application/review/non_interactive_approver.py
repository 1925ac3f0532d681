"""The person of a run that nobody watches, and of models that must not reach anybody with a question."""

from __future__ import annotations

from quorum.application.ports.people import PersonAnswer, Question, ReviewQuestion, SandboxQuestion
from quorum.domain.conversation.cost import SpendQuestion
from quorum.domain.mcp.server_question import ServerAction, ServerAddress, ServerAnswer, ServerForm
from quorum.domain.review.questions import NobodyThere
from quorum.domain.sessions.trust import TrustQuestion


class NonInteractiveApprover:
    """Implements `Approver` where nobody can be asked: what would have to be asked is withheld."""

    is_there = False

    async def ask(self, question: Question) -> PersonAnswer:
        """Withhold every call that would have to be asked about, and say no to all else."""
        match question:
            case ReviewQuestion():
                return NobodyThere()
            case ServerForm() | ServerAddress():
                return ServerAnswer(action=ServerAction.DECLINE)
            case TrustQuestion() | SpendQuestion() | SandboxQuestion():
                return False
