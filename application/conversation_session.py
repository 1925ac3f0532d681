"""A session: one conversation, sent to one model, kept legal whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from quorum.application.ports.models import LlmExchange, LlmRequest, MessageShaper, OnStreamEvent, ToolChoice
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import Conversation, UserMessage
from quorum.domain.conversation.response import (
    Completed,
    CompletedResponse,
    ContentBlock,
    Delta,
    Error,
    LlmResponse,
    StopKind,
    StopReason,
    StreamedReasoning,
    StreamedToolCall,
    StreamedUsage,
    StreamEvent,
    TextBlock,
    ToolUseBlock,
    Usage,
)
from quorum.domain.errors import ConversationError, ProviderError
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject

CONTINUE_PROMPT = "Your last answer broke off. Continue exactly where it stopped."


class ArrivingAnswer:
    """Passes on what arrives of an answer, and keeps its text, and what it `used` where that is told."""

    def __init__(self, on_event: OnStreamEvent) -> None:
        self.pass_on = on_event
        self.any_arrived = False
        self.used = Usage()
        self._texts: list[str] = []

    def __call__(self, event: StreamEvent) -> None:
        """Take a piece of the answer, or another event."""
        self.any_arrived = self.any_arrived or isinstance(event, Delta | StreamedReasoning | StreamedToolCall)
        if isinstance(event, StreamedUsage):
            self.used += event.usage
        if isinstance(event, Delta):
            self._texts.append(event.text)
        self.pass_on(event)

    def build_partial(self, model: str, failure: BaseException) -> LlmResponse | None:
        """The text that arrived of an answer that never became whole; its calls are lost on purpose. None where
        there is none."""
        if not (text := "".join(self._texts)).strip():
            return None
        why = "interrupted" if isinstance(failure, asyncio.CancelledError) else "stream cut"
        own_name = model.partition("/")[2]
        return LlmResponse(
            content=(TextBlock(text),),
            stop_reason=StopReason(StopKind.OTHER, why),
            model=own_name,
            usage=self.used,
        )


class ShapedExchange:
    """Implements `LlmExchange` over another. `shape` sees the messages of each request before it is sent and
    answers those to send; what it raises goes through."""

    def __init__(self, exchange: LlmExchange, shape: MessageShaper) -> None:
        self._exchange = exchange
        self._shape = shape
        self.model = exchange.model

    async def exchange(self, request: LlmRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Send the conversation as it is shaped."""
        shaped = replace(request, messages=await self._shape(request.messages))
        return await self._exchange.exchange(shaped, on_event)


class ContinuingExchange:
    """Implements `LlmExchange` over another. An answer whose stream breaks off is continued once; where no text
    of it arrived, it is asked for anew."""

    def __init__(self, exchange: LlmExchange) -> None:
        self._exchange = exchange
        self.model = exchange.model

    async def exchange(self, request: LlmRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Send the conversation, and return the whole answer."""
        arriving = ArrivingAnswer(on_event)
        try:
            return await self._exchange.exchange(request, arriving)
        except ProviderError as broken:
            if not broken.broke_off:
                raise
            begun = arriving.build_partial(self.model, broken)
        if begun is None:
            whole = await self._exchange.exchange(request, on_event)
            return replace(whole, usage=arriving.used + whole.usage)
        continued = Conversation(request.messages)
        continued.add_response(begun)
        continued.add_user(CONTINUE_PROMPT)
        rest = await self._exchange.exchange(replace(request, messages=continued.messages), on_event)
        content = _join_content(begun.content, rest.content)
        return replace(rest, content=content, usage=arriving.used + rest.usage)


class ConversationSession:
    """Implements `LlmSession` with an exchange: it appends to the conversation, and the exchange sends that."""

    def __init__(
        self,
        exchange: LlmExchange,
        conversation: Conversation,
        *,
        system: str = "",
        effort: Effort = Effort.DEFAULT,
    ) -> None:
        self._exchange = exchange
        self._conversation = conversation
        self._system = system
        self._effort = effort
        self._tools: tuple[JsonObject, ...] = ()

    @property
    def model(self) -> str:
        """The model's full name, "provider/model"."""
        return self._exchange.model

    async def send(self, content: str) -> LlmResponse:
        """Say something and wait for the answer; no tools are offered."""
        return await self.send_streaming(content, _ignore_event)

    async def send_streaming(self, content: str, on_event: OnStreamEvent) -> LlmResponse:
        """Like `send`, telling what arrives; Completed or Error comes last."""
        self._conversation.add_user(content)
        response = _drop_calls(await self._send((), "auto", None, on_event))
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
        return await self._send_with_tools(tool_choice, max_output_tokens, on_event)

    async def send_tool_results(
        self,
        results: Sequence[ToolResultMessage],
        *,
        tool_choice: ToolChoice = "auto",
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        """Give the results of the open calls and offer the tools offered before."""
        self._conversation.add_results(results)
        return await self._send_with_tools(tool_choice, None, on_event)

    async def _send_with_tools(
        self, tool_choice: ToolChoice, max_output_tokens: int | None, on_event: OnStreamEvent
    ) -> LlmResponse:
        response = await self._send(self._tools, tool_choice, max_output_tokens, on_event)
        self._conversation.add_response(response)
        on_event(CompletedResponse(response))
        return response

    async def _send(
        self,
        tools: tuple[JsonObject, ...],
        tool_choice: ToolChoice,
        max_output_tokens: int | None,
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        request = LlmRequest(
            messages=self._conversation.messages,
            system=self._system,
            tools=tools,
            tool_choice=tool_choice,
            max_output_tokens=max_output_tokens,
            effort=self._effort,
            left_out=self._conversation.left_out,
            plain_schemas=self._conversation.plain_schemas,
        )
        arriving = ArrivingAnswer(on_event)
        try:
            return await self._exchange.exchange(request, arriving)
        except (ProviderError, asyncio.CancelledError) as failure:
            if (partial := arriving.build_partial(self.model, failure)) is not None:
                self._conversation.add_response(partial)
            if isinstance(failure, ProviderError):
                on_event(Error(failure))
            raise


def _join_content(begun: Sequence[ContentBlock], rest: Sequence[ContentBlock]) -> tuple[ContentBlock, ...]:
    """The blocks of an answer in two parts; text that goes on is one block, as a reader of it expects."""
    last, first = begun[-1], rest[0] if rest else None
    if isinstance(last, TextBlock) and isinstance(first, TextBlock):
        return (*begun[:-1], TextBlock(last.text + first.text), *rest[1:])
    return (*begun, *rest)


def open_session(
    exchange: LlmExchange, conversation: Conversation, system: str, shape: MessageShaper | None, effort: Effort
) -> ConversationSession:
    """A session that sends a conversation, with its messages shaped before."""
    shaped = exchange if shape is None else ShapedExchange(exchange, shape)
    return ConversationSession(ContinuingExchange(shaped), conversation, system=system, effort=effort)


def _ignore_event(_event: StreamEvent) -> None:
    """Nobody listens to these events."""


def _drop_calls(response: LlmResponse) -> LlmResponse:
    """The answer to a request that offered no tools: calls made anyway could never get a result."""
    if not response.has_tool_calls():
        return response
    return replace(
        response,
        content=tuple(block for block in response.content if not isinstance(block, ToolUseBlock)),
        stop_reason=StopReason(StopKind.OTHER, "called a tool that was not offered"),
    )
