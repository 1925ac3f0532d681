"""What fills the window of a session's model, and making room in it because the person asks for it."""

from __future__ import annotations

from quorum.application.context.context_manager import ContextManager
from quorum.application.session.session_models import SessionModels
from quorum.domain.conversation.context_account import ContextAccount
from quorum.domain.errors import ConversationError


class SessionContext:
    """Measures and compacts the conversation of a session, for the model that it has at the time. `refusal`
    says why there is none to measure."""

    def __init__(self, manager: ContextManager, models: SessionModels, refusal: str = "") -> None:
        self._refusal = refusal
        self._manager = manager
        self._models = models

    @property
    def use(self) -> tuple[int, int]:
        """How many tokens the next request takes of the model's window, about, and how many there are.

        0 stands for a window that is not known, or for a model that has none.
        """
        if self._refusal:
            return 0, 0
        use = self._manager.gauge.measure(self._models.current)
        return use.tokens, use.window or 0

    @property
    def account(self) -> ContextAccount:
        """What fills the model's window, reckoned from the whole conversation."""
        if self._refusal:
            return ContextAccount(tokens=0, window=0, limit=0, freed=0, shares=(), largest=())
        return self._manager.build_account(self._models.current)

    async def compact(self, focus: str) -> str:
        """Let a summary take the place of the conversation so far; what that came to, in a sentence.

        `focus` is what to keep in view; it may be empty. Raises ProviderError and ConversationError, and leaves
        all as it was, where there is none to be had.
        """
        if self._refusal:
            raise ConversationError(self._refusal)
        done = await self._manager.compact(self._models.current, focus or None)
        return f"about {done.tokens_before:,} → {done.tokens_after:,} tokens"
