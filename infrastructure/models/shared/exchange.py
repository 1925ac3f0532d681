"""Sends requests through one API client, and repeats them where that helps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2

from quorum.application.conversation_session import ArrivingAnswer
from quorum.application.ports.models import LlmRequest, OnStreamEvent
from quorum.application.ports.storage import ContentStore
from quorum.domain.conversation.attachment import AttachmentLimits
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.response import (
    Delta,
    LlmResponse,
    StreamedPromptProgress,
    StreamedReasoning,
    StreamedToolCall,
    StreamEvent,
    StreamRetry,
)
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.shared.api_client import (
    ApiClient,
    ApiRequest,
    DocumentApiClient,
    VisionApiClient,
)
from quorum.infrastructure.models.shared.call_arguments import fit_call_names
from quorum.infrastructure.models.shared.error_bodies import (
    FreeModels,
    PlainSchemas,
    RefusedEfforts,
    RefusedTools,
)
from quorum.infrastructure.models.shared.retry import RequestPace, compute_backoff, explain_too_long_to_wait
from quorum.infrastructure.models.shared.sent_attachments import SentAttachments


@asynccontextmanager
async def post_body(
    post: Callable[..., Awaitable[object]], path: str, body: bytes, stream_cls: type[Any]
) -> AsyncIterator[httpx2.Response]:
    """Send the encoded body of a request with the `post` of an SDK's client, which does not encode it; the
    answer is still to be read.

    `stream_cls` is what the SDK names a streamed answer. Raises what the SDK raises.
    """
    posted = await post(path, content=body, cast_to=httpx2.Response, stream=True, stream_cls=stream_cls)
    response = cast("httpx2.Response", posted)  # which the SDK says is a `stream_cls`
    try:
        yield response
    finally:
        await response.aclose()


_MOST_LOADING_WAITS = 80  # of up to eight seconds each


class ApiExchange:
    """Implements `LlmExchange` with an API client.

    A request is repeated, at most `max_retries` times, only while nothing of its answer has arrived; while the
    server loads the model, some ten minutes.
    `backoff` gives the seconds before the n-th repetition where the provider names none; `free` are the
    models that no tool can be forced upon, best shared by all exchanges with a provider. `contents` is where
    the images and PDFs of conversations are kept. `efforts` are those that the API takes, and `refused` those
    that models refuse, shared as `free`, `refused_tools` and `plain_schemas` are. `pace` holds requests back,
    repetitions too.
    `content_secs` bounds the time in which a provider gives signs of life and nothing of its answer.
    """

    def __init__(  # noqa: PLR0913 - what requests to a provider have in common
        self,
        client: ApiClient,
        *,
        model: str,
        max_retries: int = 2,
        backoff: Callable[[int], float] = compute_backoff,
        free: FreeModels | None = None,
        contents: ContentStore | None = None,
        efforts: tuple[Effort, ...] = tuple(Effort),
        refused: RefusedEfforts | None = None,
        refused_tools: RefusedTools | None = None,
        plain_schemas: PlainSchemas | None = None,
        pace: RequestPace | None = None,
        content_secs: float | None = None,
    ) -> None:
        self._content_secs = content_secs
        self._pace = pace
        self._efforts = efforts
        self._refused = refused if refused is not None else RefusedEfforts()
        self._refused_tools = refused_tools if refused_tools is not None else RefusedTools()
        self._plain_schemas = plain_schemas if plain_schemas is not None else PlainSchemas()
        self._client = client
        self._model = model
        self._max_retries = max_retries
        self._backoff = backoff
        self._free = free if free is not None else FreeModels()
        self._attachments = (
            SentAttachments(contents, _read_limits(client)) if isinstance(client, VisionApiClient) else None
        )

    @property
    def model(self) -> str:
        """The model's full name, "provider/model"."""
        return f"{self._client.provider}/{self._model}"

    async def exchange(self, request: LlmRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Send the conversation, again without what it was refused for. Raises ProviderError."""
        wanted = ApiRequest(
            model=self._model,
            system=request.system,
            messages=request.messages,
            tools=request.tools,
            tool_choice=request.tool_choice,
            max_output_tokens=request.max_output_tokens,
            window=request.window,
            effort=request.effort if request.effort in self._efforts else Effort.DEFAULT,
        )
        self._plain_schemas.take_over(self._model, is_known=self.model in request.plain_schemas)
        arriving = ArrivingAnswer(on_event)
        attempt = loading = 0
        while True:
            sent = await self._add_attachments(self._fit_request(wanted), request.left_out)
            try:
                if self._pace is not None:
                    await self._pace.wait_for_turn(on_event)
                response = await self._exchange_in_time(sent, arriving)
            except ProviderError as error:
                if self._free.learn(sent, error) or self._continues_without(sent, error, request, on_event):
                    continue
                if (hopeless := self._plain_schemas.give_up(sent, error)) is not None:
                    request.plain_schemas.discard(self.model)
                    raise hopeless from error
                if not error.retryable or error.partial or arriving.any_arrived:
                    raise
                if (hopeless := explain_too_long_to_wait(error)) is not None:
                    raise hopeless from error
                if error.is_loading and loading < _MOST_LOADING_WAITS:
                    loading += 1
                    await asyncio.sleep(self._tell_of_loading(error, loading, on_event))
                    continue
                if attempt >= self._max_retries:
                    raise
                attempt += 1
                delay = error.retry_after if error.retry_after is not None else self._backoff(attempt)
                on_event(
                    StreamRetry(
                        attempt=attempt,
                        delay_secs=delay,
                        reason=str(error),
                        attempts=self._max_retries,
                        kind=error.kind,
                    )
                )
            else:
                if self._attachments is not None:
                    self._attachments.accept(sent)
                left_out = {str(tool.get("name")) for tool in request.tools}
                return fit_call_names(response, sent.tools, request.withheld | left_out)
            await asyncio.sleep(delay)

    def _fit_request(self, wanted: ApiRequest) -> ApiRequest:
        """The request without all that its model is known to refuse, in the form that it was refused in."""
        takes = self._refused_tools.fit_request(self._refused.fit_request(self._free.fit_request(wanted)))
        plain = self._plain_schemas.fit_request(takes)
        return takes if plain is takes else self._refused_tools.fit_request(plain)

    async def _exchange_in_time(self, sent: ApiRequest, arriving: ArrivingAnswer) -> LlmResponse:
        """Send one request, and give it up where nothing of its answer comes for too long."""
        now = asyncio.get_running_loop().time
        last: StreamEvent | None = None

        def take(event: StreamEvent) -> None:
            nonlocal last
            if self._content_secs is not None and _has_content(event, last):
                limit.reschedule(now() + self._content_secs)
            last = event
            arriving(event)

        try:
            async with asyncio.timeout(self._content_secs) as limit:
                return await self._client.exchange(sent, take)
        except TimeoutError as error:
            if not limit.expired():
                raise
            provider = self._client.provider
            raise ProviderError(
                f"{provider} gave signs of life, but sent nothing of an answer for {self._content_secs:g} s; "
                f"content_timeout_secs of [providers.{provider}] sets this limit",
                kind=ProviderErrorKind.TIMEOUT,
                partial=arriving.any_arrived,
            ) from error

    def _tell_of_loading(self, error: ProviderError, number: int, on_event: OnStreamEvent) -> float:
        """Say that the model is being loaded. Returns the seconds to wait before it is asked again."""
        delay = error.retry_after if error.retry_after is not None else self._backoff(number)
        reason = f"{self._client.provider} is loading the model"
        waits = StreamRetry(attempt=number, delay_secs=delay, reason=reason, kind=error.kind, is_loading=True)
        on_event(waits)
        return delay

    async def _add_attachments(self, request: ApiRequest, left_out: dict[tuple[str, str], str]) -> ApiRequest:
        if self._attachments is None:
            return request
        return await self._attachments.fit_request(request, self.model, left_out)

    def _continues_without(
        self,
        sent: ApiRequest,
        error: ProviderError,
        request: LlmRequest,
        on_event: OnStreamEvent,
    ) -> bool:
        """Whether a request refused for its effort, a tool, schemas or attachments of earlier is to be sent
        without; the person is told. Raises ProviderError, with the remedy, where it may be for those of the
        last message."""
        why = self._refused.learn(sent, error)
        is_plain = not why and self._plain_schemas.learn(sent, error)
        tool = "" if why or is_plain else self._refused_tools.learn(sent, error)
        if is_plain:
            request.plain_schemas.add(self.model)
            why = f"{self.model} does not take the schemas of all tools, and is sent plain ones: {error}"
        elif tool:
            why = f"{self.model} does not take the tool {tool}, and is asked without it: {error}"
        if not why and self._attachments is not None:
            why = self._attachments.refuse(sent, error, self.model, request.left_out)
        if why:
            on_event(
                StreamRetry(
                    attempt=1,
                    attempts=1,
                    delay_secs=0.0,
                    reason=why,
                    kind=error.kind,
                    without_tool=tool,
                    is_lasting=is_plain or bool(tool),
                )
            )
        return bool(why)


def _has_content(event: StreamEvent, last: StreamEvent | None) -> bool:
    """Whether an event brings an answer nearer, and is no mere sign of life. `last` is the one before."""
    match event:
        case Delta(text) | StreamedReasoning(text):
            return bool(text)
        case StreamedToolCall():
            return bool(event.name or event.arguments_delta)
        case StreamedPromptProgress():
            return event != last
        case _:
            return False


def _read_limits(client: VisionApiClient) -> AttachmentLimits:
    documents = client.document_limits if isinstance(client, DocumentApiClient) else None
    return AttachmentLimits(images=client.image_limits, documents=documents)
