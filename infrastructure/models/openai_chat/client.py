"""The API client of OpenAI Chat Completions and the many servers that speak it, through the official SDK."""

from __future__ import annotations

from application.ports.models import OnStreamEvent
from domain.conversation.response import LlmResponse
from domain.errors import ProviderError, ProviderErrorKind
from domain.textual_calls.families import ToolParser, get_family
from domain.textual_calls.forms import list_argument_schemas
from domain.textual_calls.reader import TextualCallReader
from infrastructure.models.clouds.endpoint import AzureAccess, Endpoint
from infrastructure.models.openai_chat.answer import ChatAnswer
from infrastructure.models.openai_chat.payload import build_chat_history, build_chat_payload
from infrastructure.models.openai_sdk import OpenAiDialect
from infrastructure.models.shared.api_client import ApiRequest


class OpenAiChat(OpenAiDialect):
    """Implements `ApiClient` over Chat Completions. `tool_parser` reads the calls that models write as text."""

    def __init__(
        self, endpoint: Endpoint, *, max_output_tokens: int | None = None, tool_parser: ToolParser = ""
    ) -> None:
        super().__init__(endpoint, "chat", max_output_tokens=max_output_tokens)
        self._tool_parser = tool_parser
        # OpenAI's own models refuse the old name, most other servers know no other
        self._max_tokens_field = (
            "max_completion_tokens"
            if endpoint.host.endswith(".openai.com") or isinstance(endpoint.cloud, AzureAccess)
            else "max_tokens"
        )
        self._history = build_chat_history(endpoint.provider)

    async def _send(self, request: ApiRequest, on_event: OnStreamEvent) -> LlmResponse:
        body = build_chat_payload(
            request,
            history=self._history,
            max_tokens=request.max_output_tokens or self._max_tokens,
            max_tokens_field=self._max_tokens_field,
            fills_reasoning=request.model in self._plain,
        )
        reader = None
        if self._tool_parser and request.tools:
            reader = TextualCallReader(get_family(self._tool_parser), list_argument_schemas(request.tools))
        answer = ChatAnswer(self.provider, on_event, self._failures, reader)
        return await self._client.send(request.model, body, answer)

    def _is_about_reasoning(self, error: ProviderError) -> bool:
        """Some models refuse a history of which they did not think every answer, as after a change of model."""
        text = str(error).lower()
        is_missed = "reasoning_content" in text and any(word in text for word in ("missing", "passed back"))
        return error.kind is ProviderErrorKind.BAD_REQUEST and not error.partial and is_missed
