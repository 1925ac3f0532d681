"""The official OpenAI SDK: its client, loaded late, and one streamed request over it."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, assert_never

import httpx2

from quorum.application.ports.models import OnStreamEvent
from quorum.domain.conversation.attachment import DocumentLimits, ImageLimits
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ProviderError
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.models.clouds.endpoint import AzureAccess, Endpoint
from quorum.infrastructure.models.shared.answer_reading import AnswerReader, read_answer
from quorum.infrastructure.models.shared.api_client import ApiRequest
from quorum.infrastructure.models.shared.error_bodies import PASSING
from quorum.infrastructure.models.shared.exchange import post_body
from quorum.infrastructure.models.shared.failures import find_direct_cause
from quorum.infrastructure.models.shared.json_fields import parse_foreign_json
from quorum.infrastructure.models.shared.model_listing import (
    ModelPage,
    build_no_listing,
    explain_listing_refusal,
    read_all_pages,
    read_page,
)
from quorum.infrastructure.models.shared.network_loading import (
    FirstRequest,
    build_http_client,
    load_sdk_lazily,
    prepare_first_request,
    read_certificates,
)
from quorum.infrastructure.models.shared.request_body import BodyEncoder

if TYPE_CHECKING:
    from openai import AsyncAPIResponse, AsyncOpenAI

OpenAiApi: TypeAlias = Literal["chat", "responses"]

OPENAI_IMAGES = ImageLimits(image_bytes=20_000_000, total_bytes=50_000_000, images=500)
"""What OpenAI documents. Other servers that speak its API say themselves what is too much for them."""
OPENAI_DOCUMENTS = DocumentLimits(document_bytes=50_000_000)
"""What OpenAI documents: a file may have what a whole request may have, and pages are not bounded."""


_FACTS_SECS = 3.0  # what a server says beside its answers helps, and is not waited for longer
_PATHS: Mapping[OpenAiApi, str] = {"chat": "/chat/completions", "responses": "/responses"}


class _OpenAIClientOptions(TypedDict):
    """What every client of the SDK is configured with."""

    timeout: httpx2.Timeout
    max_retries: int
    http_client: httpx2.AsyncClient
    default_headers: Mapping[str, str]


class OpenAiClient:
    """One connection to one of OpenAI's two APIs. The SDK is loaded by `warm_up` or the first request."""

    def __init__(self, endpoint: Endpoint, api: OpenAiApi) -> None:
        self._endpoint = endpoint
        self._api: OpenAiApi = api
        self._failures = endpoint.build_failures(_PATHS[api])
        if api == "responses":
            other_api = (
                f'if it speaks Chat Completions only, set [providers.{endpoint.provider}] type = "openai-chat"'
            )
            self._failures = replace(self._failures, other_api=other_api)
        self._client: AsyncOpenAI | None = None
        self._encoder = BodyEncoder()
        self._loading = threading.Lock()
        self._first_request = FirstRequest()

    def warm_up(self) -> None:
        """Load the SDK and build its client. Blocks; may be called from any thread, any number of times.

        A request that waits for it is on its way then. Raises ProviderError(CONFIGURATION) when proxies or
        certificates of the environment cannot be used.
        """
        self._prepare_client()
        self._first_request.let_pass()

    async def send(self, model: str, body: Mapping[str, JsonValue], answer: AnswerReader) -> LlmResponse:
        """Send one request and feed what comes back to `answer`. Raises ProviderError."""
        client = self._client
        if client is None:
            self._first_request.wait_for_sdk()
            client = await asyncio.to_thread(self._prepare_client)
        with self._raise_provider_errors(self._failures.explain_refusal):
            async with self._request(client, model, body) as response:
                kind: str = response.headers.get("content-type", "")
                return await read_answer(response.aiter_bytes(), kind, answer, self._failures)

    async def list_models(self) -> tuple[str, ...]:
        """The models the server lists. Raises ProviderError, also where it has no list."""
        return await read_all_pages(self._fetch_page_after)

    async def _fetch_page_after(self, _last_id: str | None) -> ModelPage:
        if self._endpoint.cloud is not None:  # Azure lists what could be deployed, not what is
            raise build_no_listing(self._endpoint.provider)
        client = self._client
        if client is None:
            client = await asyncio.to_thread(self._prepare_client)
        with self._raise_provider_errors(lambda response: explain_listing_refusal(response, self._failures)):
            async with client.models.with_streaming_response.list() as response:
                page = await read_page(response.iter_bytes(), self._failures)
                return ModelPage(page.names)  # this list has one page

    async def fetch_object(self, path: str, body: JsonObject | None = None) -> JsonObject:
        """The JSON object at a path of the server, with a body by POST; an empty one where there is none.

        Raises ProviderError while the server loads the model.
        """
        client = self._client
        if client is None:
            self._first_request.wait_for_sdk()
            client = await asyncio.to_thread(self._prepare_client)
        import openai  # at hand by now

        url = f"{self._endpoint.address.removesuffix('/v1')}{path}"
        try:
            async with asyncio.timeout(_FACTS_SECS):
                if body is None:
                    response = await client.get(url, cast_to=httpx2.Response)
                else:
                    response = await client.post(url, cast_to=httpx2.Response, body=body)
            value = parse_foreign_json(response.content)
        except openai.APIStatusError as error:
            # Most servers have no such facts: their refusal is not explained, for nobody reads it.
            is_passing = error.response.status_code in PASSING
            if is_passing and (refusal := self._failures.explain_refusal(error.response)).is_loading:
                raise refusal from error
            return {}
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    @contextmanager
    def _raise_provider_errors(self, refused: Callable[[httpx2.Response], ProviderError]) -> Iterator[None]:
        """Raise the errors of the SDK and of the connection as ProviderError."""
        import openai  # at hand by now

        try:
            yield
        except openai.APIStatusError as error:
            raise refused(error.response) from error
        except openai.APIConnectionError as error:
            raise self._failures.explain_unreachable(find_direct_cause(error), started=False) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._failures.explain_unreachable(error, started=False) from error
        except openai.OpenAIError as error:
            raise self._failures.explain_unusable(error) from error

    @asynccontextmanager
    async def _request(
        self, client: AsyncOpenAI, model: str, body: Mapping[str, JsonValue]
    ) -> AsyncIterator[httpx2.Response]:
        """Send the body of a request; the answer is still to be read.

        It is encoded here, as the SDK takes several times as long. For Azure it has to, because it takes the
        deployment out of the body.
        """
        if self._endpoint.cloud is not None:
            async with self._create(client, model, body) as streamed:
                yield streamed.http_response
            return
        import openai  # at hand by now

        encoded, stream = self._encoder.encode(body), openai.AsyncStream[object]
        async with post_body(client.post, _PATHS[self._api], encoded, stream) as response:
            yield response

    def _create(
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

    def _prepare_client(self) -> AsyncOpenAI:
        with self._loading:
            if self._client is None:
                with load_sdk_lazily("openai"):
                    self._client = self._build_client()
            return self._client

    def _build_client(self) -> AsyncOpenAI:
        certificates = read_certificates(are_needed=self._endpoint.needs_certificates)
        from openai import AsyncOpenAI

        endpoint = self._endpoint
        http_client = build_http_client(
            endpoint.address,
            timeout=endpoint.timeout,
            certificates=certificates,
            first_request=self._first_request,
            failures=self._failures,
        )
        common = _OpenAIClientOptions(
            timeout=endpoint.timeout,
            max_retries=0,
            http_client=http_client,
            default_headers=endpoint.headers,
        )
        client: AsyncOpenAI
        if isinstance(cloud := endpoint.cloud, AzureAccess):
            from openai import AsyncAzureOpenAI

            client = AsyncAzureOpenAI(
                azure_endpoint=endpoint.address,
                api_version=cloud.api_version,
                api_key=None if cloud.has_token else endpoint.key,
                azure_ad_token=endpoint.key if cloud.has_token else None,
                **common,
            )
        else:
            client = AsyncOpenAI(api_key=endpoint.key, base_url=endpoint.address, **common)
        # what is imported on first use is better imported here than on the loop of the first request
        prepare_first_request()
        if cloud is not None:
            _ = client.responses if self._api == "responses" else client.chat.completions
        return client


class OpenAiDialect(ABC):
    """Implements `ApiClient` over one of OpenAI's two APIs; a subclass has what differs between them.

    `_plain` are the models that refused what is asked about reasoning, and are sent requests without it.
    """

    def __init__(self, endpoint: Endpoint, api: OpenAiApi, *, max_output_tokens: int | None) -> None:
        self._endpoint = endpoint
        self._failures = endpoint.build_failures(_PATHS[api])
        self._max_tokens = max_output_tokens
        self._client = OpenAiClient(endpoint, api)
        self._plain: set[str] = set()

    @property
    def provider(self) -> str:
        """The name of the provider in the settings."""
        return self._endpoint.provider

    @property
    def image_limits(self) -> ImageLimits:
        """What OpenAI takes in one request."""
        return OPENAI_IMAGES

    @property
    def document_limits(self) -> DocumentLimits:
        """What OpenAI takes in one request."""
        return OPENAI_DOCUMENTS

    def warm_up(self) -> None:
        """Load the SDK. Blocks; may be called from any thread. Raises ProviderError(CONFIGURATION)."""
        self._client.warm_up()

    async def exchange(self, request: ApiRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Send one request and stream its answer. Raises ProviderError."""
        try:
            return await self._send(request, on_event)
        except ProviderError as error:
            if request.model in self._plain or not self._is_about_reasoning(error):
                raise
        self._plain.add(request.model)
        return await self._send(request, on_event)

    async def list_models(self) -> tuple[str, ...]:
        """The models the server lists. Raises ProviderError, also where it has no list."""
        return await self._client.list_models()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    @abstractmethod
    async def _send(self, request: ApiRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Send the request in this API's form."""

    @abstractmethod
    def _is_about_reasoning(self, error: ProviderError) -> bool:
        """Whether the server refused what the request says or asks about reasoning."""
