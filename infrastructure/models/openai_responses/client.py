"""The wire to OpenAI Responses, through the official SDK."""

from __future__ import annotations

from application.ports.models import OnStreamEvent
from domain.conversation.image import ImageLimits
from domain.conversation.response import LlmResponse
from domain.errors import ProviderError, ProviderErrorKind
from infrastructure.models.clouds.endpoint import Endpoint
from infrastructure.models.openai_responses.answer import ResponsesAnswer
from infrastructure.models.openai_responses.payload import responses_history, responses_payload
from infrastructure.models.openai_sdk import OPENAI_IMAGES, OpenAiClient
from infrastructure.models.shared.api_client import ApiRequest


class OpenAiResponses:
    """Implements `ApiClient` over Responses. Nothing is stored on the server: every request is whole."""

    def __init__(self, endpoint: Endpoint, *, max_output_tokens: int | None = None) -> None:
        self._endpoint = endpoint
        self._failures = endpoint.failures()
        self._max_tokens = max_output_tokens
        self._history = responses_history(endpoint.provider)
        self._client = OpenAiClient(endpoint, "responses")
        self._models_without_reasoning: set[str] = set()

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
            if request.model in self._models_without_reasoning or not _refuses_encrypted_reasoning(error):
                raise
        # models that do not reason refuse to be asked for their encrypted reasoning
        self._models_without_reasoning.add(request.model)
        return await self._send(request, on_event)

    async def models(self) -> tuple[str, ...]:
        """The models the server lists. Raises ProviderError, also where it has no list."""
        return await self._client.models()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _send(self, request: ApiRequest, on_event: OnStreamEvent) -> LlmResponse:
        body = responses_payload(
            request,
            history=self._history,
            max_tokens=self._max_tokens,
            wants_reasoning=request.model not in self._models_without_reasoning,
        )
        answer = ResponsesAnswer(self.provider, on_event, self._failures)
        return await self._client.send(request.model, body, answer)


def _refuses_encrypted_reasoning(error: ProviderError) -> bool:
    text = str(error).lower().replace("_", " ")
    return error.kind is ProviderErrorKind.BAD_REQUEST and "encrypted content" in text and "support" in text
