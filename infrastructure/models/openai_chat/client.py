"""The wire to OpenAI Chat Completions, and to the many servers that speak it, through the official SDK."""

from __future__ import annotations

from application.ports.models import OnStreamEvent
from domain.conversation.image import ImageLimits
from domain.conversation.response import LlmResponse
from domain.errors import ProviderError, ProviderErrorKind
from infrastructure.models.clouds.endpoint import AzureAccess, Endpoint
from infrastructure.models.openai_chat.answer import ChatAnswer
from infrastructure.models.openai_chat.payload import chat_history, chat_payload
from infrastructure.models.openai_sdk import OPENAI_IMAGES, OpenAiClient
from infrastructure.models.shared.api_client import ApiRequest


class OpenAiChat:
    """Implements `ApiClient` over Chat Completions."""

    def __init__(self, endpoint: Endpoint, *, max_output_tokens: int | None = None) -> None:
        self._endpoint = endpoint
        self._failures = endpoint.failures()
        self._max_tokens = max_output_tokens
        # OpenAI's own models refuse the old name, most other servers know no other
        self._max_tokens_field = (
            "max_completion_tokens"
            if endpoint.host.endswith(".openai.com") or isinstance(endpoint.cloud, AzureAccess)
            else "max_tokens"
        )
        self._history = chat_history(endpoint.provider)
        self._client = OpenAiClient(endpoint, "chat")
        self._models_that_miss_reasoning: set[str] = set()

    @property
    def provider(self) -> str:
        """The name of the provider in the settings."""
        return self._endpoint.provider

    @property
    def image_limits(self) -> ImageLimits:
        """What OpenAI takes in one request."""
        return OPENAI_IMAGES

    def warm_up(self) -> None:
        """Load the SDK. Blocks; may be called from any thread. Raises ProviderError(CONFIGURATION)."""
        self._client.warm_up()

    async def exchange(self, request: ApiRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Send one request and stream its answer. Raises ProviderError."""
        try:
            return await self._send(request, on_event)
        except ProviderError as error:
            if request.model in self._models_that_miss_reasoning or not _misses_reasoning(error):
                raise
        # some models refuse a history of which they did not think every answer, as after a change of model
        self._models_that_miss_reasoning.add(request.model)
        return await self._send(request, on_event)

    async def models(self) -> tuple[str, ...]:
        """The models the server lists. Raises ProviderError, also where it has no list."""
        return await self._client.models()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _send(self, request: ApiRequest, on_event: OnStreamEvent) -> LlmResponse:
        body = chat_payload(
            request,
            history=self._history,
            max_tokens=self._max_tokens,
            max_tokens_field=self._max_tokens_field,
            fills_reasoning=request.model in self._models_that_miss_reasoning,
        )
        answer = ChatAnswer(self.provider, on_event, self._failures)
        return await self._client.send(request.model, body, answer)


def _misses_reasoning(error: ProviderError) -> bool:
    text = str(error).lower()
    is_missed = "reasoning_content" in text and any(word in text for word in ("missing", "passed back"))
    return error.kind is ProviderErrorKind.BAD_REQUEST and not error.partial and is_missed
