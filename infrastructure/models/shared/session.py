"""A session: one conversation, sent through one API client, kept legal whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from application.ports.models import MessageShaper, OnStreamEvent, ToolChoice
from application.ports.storage import ContentStore
from domain.calls.tool import ToolResultMessage
from domain.conversation.attachment import AttachmentLimits
from domain.conversation.effort import Effort
from domain.conversation.history import Conversation, UserMessage
from domain.conversation.response import LlmResponse, StopKind, StopReason, TextBlock, ToolUseBlock
from domain.conversation.stream import (
    Completed,
    CompletedResponse,
    Delta,
    Error,
    StreamedPromptProgress,
    StreamEvent,
    StreamRetry,
)
from domain.errors import ConversationError, ProviderError
from domain.text.json_value import JsonObject
from infrastructure.models.shared.api_client import ApiClient, ApiRequest, DocumentApiClient, VisionApiClient
from infrastructure.models.shared.effort_levels import RefusedEfforts
from infrastructure.models.shared.forced_choice import FreeModels
from infrastructure.models.shared.pacing import RequestPace
from infrastructure.models.shared.retry import compute_backoff, explain_too_long_to_wait
from infrastructure.models.shared.sent_attachments import SentAttachments

_MOST_LOADING_WAITS = 80  # of up to eight seconds each


class ConversationSession:
    """Implements `LlmSession` with an API client.

    A request is repeated, at most `max_retries` times, only while nothing of its answer has arrived; while the
    server loads the model, some ten minutes.
    `shape` may give one request other messages than the conversation holds; what it raises goes through.
    `backoff` gives the seconds before the n-th repetition where the provider names none; `free` are the
    models that no tool can be forced upon, best shared by all sessions with a provider. `contents` is where
    the images and PDFs of the conversation are kept. `effort` is how much the model is to reason, and `refused`
    the efforts that models refuse, shared as `free` is. `pace` holds requests back, each repetition too.
    """

    def __init__(  # noqa: PLR0913 - all that sessions with a model differ in
        self,
        client: ApiClient,
        conversation: Conversation,
        *,
        model: str,
        system: str = "",
        max_retries: int = 2,
        shape: MessageShaper | None = None,
        backoff: Callable[[int], float] = compute_backoff,
        free: FreeModels | None = None,
        contents: ContentStore | None = None,
        effort: Effort = Effort.DEFAULT,
        refused: RefusedEfforts | None = None,
        pace: RequestPace | None = None,
    ) -> None:
        self._pace = pace
        self._effort = effort
        self._refused = refused if refused is not None else RefusedEfforts()
        self._shape = shape
        self._client = client
        self._conversation = conversation
        self._model = model
        self._system = system
        self._max_retries = max_retries
        self._backoff = backoff
        self._free = free if free is not None else FreeModels()
        self._attachments = (
            SentAttachments(contents, _read_limits(client), conversation.left_out)
            if isinstance(client, VisionApiClient)
            else None
        )
        self._tools: tuple[JsonObject, ...] = ()

    @property
    def model(self) -> str:
        """The model's full name, "provider/model"."""
        return f"{self._client.provider}/{self._model}"

    async def send(self, content: str) -> LlmResponse:
        """Say something and wait for the answer; no tools are offered."""
        return await self.send_streaming(content, _ignore_event)

    async def send_streaming(self, content: str, on_event: OnStreamEvent) -> LlmResponse:
        """Like `send`, telling what arrives; Completed or Error comes last."""
        self._conversation.add_user(content)
        response = _drop_calls(await self._exchange((), "auto", on_event))
        self._conversation.add_response(response)
        on_event(Completed(response.text_content()))
        return response

    async def send_with_tools(
        self,
        content: str | UserMessage | None,
        tools: Sequence[JsonObject],
        *,
        tool_choice: ToolChoice = "auto",
        max_output_tokens: int | None = None,
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        """Say something, or continue (None), and offer tools; CompletedResponse or Error comes last."""
        if content is not None:
            self._conversation.add_user(content)
        elif self._conversation.open_calls:
            raise ConversationError("the calls of the last answer have no results yet")
        self._tools = tuple(tools)
        return await self._exchange_with_tools(tool_choice, on_event, max_output_tokens)

    async def send_tool_results(
        self,
        results: Sequence[ToolResultMessage],
        *,
        tool_choice: ToolChoice = "auto",
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        """Give the results of the open calls and offer the tools offered before."""
        self._conversation.add_results(results)
        return await self._exchange_with_tools(tool_choice, on_event)

    async def _exchange_with_tools(
        self, tool_choice: ToolChoice, on_event: OnStreamEvent, max_output_tokens: int | None = None
    ) -> LlmResponse:
        response = await self._exchange(self._tools, tool_choice, on_event, max_output_tokens)
        self._conversation.add_response(response)
        on_event(CompletedResponse(response))
        return response

    async def _exchange(
        self,
        tools: tuple[JsonObject, ...],
        tool_choice: ToolChoice,
        on_event: OnStreamEvent,
        max_output_tokens: int | None = None,
    ) -> LlmResponse:
        messages = self._conversation.messages
        request = ApiRequest(
            model=self._model,
            system=self._system,
            messages=await self._shape(messages) if self._shape else messages,
            tools=tools,
            tool_choice=tool_choice,
            max_output_tokens=max_output_tokens,
            effort=self._effort,
        )
        listener = _Listener(on_event)
        try:
            return await self._request_with_retries(request, listener)
        except ProviderError as error:
            self._keep(listener.text, "stream cut")
            on_event(Error(error))
            raise
        except asyncio.CancelledError:
            self._keep(listener.text, "interrupted")
            raise

    async def _request_with_retries(self, request: ApiRequest, listener: _Listener) -> LlmResponse:
        attempt = loading = 0
        while True:
            fitted = self._refused.fit_request(self._free.fit_request(request))
            sent = await self._with_attachments(fitted)
            try:
                if self._pace is not None:
                    await self._pace.wait_for_turn(listener.pass_on)
                response = await self._client.exchange(sent, listener)
            except ProviderError as error:
                if (
                    self._free.learn(sent, error)
                    or self._continues_without_effort(sent, error, listener)
                    or self._continues_without_attachments(sent, error, listener)
                ):
                    continue
                if not error.retryable or error.partial or listener.anything:
                    raise
                if (hopeless := explain_too_long_to_wait(error)) is not None:
                    raise hopeless from error
                if error.is_loading and loading < _MOST_LOADING_WAITS:
                    loading += 1
                    delay = self._tell_of_loading(error, loading, listener)
                    await asyncio.sleep(delay)
                    continue
                if attempt >= self._max_retries:
                    raise
                attempt += 1
                delay = error.retry_after if error.retry_after is not None else self._backoff(attempt)
                listener.pass_on(
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
                return response
            await asyncio.sleep(delay)

    def _tell_of_loading(self, error: ProviderError, number: int, listener: _Listener) -> float:
        """Say that the model is being loaded. Returns the seconds to wait before it is asked again."""
        delay = error.retry_after if error.retry_after is not None else self._backoff(number)
        reason = f"{self._client.provider} is loading the model"
        listener.pass_on(StreamRetry(attempt=number, delay_secs=delay, reason=reason, kind=error.kind))
        return delay

    async def _with_attachments(self, request: ApiRequest) -> ApiRequest:
        return (
            request if self._attachments is None else await self._attachments.fit_request(request, self.model)
        )

    def _continues_without_effort(self, sent: ApiRequest, error: ProviderError, listener: _Listener) -> bool:
        """Whether a request refused for its effort is to be sent without; the person is told."""
        why = self._refused.learn(sent, error)
        if why:
            listener.pass_on(StreamRetry(attempt=1, attempts=1, delay_secs=0.0, reason=why, kind=error.kind))
        return bool(why)

    def _continues_without_attachments(
        self, sent: ApiRequest, error: ProviderError, listener: _Listener
    ) -> bool:
        """Whether a request refused for attachments of earlier is to be sent without them. Raises
        ProviderError, with the remedy, where it may be for those of the last message."""
        why = self._attachments.refuse(sent, error, self.model) if self._attachments is not None else ""
        if why:
            listener.pass_on(StreamRetry(attempt=1, attempts=1, delay_secs=0.0, reason=why, kind=error.kind))
        return bool(why)

    def _keep(self, text: str, why: str) -> None:
        """Keep the text that arrived of an answer that never became whole; its calls are lost on purpose."""
        if text.strip():
            stop = StopReason(StopKind.OTHER, why)
            self._conversation.add_response(
                LlmResponse(content=(TextBlock(text),), stop_reason=stop, model=self._model)
            )


class _Listener:
    """Passes events on and remembers the text that arrived."""

    def __init__(self, on_event: OnStreamEvent) -> None:
        self.pass_on = on_event
        self.anything = False
        self._texts: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def __call__(self, event: StreamEvent) -> None:
        self.anything = self.anything or not isinstance(event, StreamedPromptProgress)
        if isinstance(event, Delta):
            self._texts.append(event.text)
        self.pass_on(event)


def _read_limits(client: VisionApiClient) -> AttachmentLimits:
    documents = client.document_limits if isinstance(client, DocumentApiClient) else None
    return AttachmentLimits(images=client.image_limits, documents=documents)


def _ignore_event(_event: StreamEvent) -> None:
    """Nobody listens to these events."""


def _drop_calls(response: LlmResponse) -> LlmResponse:
    """The answer to a request that offered no tools: calls made anyway could never get a result."""
    if not response.has_tool_calls():
        return response
    return LlmResponse(
        content=tuple(block for block in response.content if not isinstance(block, ToolUseBlock)),
        stop_reason=StopReason(StopKind.OTHER, "called a tool that was not offered"),
        model=response.model,
        usage=response.usage,
    )
