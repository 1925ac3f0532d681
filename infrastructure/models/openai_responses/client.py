"""The API client of OpenAI Responses, through the official SDK."""

from __future__ import annotations

from quorum.application.ports.models import OnStreamEvent
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.clouds.endpoint import Endpoint
from quorum.infrastructure.models.openai_responses.answer import ResponsesAnswer
from quorum.infrastructure.models.openai_responses.payload import (
    build_responses_history,
    build_responses_payload,
)
from quorum.infrastructure.models.openai_sdk import OpenAiDialect
from quorum.infrastructure.models.shared.api_client import ApiRequest


class OpenAiResponses(OpenAiDialect):
    """Implements `ApiClient` over Responses. Nothing is stored on the server: every request is whole."""

    def __init__(self, endpoint: Endpoint, *, max_output_tokens: int | None = None) -> None:
        super().__init__(endpoint, "responses", max_output_tokens=max_output_tokens)
        self._history = build_responses_history(endpoint.provider)

    async def _send(self, request: ApiRequest, on_event: OnStreamEvent) -> LlmResponse:
        body = build_responses_payload(
            request,
            history=self._history,
            max_tokens=request.max_output_tokens or self._max_tokens,
            wants_reasoning=request.model not in self._plain,
        )
        answer = ResponsesAnswer(self.provider, on_event, self._failures)
        return await self._client.send(request.model, body, answer)

    def _is_about_reasoning(self, error: ProviderError) -> bool:
        """Models that do not reason refuse to be asked for their encrypted reasoning."""
        text = str(error).lower().replace("_", " ")
        return error.kind is ProviderErrorKind.BAD_REQUEST and "encrypted content" in text and "support" in text
