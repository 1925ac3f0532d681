"""Opens sessions with "provider/model", whichever provider that is."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, assert_never

from quorum.application.conversation_session import open_session
from quorum.application.ports.models import LlmExchange, LlmSession, MessageShaper
from quorum.application.ports.storage import ContentStore, RequestPacer, RequestRate
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import ProviderError, make_configuration_error
from quorum.infrastructure.extras import is_installed, render_install_command
from quorum.infrastructure.local_pacer import LocalPacer
from quorum.infrastructure.models.shared.api_client import ApiClient, ProviderSettings
from quorum.infrastructure.models.shared.error_bodies import list_efforts
from quorum.infrastructure.models.shared.provider import ApiProvider, Provider
from quorum.infrastructure.provider_types import find_public_service

if TYPE_CHECKING:
    from quorum.infrastructure.models.clouds.endpoint import Endpoint


class ProviderRegistry:
    """Implements `LlmGateway` over the configured providers; each is set up once, for all sessions.

    `environ` holds the keys, and `stored_key` is asked for that of a provider whose variable is not set; it
    answers None where it has none, and raises ConfigError. `contents` keeps the images of
    conversations. `pacer` shares the rates of providers with other processes. `explain_refusal` says why
    "provider/model" may not be asked, and "provider/" that none of that provider may. The modules of a provider
    are imported when it is first asked for.
    """

    def __init__(
        self,
        settings: Mapping[str, ProviderSettings],
        *,
        environ: Mapping[str, str] = os.environ,
        stored_key: Callable[[str], str | None] = lambda _provider: None,
        contents: ContentStore | None = None,
        pacer: RequestPacer | None = None,
        explain_refusal: Callable[[str], str | None] = lambda _model: None,
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._stored_key = stored_key
        self._contents = contents
        self._pacer = pacer or LocalPacer()
        self._explain_refusal = explain_refusal
        self._backends: dict[str, Provider] = {}
        self._building = threading.Lock()

    def open_exchange(self, model: str) -> LlmExchange:
        """What sends conversations to "provider/model". Raises ProviderError(CONFIGURATION) if that cannot be
        had."""
        provider, own_name = self._split(model)
        self._require_allowed(model)
        return self._find_provider(provider).open_exchange(own_name)

    def open_session(
        self,
        model: str,
        conversation: Conversation,
        system: str,
        shape: MessageShaper | None = None,
        *,
        effort: Effort = Effort.DEFAULT,
    ) -> LlmSession:
        """A session with "provider/model". Raises ProviderError(CONFIGURATION) if that cannot be had."""
        return open_session(self.open_exchange(model), conversation, system, shape, effort)

    def list_efforts(self, model: str) -> tuple[Effort, ...]:
        """The reasoning efforts that the API of this model takes; none where there is no such provider."""
        settings = self._settings.get(model.partition("/")[0])
        return list_efforts(settings.type) if settings is not None else ()

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the providers in the settings, in their order."""
        return tuple(name for name in self._settings if self._explain_refusal(f"{name}/") is None)

    @property
    def configured_providers(self) -> tuple[str, ...]:
        """The names of those with a key in the environment, and of own servers that want none."""
        return tuple(name for name in self.providers if self._is_configured(self._settings[name]))

    def _is_configured(self, settings: ProviderSettings) -> bool:
        from quorum.infrastructure.models.shared.stored_keys import list_key_variables

        variables = list_key_variables(settings, find_public_service(settings.type).key_env)
        if not variables:
            return bool(settings.base_url or settings.client)
        return any(self._environ.get(name, "").strip() for name in variables)

    async def list_models(self, provider: str) -> tuple[str, ...]:
        """The models that a provider lists, each as "provider/model", in its order. Raises ProviderError."""
        self._require_allowed(f"{provider}/")
        listed = [f"{provider}/{own_name}" for own_name in await self._find_provider(provider).list_models()]
        return tuple(model for model in listed if self._explain_refusal(model) is None)

    async def find_window(self, model: str, *, is_known: bool) -> int | None:
        """The tokens of the window that the server of "provider/model" gives it, None where it does not say.

        Raises ProviderError where the model cannot be had.
        """
        provider, own_name = self._split(model)
        self._require_allowed(model)
        found = self._find_provider(provider)
        return await found.find_window(own_name, is_known=is_known) if isinstance(found, ApiProvider) else None

    def warm_up(self, model: str) -> None:
        """Load what a session with this model needs. Blocks: call it from a background thread.

        What cannot be had or loaded is passed over in silence: whoever opens a session with it sees the error.
        """
        try:
            self._require_allowed(model)
            self._find_provider(self._split(model)[0]).warm_up()
        except (ProviderError, ImportError, MemoryError, RuntimeError):
            return

    async def aclose(self) -> None:
        """Close the connections of all sessions."""
        backends, self._backends = self._backends, {}
        for backend in backends.values():
            await backend.aclose()

    def _require_allowed(self, model: str) -> None:
        if (why := self._explain_refusal(model)) is not None:
            raise make_configuration_error(why)

    def _split(self, model: str) -> tuple[str, str]:
        provider, _, own_name = model.partition("/")
        if provider not in self._settings:
            known = ", ".join(sorted(self._settings)) or "none"
            raise make_configuration_error(
                f'model "{model}": there is no provider "{provider}"; the known ones are {known}: write '
                f"provider/model, or declare [providers.{provider}]"
            )
        if not own_name:
            raise make_configuration_error(
                f'model "{model}" names no model; write "{provider}/" and the model\'s name'
            )
        return provider, own_name

    def _find_provider(self, provider: str) -> Provider:
        with self._building:
            if provider not in self._backends:
                self._backends[provider] = self._build(provider, self._settings[provider])
            return self._backends[provider]

    def _build(self, provider: str, settings: ProviderSettings) -> Provider:
        client: ApiClient
        if settings.client:
            from quorum.infrastructure.models.clouds.selection import check_type

            check_type(provider, settings)
        if settings.tool_parser and settings.type != "openai-chat":
            raise make_configuration_error(
                f'[providers.{provider}] tool_parser is for type "openai-chat"; with "{settings.type}" the '
                "server reads the calls: remove it, or change the type"
            )
        match settings.type:
            case "anthropic":
                from quorum.infrastructure.models.anthropic.client import AnthropicMessages

                endpoint = self._build_endpoint(provider, settings)
                client = AnthropicMessages(endpoint, max_output_tokens=settings.max_output_tokens)
            case "openai":
                from quorum.infrastructure.models.openai_responses.client import OpenAiResponses

                endpoint = self._build_endpoint(provider, settings)
                client = OpenAiResponses(endpoint, max_output_tokens=settings.max_output_tokens)
            case "openai-chat":
                from quorum.infrastructure.models.openai_chat.client import OpenAiChat

                endpoint = self._build_endpoint(provider, settings)
                client = OpenAiChat(
                    endpoint,
                    max_output_tokens=settings.max_output_tokens,
                    tool_parser=settings.tool_parser,
                )
            case "copilot":
                if not is_installed("copilot"):
                    raise make_configuration_error(
                        f"provider {provider} needs the SDK of GitHub Copilot, which is not installed; "
                        f"install it with: {render_install_command('copilot')}"
                    )
                from quorum.infrastructure.models.copilot.provider import CopilotProvider

                return CopilotProvider(
                    provider, settings, self._get_environment(provider, settings), self._contents
                )
            case "claude-cli" | "codex" | "acp":
                client = self._build_member(provider, settings)
            case "offline":
                from quorum.infrastructure.models.offline import OfflineApiClient

                client = OfflineApiClient()
            case never:
                assert_never(never)
        pace = None
        if settings.requests_per_minute:
            from quorum.infrastructure.models.shared.retry import RequestPace

            pace = RequestPace(self._pacer, provider, RequestRate(settings.requests_per_minute))
        return ApiProvider(
            client,
            max_retries=settings.max_retries,
            contents=self._contents,
            efforts=list_efforts(settings.type),
            pace=pace,
            content_secs=settings.content_timeout_secs,
        )

    def _build_member(self, provider: str, settings: ProviderSettings) -> ApiClient:
        from quorum.infrastructure.models.members.opening import open_member

        return open_member(provider, settings, self._get_environment(provider, settings))

    def _build_endpoint(self, provider: str, settings: ProviderSettings) -> Endpoint:
        environ, public = self._get_environment(provider, settings), find_public_service(settings.type)
        if settings.client:
            from quorum.infrastructure.models.clouds.selection import build_cloud_endpoint

            return build_cloud_endpoint(provider, settings, environ, public)
        from quorum.infrastructure.models.clouds.endpoint import Endpoint

        return Endpoint.of(provider, settings, environ, public)

    def _get_environment(self, provider: str, settings: ProviderSettings) -> Mapping[str, str]:
        """The environment with the provider's key from the keyring, where its variable is not set."""
        from quorum.infrastructure.models.shared.stored_keys import WithStoredKey, list_key_variables

        variables = list_key_variables(settings, find_public_service(settings.type).key_env)
        return WithStoredKey(self._environ, variables, provider, self._stored_key)
