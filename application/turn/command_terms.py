"""What a custom command sets for its turn: the tools that may change something, and the model that answers."""

from __future__ import annotations

from quorum.application.ports.instructions import PromptExpander
from quorum.application.ports.models import LlmExchange, LlmGateway
from quorum.application.review.review import Review
from quorum.application.turn.fallback_models import SESSIONS_OWN, complete_model_name
from quorum.application.turn.switchable_session import SwitchableSession
from quorum.domain.errors import ProviderError
from quorum.domain.instructions.custom_command import ExpandedCommand
from quorum.domain.review.allowed_tools import AllowedTools


class CommandTerms:
    """The tools and model that a custom command sets, in force from `begin` to `end`.

    `expander` knows the commands, `gateway` the models of a provider.
    """

    def __init__(
        self, expander: PromptExpander, review: Review, session: SwitchableSession, gateway: LlmGateway
    ) -> None:
        self._expander = expander
        self._review = review
        self._session = session
        self._gateway = gateway
        self._exchanged: tuple[LlmExchange, LlmExchange] | None = None

    async def expand(self, prompt: str) -> tuple[ExpandedCommand | None, tuple[str, ...]]:
        """Expand a prompt; None where it is no custom command. Also returns sentences for the person.

        Raises CommandRefused.
        """
        return await self._expander.expand(prompt)

    async def begin(self, command: ExpandedCommand | None) -> tuple[str, ...]:
        """Apply what a command sets, if there is one. Returns a sentence for each part that cannot be."""
        if command is None:
            return ()
        if command.allowed_tools is not None:
            self._review.allowed_tools = AllowedTools.parse(command.name, command.allowed_tools)
        if command.model in SESSIONS_OWN:
            return ()
        try:
            other = await self._session.open(
                await complete_model_name(command.model, self._session.model, self._gateway)
            )
        except ProviderError as error:
            return (
                f"/{command.name} asks for the model {command.model}, which cannot be had: {error}; "
                f"{self._session.model} answers",
            )
        if other.model != self._session.model:
            self._exchanged = self._session.chosen, other
            self._session.switch(other)
        return ()

    def end(self) -> None:
        """Restore the session's own tools and model, unless the person chose another model meanwhile."""
        self._review.allowed_tools = None
        if self._exchanged is not None:
            own, other = self._exchanged
            self._exchanged = None
            if self._session.chosen is other:
                self._session.switch(own)
