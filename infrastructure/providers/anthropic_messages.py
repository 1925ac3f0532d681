"""The wire to Anthropic Messages, through the official SDK."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import httpx2

from application.ports import OnStreamEvent
from domain.response import LlmResponse
from infrastructure.providers.anthropic_answer import MessagesAnswer
from infrastructure.providers.anthropic_payload import messages_payload
from infrastructure.providers.endpoint import Endpoint, PublicService
from infrastructure.providers.exchange import read_answer
from infrastructure.providers.wire import WireRequest

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

ANTHROPIC = PublicService(
    address="https://api.anthropic.com", address_env="ANTHROPIC_BASE_URL", key_env="ANTHROPIC_API_KEY"
)
DEFAULT_MAX_OUTPUT_TOKENS = 16384


class AnthropicMessages:
    """Implements `Wire`. The SDK, slow to import, is loaded when it is first needed or by `warm_up`."""

    def __init__(self, endpoint: Endpoint, *, max_output_tokens: int | None = None) -> None:
        self._endpoint = endpoint
        self._failures = endpoint.failures()
        self._max_tokens = max_output_tokens or DEFAULT_MAX_OUTPUT_TOKENS
        self._client: AsyncAnthropic | None = None
        self._loading = threading.Lock()

    @property
    def provider(self) -> str:
        """The name of the provider in the settings."""
        return self._endpoint.provider

    def warm_up(self) -> None:
        """Load the SDK and build its client. Blocks; may be called from any thread, any number of times.

        Raises ProviderError(CONFIGURATION) when proxies or certificates of the environment cannot be used.
        """
        self._ready_client()

    async def exchange(self, request: WireRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Send one request and stream its answer. Raises ProviderError."""
        client = self._client
        if client is None:
            client = await asyncio.to_thread(self._ready_client)
        import anthropic  # at hand by now

        body = messages_payload(request, provider=self.provider, max_tokens=self._max_tokens)
        answer = MessagesAnswer(self.provider, on_event, self._failures)
        try:
            # `extra_body` replaces the fields as they are: the SDK would check and copy the whole history
            async with client.messages.with_streaming_response.create(
                model=request.model, max_tokens=self._max_tokens, messages=[], stream=True, extra_body=body
            ) as response:
                return await read_answer(
                    response.iter_bytes(), response.headers.get("content-type", ""), answer, self._failures
                )
        except anthropic.APIStatusError as error:
            raise self._failures.refused(error.response) from error
        except anthropic.APIConnectionError as error:
            raise self._failures.unreachable(_cause(error), started=answer.started) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._failures.unreachable(error, started=answer.started) from error
        except anthropic.AnthropicError as error:
            raise self._failures.unusable(error) from error

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    def _ready_client(self) -> AsyncAnthropic:
        with self._loading:
            if self._client is None:
                self._client = self._new_client()
            return self._client

    def _new_client(self) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

        try:
            http_client = DefaultAsyncHttpxClient(timeout=self._endpoint.timeout)
        except (OSError, ValueError, httpx2.InvalidURL) as error:
            raise self._failures.bad_environment(error) from error
        client = AsyncAnthropic(
            api_key=self._endpoint.key,
            base_url=self._endpoint.address.removesuffix("/v1"),
            timeout=self._endpoint.timeout,
            max_retries=0,
            http_client=http_client,
            default_headers=self._endpoint.headers,
        )
        return client


def _cause(error: Exception) -> Exception:
    return error.__cause__ if isinstance(error.__cause__, Exception) else error
