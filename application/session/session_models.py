"""The model of a session, and those that could take its place."""

from __future__ import annotations

import asyncio

from application.events.event_bus import EventBus
from application.ports.models import LlmGateway
from application.turn.switchable_session import SwitchableSession
from domain.events.event import ModelChanged


class SessionModels:
    """Tells and changes the model of a session. `gateway` reaches the models of all providers."""

    def __init__(self, session: SwitchableSession, *, gateway: LlmGateway, events: EventBus) -> None:
        self._session = session
        self._gateway = gateway
        self._events = events
        self._choosing = asyncio.Lock()

    @property
    def current(self) -> str:
        """The full name of the model chosen, "provider/model"."""
        return self._session.model

    async def choose(self, model: str) -> None:
        """Choose another model; it holds from the next request on, and for one that waits to be repeated.

        Raises ProviderError(CONFIGURATION), and leaves all as it was, where it cannot be had.
        """
        async with self._choosing:
            if model != self.current:
                session = await self._session.open(model)
                await self._events.record(ModelChanged(model=session.model))
                self._session.switch(session)

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the providers there are."""
        return self._gateway.providers

    @property
    def configured_providers(self) -> tuple[str, ...]:
        """The names of those that someone has set up, as far as this is known without asking a keyring."""
        return self._gateway.configured_providers

    async def list_models(self, provider: str) -> tuple[str, ...]:
        """The models a provider lists, each as "provider/model". Raises ProviderError."""
        return await self._gateway.models(provider)

    async def aclose(self) -> None:
        """Close the connections to all models."""
        await self._gateway.aclose()
