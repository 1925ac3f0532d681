"""The API client of Anthropic Messages, through the official SDK."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, TypeAlias, TypedDict, assert_never

import httpx2

from quorum.application.ports.models import OnStreamEvent
from quorum.domain.conversation.attachment import DocumentLimits, ImageLimits
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ProviderError
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonValue
from quorum.infrastructure.lean_imports import standing_in
from quorum.infrastructure.models.anthropic.answer import MessagesAnswer
from quorum.infrastructure.models.anthropic.payload import build_messages_history, build_messages_payload
from quorum.infrastructure.models.clouds.amazon_bedrock import BedrockAccess
from quorum.infrastructure.models.clouds.amazon_stream import is_framed, unpack_frames
from quorum.infrastructure.models.clouds.endpoint import AzureAccess, Endpoint
from quorum.infrastructure.models.clouds.google_vertex import VertexAccess
from quorum.infrastructure.models.shared.answer_reading import EVENT_STREAM, read_answer
from quorum.infrastructure.models.shared.api_client import ApiRequest
from quorum.infrastructure.models.shared.failures import find_direct_cause
from quorum.infrastructure.models.shared.model_listing import (
    MOST_MODELS,
    ModelPage,
    build_no_listing,
    explain_listing_refusal,
    read_all_pages,
    read_page,
)
from quorum.infrastructure.models.shared.network_loading import (
    FirstRequest,
    build_http_client,
    load_event_loop,
    load_sdk_lazily,
    read_certificates,
)
from quorum.infrastructure.models.shared.request_body import post_body
from quorum.infrastructure.provider_types import DEFAULT_ANTHROPIC_OUTPUT_TOKENS

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncAnthropicBedrock, AsyncAnthropicVertex

    _Client: TypeAlias = AsyncAnthropic | AsyncAnthropicBedrock | AsyncAnthropicVertex

# 5 MiB in base64 an image, and 32 MB a request with all else in it; the clouds that serve it take less.
_PATH = "/v1/messages"
_IMAGES = ImageLimits(
    image_bytes=5 * 1024 * 1024 * 3 // 4,
    total_bytes=22_000_000,
    images=100,
    side=8_000,
    crowd=20,
    crowd_side=2_000,
)
_IMAGES_IN_CLOUDS = replace(_IMAGES, total_bytes=13_000_000)
# Of each API that serves these models: as many pages as the one with the smallest bound takes.
_DOCUMENTS = DocumentLimits(document_bytes=_IMAGES.total_bytes, pages=100)
_DOCUMENTS_IN_CLOUDS = replace(_DOCUMENTS, document_bytes=_IMAGES_IN_CLOUDS.total_bytes)


class _AnthropicClientOptions(TypedDict):
    """What every client of the SDK is configured with."""

    base_url: str
    timeout: httpx2.Timeout
    max_retries: int
    http_client: httpx2.AsyncClient
    default_headers: Mapping[str, str]


class AnthropicMessages:
    """Implements `ApiClient`, over the SDK's own client for each cloud that serves it.

    The SDK, slow to import, is loaded when it is first needed or by `warm_up`.
    """

    def __init__(self, endpoint: Endpoint, *, max_output_tokens: int | None = None) -> None:
        self._endpoint = endpoint
        self._failures = endpoint.build_failures(_PATH)
        self._max_tokens = max_output_tokens or DEFAULT_ANTHROPIC_OUTPUT_TOKENS
        is_official = endpoint.cloud is not None or endpoint.host.endswith(".anthropic.com")
        self._history = build_messages_history(endpoint.provider, needs_signatures=is_official)
        self._client: _Client | None = None
        self._loading = threading.Lock()
        self._first_request = FirstRequest()

    @property
    def provider(self) -> str:
        """The name of the provider in the settings."""
        return self._endpoint.provider

    @property
    def image_limits(self) -> ImageLimits:
        """What the API takes in one request."""
        return _IMAGES if self._endpoint.cloud is None else _IMAGES_IN_CLOUDS

    @property
    def document_limits(self) -> DocumentLimits:
        """What the API takes in one request."""
        return _DOCUMENTS if self._endpoint.cloud is None else _DOCUMENTS_IN_CLOUDS

    def warm_up(self) -> None:
        """Load the SDK and build its client. Blocks; may be called from any thread, any number of times.

        A request that waits for it is on its way then. Raises ProviderError(CONFIGURATION) when proxies or
        certificates of the environment cannot be used.
        """
        self._prepare_client()
        self._first_request.let_pass()

    async def exchange(self, request: ApiRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Send one request and stream its answer. Raises ProviderError."""
        client = await self._get_signed_in_client()
        max_tokens = request.max_output_tokens or self._max_tokens
        body = build_messages_payload(
            request,
            history=self._history,
            max_tokens=max_tokens,
        )
        answer = MessagesAnswer(self.provider, on_event, self._failures)

        def explain_damage(what: str) -> ProviderError:
            return self._failures.explain_damage(what, started=answer.started)

        with self._raise_provider_errors(self._failures.explain_refusal, lambda: answer.started):
            async with self._post(client, body) as response:
                kind: str = response.headers.get("content-type", "")
                pieces: AsyncIterator[bytes] = response.aiter_bytes()
                if is_framed(kind):
                    kind, pieces = EVENT_STREAM, unpack_frames(pieces, explain_damage)
                return await read_answer(pieces, kind, answer, self._failures)

    @asynccontextmanager
    async def _post(self, client: _Client, body: dict[str, JsonValue]) -> AsyncIterator[httpx2.Response]:
        """Send the body of a request; the answer is still to be read.

        It is encoded here: the SDK copies the history first, block by block, which takes several times as long.
        For Bedrock and Vertex it has to, because it takes the model out of the body.
        """
        if isinstance(self._endpoint.cloud, BedrockAccess | VertexAccess):
            # `extra_body` replaces the fields as they are
            async with client.messages.with_streaming_response.create(
                model="", max_tokens=0, messages=[], stream=True, extra_body=body
            ) as streamed:
                yield streamed.http_response
            return
        import anthropic  # at hand by now

        async with post_body(client.post, _PATH, body, anthropic.AsyncStream[object]) as response:
            yield response

    async def list_models(self) -> tuple[str, ...]:
        """The models the server lists. Raises ProviderError, also where it has no list."""
        return await read_all_pages(self._fetch_page_after)

    async def _fetch_page_after(self, last_id: str | None) -> ModelPage:
        if self._endpoint.cloud is not None:  # the clouds' clients know no list
            raise build_no_listing(self.provider)
        client = await self._get_signed_in_client()
        import anthropic  # at hand by now

        if not isinstance(client, anthropic.AsyncAnthropic):
            raise build_no_listing(self.provider)
        with self._raise_provider_errors(
            lambda response: explain_listing_refusal(response, self._failures), lambda: False
        ):
            async with client.models.with_streaming_response.list(
                limit=MOST_MODELS, after_id=last_id if last_id is not None else anthropic.omit
            ) as response:
                return await read_page(response.iter_bytes(), self._failures)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    @contextmanager
    def _raise_provider_errors(
        self, refused: Callable[[httpx2.Response], ProviderError], has_started: Callable[[], bool]
    ) -> Iterator[None]:
        """Raise the errors of the SDK and of the connection as ProviderError."""
        import anthropic  # at hand by now

        try:
            yield
        except anthropic.APIStatusError as error:
            raise refused(error.response) from error
        except anthropic.APIConnectionError as error:
            raise self._failures.explain_unreachable(find_direct_cause(error), started=has_started()) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._failures.explain_unreachable(error, started=has_started()) from error
        except anthropic.AnthropicError as error:
            raise self._failures.explain_unusable(error) from error

    async def _get_signed_in_client(self) -> _Client:
        """The client, with credentials that are still good. Raises ProviderError."""
        client = self._client
        if client is None:
            self._first_request.wait_for_sdk()
            client = await asyncio.to_thread(self._prepare_client)
        import anthropic  # at hand by now

        cloud = self._endpoint.cloud
        if self._endpoint.has_key:
            return client
        if isinstance(cloud, BedrockAccess) and isinstance(client, anthropic.AsyncAnthropicBedrock):
            keys = await cloud.get_keys()
            client.aws_access_key, client.aws_secret_key, client.aws_session_token = keys
        if isinstance(cloud, VertexAccess) and isinstance(client, anthropic.AsyncAnthropicVertex):
            client.access_token = await cloud.get_token()
            client.project_id = cloud.get_project()
        return client

    def _prepare_client(self) -> _Client:
        with self._loading:
            if self._client is None:
                with load_sdk_lazily("anthropic"):
                    self._client = self._build_client()
            return self._client

    def _build_client(self) -> _Client:
        certificates = read_certificates()
        import anthropic

        endpoint = self._endpoint
        try:
            http_client = build_http_client(
                timeout=endpoint.timeout,
                certificates=certificates.result(),
                first_request=self._first_request,
            )
        except (OSError, ValueError, ImportError, httpx2.InvalidURL) as error:
            raise self._failures.explain_bad_environment(error) from error
        load_event_loop()
        common = _AnthropicClientOptions(
            base_url=endpoint.address,
            timeout=endpoint.timeout,
            max_retries=0,
            http_client=http_client,
            default_headers=endpoint.headers,
        )
        key = endpoint.key if endpoint.has_key else None
        match endpoint.cloud:
            case None:
                common["base_url"] = endpoint.address.removesuffix("/v1")
                # the tracing in it names 500 types of the beta API, a seventh of all that a start takes
                with standing_in("anthropic.types.beta"):
                    return anthropic.AsyncAnthropic(api_key=endpoint.key, **common)
            case BedrockAccess() as cloud:
                cloud.load()
                return anthropic.AsyncAnthropicBedrock(api_key=key, aws_region=cloud.region, **common)
            case VertexAccess() as cloud:
                cloud.load()
                project = cloud.get_project() if key else anthropic.not_given
                return anthropic.AsyncAnthropicVertex(
                    access_token=key, region=cloud.region, project_id=project, **common
                )
            case AzureAccess():
                return anthropic.AsyncAnthropicFoundry(api_key=endpoint.key, **common)
            case never:
                assert_never(never)
