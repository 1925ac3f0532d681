"""A gateway whose sessions are put onto it beforehand, all for one conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from quorum.application.ports.models import LlmExchange, LlmSession, MessageShaper
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import ProviderError, ProviderErrorKind
from tests.support.fake_session import FakeSession


@dataclass(slots=True)
class FakeProviders:
    """Implements `LlmGateway`: `sessions` are those that can be had, `listed` what each provider lists,
    `efforts` those that models take, and `asked` which were asked of them."""

    conversation: Conversation
    sessions: dict[str, LlmSession] = field(default_factory=dict)
    listed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    efforts: Mapping[str, tuple[Effort, ...]] = field(default_factory=dict)
    asked: list[tuple[str, Effort]] = field(default_factory=list)

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
        """The session of that name."""
        assert conversation is self.conversation
        self.asked.append((model, effort))
        if model not in self.sessions:
            raise ProviderError(f"there is no {model}", kind=ProviderErrorKind.CONFIGURATION)
        return self.sessions[model]

    def open_exchange(self, model: str) -> LlmExchange:
        """The session of that name, which can be asked without its conversation as well."""
        session = self.open(model)
        assert isinstance(session, FakeSession)
        return session

    def list_efforts(self, model: str) -> tuple[Effort, ...]:
        """Those that the model takes."""
        return self.efforts.get(model, ())

    def open(self, model: str) -> LlmSession:
        """A session for the one conversation."""
        return self.open_session(model, self.conversation, "")

    async def list_models(self, provider: str) -> tuple[str, ...]:
        """What the provider lists."""
        if provider not in self.listed:
            raise ProviderError(f"{provider} could not be reached", kind=ProviderErrorKind.CONNECTION)
        return self.listed[provider]

    async def aclose(self) -> None:
        """There is nothing to close."""
