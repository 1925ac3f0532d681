"""The way to the models on which every request is admitted by the spend limiter, and counted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from application.ports.models import LlmGateway, LlmSession, MessageShaper, OnStreamEvent, ToolChoice
from application.spending.spend_limiter import SpendLimiter
from domain.calls.tool import ToolResultMessage
from domain.conversation.context_size import ContextMeter
from domain.conversation.effort import Effort
from domain.conversation.history import AssistantMessage, Conversation, Message, ToolResults, UserMessage
from domain.conversation.response import LlmResponse, Usage
from domain.conversation.stream import Delta, StreamedReasoning, StreamedToolCall, StreamEvent
from domain.lazy_dataclass import dataclass
from domain.text.json_text import count_utf8_bytes, encode_beginning
from domain.text.json_value import JsonObject

# What an answer is expected to have, in tokens, before the first one of a session is there.
_FIRST_ANSWER = 500
_LONGEST_JSON = 1_000_000


class MeteredGateway:
    """Implements `LlmGateway` over another: its sessions send nothing that the limiter does not admit.

    `may_ask`: the person may be asked about a request; otherwise one that does not fit is refused. Without any
    cap, sessions are those of the gateway itself.
    """

    def __init__(self, gateway: LlmGateway, limiter: SpendLimiter, *, may_ask: bool = True) -> None:
        self._gateway = gateway
        self._limiter = limiter
        self._may_ask = may_ask

    def open_session(
        self,
        model: str,
        conversation: Conversation,
        system: str,
        shape: MessageShaper | None = None,
        *,
        effort: Effort = Effort.DEFAULT,
    ) -> LlmSession:
        """A session with "provider/model". Raises ProviderError(CONFIGURATION) if that cannot be had."""
        session = self._gateway.open_session(model, conversation, system, shape, effort=effort)
        if not self._limiter.is_on:
            return session
        return MeteredSession(session, conversation, system, self._limiter, may_ask=self._may_ask)

    def list_efforts(self, model: str) -> tuple[Effort, ...]:
        """The reasoning efforts that the API of this model takes."""
        return self._gateway.list_efforts(model)

    @property
    def providers(self) -> tuple[str, ...]:
        return self._gateway.providers

    @property
    def configured_providers(self) -> tuple[str, ...]:
        """The names of those that someone has set up."""
        return self._gateway.configured_providers

    async def list_models(self, provider: str) -> tuple[str, ...]:
        return await self._gateway.list_models(provider)

    async def aclose(self) -> None:
        await self._gateway.aclose()


class MeteredSession:
    """Implements `LlmSession` over another. Each sending may raise SpendCapReached, and then nothing is sent
    and the conversation is as it was.

    A request is expected to take its prompt, estimated as for the context window, and an answer as long as the
    last one; what the last request had in a cache is expected to be read from there again. An answer that broke
    off tells no usage: its estimate is counted.
    """

    def __init__(
        self,
        session: LlmSession,
        conversation: Conversation,
        system: str,
        limiter: SpendLimiter,
        *,
        may_ask: bool,
    ) -> None:
        self._session = session
        self._conversation = conversation
        self._limiter = limiter
        self._may_ask = may_ask
        self._system_bytes = count_utf8_bytes(system)
        self._meter = ContextMeter(self._system_bytes)
        self._tools: tuple[JsonObject, ...] = ()
        self._last: Usage | None = None

    @property
    def model(self) -> str:
        return self._session.model

    async def send(self, content: str) -> LlmResponse:
        return await self.send_streaming(content, lambda _event: None)

    async def send_streaming(self, content: str, on_event: OnStreamEvent) -> LlmResponse:
        """Like `send`, telling what arrives."""
        return await self._send_metered(
            UserMessage(content), on_event, lambda emit: self._session.send_streaming(content, emit)
        )

    async def send_with_tools(
        self,
        content: str | UserMessage | None,
        tools: Sequence[JsonObject],
        *,
        tool_choice: ToolChoice = "auto",
        max_output_tokens: int | None = None,
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        """Say something (None: continue from where the conversation stands) and offer tools."""
        self._offer(tuple(tools))
        return await self._send_metered(
            UserMessage(content) if isinstance(content, str) else content,
            on_event,
            lambda emit: self._session.send_with_tools(
                content, tools, tool_choice=tool_choice, max_output_tokens=max_output_tokens, on_event=emit
            ),
        )

    async def send_tool_results(
        self,
        results: Sequence[ToolResultMessage],
        *,
        tool_choice: ToolChoice = "auto",
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        """Give the results of exactly the open calls, offering the same tools as before."""
        return await self._send_metered(
            ToolResults(tuple(results)),
            on_event,
            lambda emit: self._session.send_tool_results(results, tool_choice=tool_choice, on_event=emit),
        )

    async def _send_metered(
        self,
        upcoming: Message | None,
        on_event: OnStreamEvent,
        send: Callable[[OnStreamEvent], Awaitable[LlmResponse]],
    ) -> LlmResponse:
        messages = self._conversation.messages
        estimate = self._estimate(messages if upcoming is None else (*messages, upcoming))
        admission = await self._limiter.admit(self.model, estimate, may_ask=self._may_ask)
        arrivals = _Arrivals(on_event)
        try:
            response = await send(arrivals)
        except BaseException:
            if arrivals.any_yet:
                self._limiter.count(admission, estimate)
            else:
                self._limiter.release(admission)
            raise
        self._limiter.count(admission, response.usage)
        self._note(response.usage)
        return response

    def _offer(self, tools: tuple[JsonObject, ...]) -> None:
        if tools is not self._tools and tools != self._tools:
            self._tools = tools
            sizes = (count_utf8_bytes(encode_beginning(tool, _LONGEST_JSON)[0]) for tool in tools)
            self._meter.fixed_bytes = self._system_bytes + sum(sizes)

    def _estimate(self, messages: Sequence[Message]) -> Usage:
        prompt, last = self._meter.estimate_tokens(messages), self._last
        if last is None:
            return Usage(input=prompt, output=_FIRST_ANSWER)
        cached = min(prompt, last.cache_read + last.cache_write)
        rest = prompt - cached
        if last.cache_write:
            return Usage(cache_write=rest, cache_read=cached, output=last.output)
        return Usage(input=rest, cache_read=cached, output=last.output)

    def _note(self, usage: Usage) -> None:
        self._last = usage
        messages = self._conversation.messages
        if messages and isinstance(messages[-1], AssistantMessage):
            self._meter.learn_tokens(messages, usage.context)


@dataclass(slots=True)
class _Arrivals:
    """Passes events on, and knows whether anything of an answer arrived."""

    on_event: OnStreamEvent
    any_yet: bool = False

    def __call__(self, event: StreamEvent) -> None:
        self.any_yet = self.any_yet or isinstance(event, Delta | StreamedReasoning | StreamedToolCall)
        self.on_event(event)
