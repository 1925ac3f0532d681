"""The wire to OpenAI Chat Completions, and to the many servers that speak it, through the official SDK."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import httpx2

from application.ports import OnStreamEvent
from domain.response import LlmResponse
from infrastructure.providers.endpoint import Endpoint, PublicService
from infrastructure.providers.exchange import read_answer
from infrastructure.providers.openai_answer import ChatAnswer
from infrastructure.providers.openai_payload import chat_payload
from infrastructure.providers.wire import WireRequest

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI = PublicService(
    address="https://api.openai.com/v1",
    address_env="OPENAI_BASE_URL",
    key_env="OPENAI_API_KEY",
    local_needs_no_key=True,
)


class OpenAiChat:
    """Implements `Wire`. The SDK, slow to import, is loaded when it is first needed or by `warm_up`."""

    def __init__(self, endpoint: Endpoint, *, max_output_tokens: int | None = None) -> None:
        self._endpoint = endpoint
        self._failures = endpoint.failures()
        self._max_tokens = max_output_tokens
        # OpenAI's own models refuse the old name, most other servers know no other
        self._max_tokens_field = (
            "max_completion_tokens" if endpoint.host.endswith(".openai.com") else "max_tokens"
        )
        self._client: AsyncOpenAI | None = None
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
        import openai  # at hand by now

        body = chat_payload(
            request,
            provider=self.provider,
            max_tokens=self._max_tokens,
            max_tokens_field=self._max_tokens_field,
        )
        answer = ChatAnswer(self.provider, on_event, self._failures)
        try:
            # `extra_body` replaces the fields as they are: the SDK would check and copy the whole history
            async with client.chat.completions.with_streaming_response.create(
                model=request.model, messages=[], stream=True, extra_body=body
            ) as response:
                return await read_answer(
                    response.iter_bytes(), response.headers.get("content-type", ""), answer, self._failures
                )
        except openai.APIStatusError as error:
            raise self._failures.refused(error.response) from error
        except openai.APIConnectionError as error:
            raise self._failures.unreachable(_cause(error), started=answer.started) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._failures.unreachable(error, started=answer.started) from error
        except openai.OpenAIError as error:
            raise self._failures.unusable(error) from error

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    def _ready_client(self) -> AsyncOpenAI:
        with self._loading:
            if self._client is None:
                self._client = self._new_client()
            return self._client

    def _new_client(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI, DefaultAsyncHttpx2Client

        try:
            http_client = DefaultAsyncHttpx2Client(timeout=self._endpoint.timeout)
        except (OSError, ValueError, httpx2.InvalidURL) as error:
            raise self._failures.bad_environment(error) from error
        client = AsyncOpenAI(
            api_key=self._endpoint.key,
            base_url=self._endpoint.address,
            timeout=self._endpoint.timeout,
            max_retries=0,
            http_client=http_client,
            default_headers=self._endpoint.headers,
        )
        # the resource is imported on first use; better here than on the loop of the first request
        _ = client.chat.completions.with_streaming_response
        return client


def _cause(error: Exception) -> Exception:
    return error.__cause__ if isinstance(error.__cause__, Exception) else error
