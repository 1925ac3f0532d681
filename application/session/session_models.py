"""The model of a session, those that could take its place, and what fills its window."""

from __future__ import annotations

import asyncio

from quorum.application.context.context_manager import ContextManager
from quorum.application.event_bus import EventBus
from quorum.application.ports.models import LlmGateway
from quorum.application.turn.switchable_session import ReasoningEfforts, SwitchableSession, describe_refusal
from quorum.domain.conversation.context_account import ContextAccount
from quorum.domain.conversation.effort import Effort
from quorum.domain.errors import ConversationError, ProviderError, ProviderErrorKind
from quorum.domain.events.event import ModelChanged


class SessionModels:
    """Tells and changes the model of a session. `gateway` reaches the models of all providers."""

    def __init__(
        self, session: SwitchableSession, *, gateway: LlmGateway, events: EventBus, efforts: ReasoningEfforts
    ) -> None:
        self._session = session
        self._efforts = efforts
        self._gateway = gateway
        self._events = events
        self._choosing = asyncio.Lock()

    @property
    def current(self) -> str:
        """The full name of the model chosen, "provider/model"."""
        return self._session.model

    @property
    def effort(self) -> Effort:
        """The reasoning effort that the model is asked for."""
        return self._efforts.get_effort(self.current)

    def get_effort(self, model: str) -> Effort:
        """The reasoning effort that another model would be asked for."""
        return self._efforts.get_effort(model)

    def list_efforts(self, model: str) -> tuple[Effort, ...]:
        """The efforts that the API of a model takes, the least first; none where it does not reason."""
        return self._efforts.list_taken(model)

    async def choose(self, model: str, effort: Effort | None = None) -> None:
        """Choose another model or effort; None keeps the one set for the model. It holds from the next request
        on, and for one that waits to be repeated.

        Raises ProviderError(CONFIGURATION), and leaves all as it was, where it cannot be had.
        """
        async with self._choosing:
            current = self.current, self.effort
            if effort is None:
                effort = self._efforts.get_effort(model)
            elif effort not in (taken := self._efforts.list_taken(model)) and self._is_known(model):
                raise ProviderError(
                    describe_refusal(model, effort, taken), kind=ProviderErrorKind.CONFIGURATION
                )
            if (model, effort) == current:
                return
            before = self._efforts.choose(model, effort)
            try:
                session = await self._session.open(model)
                await self._events.record(ModelChanged(model=session.model, effort=effort))
            except BaseException:
                self._efforts.choose(model, before)
                raise
            self._session.switch(session)

    def _is_known(self, model: str) -> bool:
        """Whether there is such a provider; else the failure to open a session says so better."""
        return model.partition("/")[0] in self.providers

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the providers there are."""
        return self._gateway.providers

    @property
    def configured_providers(self) -> tuple[str, ...]:
        return self._gateway.configured_providers

    async def list_models(self, provider: str) -> tuple[str, ...]:
        """The models a provider lists, each as "provider/model". Raises ProviderError."""
        return await self._gateway.list_models(provider)

    async def aclose(self) -> None:
        """Close the connections to all models."""
        await self._gateway.aclose()


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
