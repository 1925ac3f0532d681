"""Opens sessions with "provider/model", whichever provider that is."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import assert_never

from application.ports import MessageShaper
from domain.conversation import Conversation
from domain.errors import ProviderError, ProviderErrorKind
from infrastructure.providers.session import ConversationSession
from infrastructure.providers.wire import ProviderSettings, WarmWire, Wire


class ProviderGateway:
    """Implements `LlmGateway` over the configured providers; each gets one wire, kept for all sessions.

    `environ` holds the keys. The modules of a provider are imported when it is first asked for.
    """

    def __init__(
        self, settings: Mapping[str, ProviderSettings], *, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._wires: dict[str, Wire] = {}
        self._building = threading.Lock()

    def session(
        self, model: str, conversation: Conversation, system: str, shape: MessageShaper | None = None
    ) -> ConversationSession:
        """A session with "provider/model". Raises ProviderError(CONFIGURATION) if that cannot be had."""
        provider, own_name = self._split(model)
        return ConversationSession(
            self._wire(provider),
            conversation,
            model=own_name,
            system=system,
            shape=shape,
            max_retries=self._settings[provider].max_retries,
        )

    def warm_up(self, model: str) -> None:
        """Load what a session with this model needs. Blocks: call it from a background thread.

        A model that cannot be had is passed over in silence: whoever opens a session with it is told.
        """
        try:
            wire = self._wire(self._split(model)[0])
            if isinstance(wire, WarmWire):
                wire.warm_up()
        except ProviderError:
            return

    async def aclose(self) -> None:
        """Close the connections of all sessions."""
        wires, self._wires = self._wires, {}
        for wire in wires.values():
            await wire.aclose()

    def _split(self, model: str) -> tuple[str, str]:
        provider, _, own_name = model.partition("/")
        if provider not in self._settings:
            known = ", ".join(sorted(self._settings)) or "none"
            raise _misconfigured(
                f'model "{model}": there is no provider "{provider}"; the known ones are {known}: write '
                f"provider/model, or declare [providers.{provider}]"
            )
        if not own_name:
            raise _misconfigured(f'model "{model}" names no model; write "{provider}/" and the model\'s name')
        return provider, own_name

    def _wire(self, provider: str) -> Wire:
        with self._building:
            if provider not in self._wires:
                self._wires[provider] = self._build(provider, self._settings[provider])
            return self._wires[provider]

    def _build(self, provider: str, settings: ProviderSettings) -> Wire:
        match settings.type:
            case "anthropic":
                from infrastructure.providers.anthropic_messages import ANTHROPIC, AnthropicMessages
                from infrastructure.providers.endpoint import Endpoint

                endpoint = Endpoint.of(provider, settings, self._environ, ANTHROPIC)
                return AnthropicMessages(endpoint, max_output_tokens=settings.max_output_tokens)
            case "openai":
                from infrastructure.providers.endpoint import Endpoint
                from infrastructure.providers.openai_client import OPENAI
                from infrastructure.providers.openai_responses import OpenAiResponses

                endpoint = Endpoint.of(provider, settings, self._environ, OPENAI)
                return OpenAiResponses(endpoint, max_output_tokens=settings.max_output_tokens)
            case "openai-chat":
                from infrastructure.providers.endpoint import Endpoint
                from infrastructure.providers.openai_chat import OpenAiChat
                from infrastructure.providers.openai_client import OPENAI

                endpoint = Endpoint.of(provider, settings, self._environ, OPENAI)
                return OpenAiChat(endpoint, max_output_tokens=settings.max_output_tokens)
            case "offline":
                from infrastructure.providers.offline import OfflineWire

                return OfflineWire()
            case never:
                assert_never(never)


def _misconfigured(text: str) -> ProviderError:
    return ProviderError(text, kind=ProviderErrorKind.CONFIGURATION)
