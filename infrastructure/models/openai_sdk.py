"""The official OpenAI SDK: its client, loaded late, and one streamed request over it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, assert_never

import httpx2

from domain.conversation.image import ImageLimits
from domain.conversation.response import LlmResponse
from domain.text.json_value import JsonValue
from infrastructure.models.clouds.endpoint import AzureAccess, Endpoint, PublicService
from infrastructure.models.shared.answer_reading import AnswerReader, read_answer
from infrastructure.models.shared.model_listing import (
    ModelPage,
    all_pages,
    listing_refused,
    no_listing,
    read_page,
)

if TYPE_CHECKING:
    from openai import AsyncAPIResponse, AsyncOpenAI

OpenAiApi: TypeAlias = Literal["chat", "responses"]

OPENAI = PublicService(
    address="https://api.openai.com/v1",
    address_env="OPENAI_BASE_URL",
    key_env="OPENAI_API_KEY",
    local_needs_no_key=True,
)
OPENAI_IMAGES = ImageLimits(image_bytes=20_000_000, total_bytes=50_000_000, images=500)
"""What OpenAI documents. Other servers that speak its API say themselves what is too much for them."""


class _Common(TypedDict):
    """What every client of the SDK is told."""

    timeout: httpx2.Timeout
    max_retries: int
    http_client: httpx2.AsyncClient
    default_headers: Mapping[str, str]


class OpenAiClient:
    """One connection to one of OpenAI's two APIs. The SDK is loaded by `warm_up` or the first request."""

    def __init__(self, endpoint: Endpoint, api: OpenAiApi) -> None:
        self._endpoint = endpoint
        self._api: OpenAiApi = api
        self._failures = endpoint.failures()
        if api == "responses":
            other_api = (
                f'if it speaks Chat Completions only, set [providers.{endpoint.provider}] type = "openai-chat"'
            )
            self._failures = replace(self._failures, other_api=other_api)
        self._client: AsyncOpenAI | None = None
        self._loading = threading.Lock()

    def warm_up(self) -> None:
        """Load the SDK and build its client. Blocks; may be called from any thread, any number of times.

        Raises ProviderError(CONFIGURATION) when proxies or certificates of the environment cannot be used.
        """
        self._ready_client()

    async def send(self, model: str, body: Mapping[str, JsonValue], answer: AnswerReader) -> LlmResponse:
        """Send one request and feed what comes back to `answer`. Raises ProviderError."""
        client = self._client
        if client is None:
            client = await asyncio.to_thread(self._ready_client)
        import openai  # at hand by now

        try:
            async with self._request(client, model, body) as response:
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

    async def models(self) -> tuple[str, ...]:
        """The models the server lists. Raises ProviderError, also where it has no list."""
        return await all_pages(self._page_after)

    async def _page_after(self, _last_id: str | None) -> ModelPage:
        if self._endpoint.cloud is not None:  # Azure lists what could be deployed, not what is
            raise no_listing(self._endpoint.provider)
        client = self._client
        if client is None:
            client = await asyncio.to_thread(self._ready_client)
        import openai  # at hand by now

        try:
            async with client.models.with_streaming_response.list() as response:
                page = await read_page(response.iter_bytes(), self._failures)
                return ModelPage(page.names)  # this list has one page
        except openai.APIStatusError as error:
            raise listing_refused(error.response, self._failures) from error
        except openai.APIConnectionError as error:
            raise self._failures.unreachable(_cause(error), started=False) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._failures.unreachable(error, started=False) from error
        except openai.OpenAIError as error:
            raise self._failures.unusable(error) from error

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    def _request(
        self, client: AsyncOpenAI, model: str, body: Mapping[str, JsonValue]
    ) -> AbstractAsyncContextManager[AsyncAPIResponse[Any]]:
        # `extra_body` replaces the fields as they are: the SDK would check and copy the whole history
        match self._api:
            case "chat":
                return client.chat.completions.with_streaming_response.create(
                    model=model, messages=[], stream=True, extra_body=body
                )
            case "responses":
                return client.responses.with_streaming_response.create(
                    model=model, input=[], stream=True, extra_body=body
                )
            case never:
                assert_never(never)

    def _ready_client(self) -> AsyncOpenAI:
        with self._loading:
            if self._client is None:
                self._client = self._new_client()
            return self._client

    def _new_client(self) -> AsyncOpenAI:
        from openai import AsyncAzureOpenAI, AsyncOpenAI, DefaultAsyncHttpx2Client

        endpoint = self._endpoint
        try:
            http_client = DefaultAsyncHttpx2Client(timeout=endpoint.timeout)
        except (OSError, ValueError, ImportError, httpx2.InvalidURL) as error:
            raise self._failures.bad_environment(error) from error
        common = _Common(
            timeout=endpoint.timeout,
            max_retries=0,
            http_client=http_client,
            default_headers=endpoint.headers,
        )
        client: AsyncOpenAI
        if isinstance(cloud := endpoint.cloud, AzureAccess):
            client = AsyncAzureOpenAI(
                azure_endpoint=endpoint.address,
                api_version=cloud.api_version,
                api_key=None if cloud.has_token else endpoint.key,
                azure_ad_token=endpoint.key if cloud.has_token else None,
                **common,
            )
        else:
            client = AsyncOpenAI(api_key=endpoint.key, base_url=endpoint.address, **common)
        # the resource is imported on first use; better here than on the loop of the first request
        _ = client.responses if self._api == "responses" else client.chat.completions
        return client


def _cause(error: Exception) -> Exception:
    return error.__cause__ if isinstance(error.__cause__, Exception) else error
