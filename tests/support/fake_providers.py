"""A gateway whose models are put onto it beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from quorum.application.conversation_session import open_session
from quorum.application.ports.models import LlmExchange, LlmSession, MessageShaper
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import ProviderError, ProviderErrorKind


@dataclass(slots=True)
class FakeProviders:
    """Implements `LlmGateway`: `sessions` are those that can be had, `listed` what each provider lists,
    `efforts` those that models take, and `asked` which were asked of them."""

    sessions: dict[str, LlmExchange] = field(default_factory=dict)
    listed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    efforts: Mapping[str, tuple[Effort, ...]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def providers(self) -> tuple[str, ...]:
        """The providers that list something."""
        return tuple(self.listed)

    @property
    def configured_providers(self) -> tuple[str, ...]:
        """All of them."""
        return self.providers

    def open_session(
        self,
        model: str,
        conversation: Conversation,
        system: str,
        shape: MessageShaper | None = None,
        *,
        effort: Effort = Effort.DEFAULT,
    ) -> LlmSession:
        """A session over what is of that name."""
        return open_session(self.open_exchange(model), conversation, system, shape, effort)

    def open_exchange(self, model: str) -> LlmExchange:
        """What is of that name."""
        self.asked.append(model)
        if model not in self.sessions:
            raise ProviderError(f"there is no {model}", kind=ProviderErrorKind.CONFIGURATION)
        return self.sessions[model]

    def list_efforts(self, model: str) -> tuple[Effort, ...]:
        """Those that the model takes."""
        return self.efforts.get(model, ())

    async def list_models(self, provider: str) -> tuple[str, ...]:
        """What the provider lists."""
        if provider not in self.listed:
            raise ProviderError(f"{provider} could not be reached", kind=ProviderErrorKind.CONNECTION)
        return self.listed[provider]

    async def aclose(self) -> None:
        """There is nothing to close."""
