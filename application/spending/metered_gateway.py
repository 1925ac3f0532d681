"""The way to the models on which every request is admitted by the spend limiter, and counted."""

from __future__ import annotations

from quorum.application.conversation_session import ArrivingAnswer, open_session
from quorum.application.ports.models import (
    LlmExchange,
    LlmGateway,
    LlmRequest,
    LlmSession,
    MessageShaper,
    OnStreamEvent,
)
from quorum.application.spending.spend_limiter import SpendLimiter
from quorum.domain.conversation.context_size import ContextMeter
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import AssistantMessage, Conversation
from quorum.domain.conversation.response import LlmResponse, Usage
from quorum.domain.text.json_text import count_utf8_bytes, encode_beginning
from quorum.domain.text.json_value import JsonObject

# What an answer is expected to have, in tokens, before the first one of a session is there.
_FIRST_ANSWER = 500
_LONGEST_JSON = 1_000_000


class MeteredGateway:
    """Implements `LlmGateway` over another: nothing is sent that the limiter does not admit.

    `may_ask`: the person may be asked about a request; otherwise one that does not fit is refused.
    """

    def __init__(self, gateway: LlmGateway, limiter: SpendLimiter, *, may_ask: bool = True) -> None:
        self._gateway = gateway
        self._limiter = limiter
        self._may_ask = may_ask

    def open_exchange(self, model: str) -> LlmExchange:
        """What sends conversations to "provider/model"; without any cap, that of the gateway itself."""
        exchange = self._gateway.open_exchange(model)
        if not self._limiter.is_on:
            return exchange
        return MeteredExchange(exchange, self._limiter, may_ask=self._may_ask)

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
        if not self._limiter.is_on:
            return self._gateway.open_session(model, conversation, system, shape, effort=effort)
        return open_session(self.open_exchange(model), conversation, system, shape, effort)

    def list_efforts(self, model: str) -> tuple[Effort, ...]:
        """The reasoning efforts that the API of this model takes."""
        return self._gateway.list_efforts(model)

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the providers in the settings."""
        return self._gateway.providers

    @property
    def configured_providers(self) -> tuple[str, ...]:
        """The names of those that someone has set up."""
        return self._gateway.configured_providers

    async def list_models(self, provider: str) -> tuple[str, ...]:
        """The models that a configured provider lists, each as "provider/model". Raises ProviderError."""
        return await self._gateway.list_models(provider)

    async def aclose(self) -> None:
        """Close the connections of all sessions."""
        await self._gateway.aclose()


class MeteredExchange:
    """Implements `LlmExchange` over another. Each request may raise SpendCapReached, and then nothing is sent.

    A request is expected to take its prompt, estimated as for the context window, and an answer as long as the
    last one; what the last request had in a cache is expected to be read from there again. An answer that broke
    off tells no usage: its estimate is counted.
    """

    def __init__(self, exchange: LlmExchange, limiter: SpendLimiter, *, may_ask: bool) -> None:
        self._exchange = exchange
        self._limiter = limiter
        self._may_ask = may_ask
        self._meter = ContextMeter()
        self._fixed: tuple[str, tuple[JsonObject, ...]] = "", ()
        self._last: Usage | None = None

    @property
    def model(self) -> str:
        """The model's full name, "provider/model"."""
        return self._exchange.model

    async def exchange(self, request: LlmRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Send the conversation once it is admitted."""
        estimate = self._estimate(request)
        admission = await self._limiter.admit(self.model, estimate, may_ask=self._may_ask)
        arriving = ArrivingAnswer(on_event)
        try:
            response = await self._exchange.exchange(request, arriving)
        except BaseException:
            if arriving.any_arrived:
                self._limiter.count(admission, estimate)
            else:
                self._limiter.release(admission)
            raise
        self._limiter.count(admission, response.usage)
        self._last = response.usage
        if (kept := response.without_unfinished_calls()).content:
            self._meter.learn_tokens((*request.messages, AssistantMessage(kept)), response.usage.context)
        return response

    def _estimate(self, request: LlmRequest) -> Usage:
        if (fixed := (request.system, request.tools)) != self._fixed:
            self._fixed = fixed
            sizes = (count_utf8_bytes(encode_beginning(tool, _LONGEST_JSON)[0]) for tool in request.tools)
            self._meter.fixed_bytes = count_utf8_bytes(request.system) + sum(sizes)
        prompt, last = self._meter.estimate_tokens(request.messages), self._last
        if last is None:
            return Usage(input=prompt, output=_FIRST_ANSWER)
        cached = min(prompt, last.cache_read + last.cache_write)
        rest = prompt - cached
        if last.cache_write:
            return Usage(cache_write=rest, cache_read=cached, output=last.output)
        return Usage(input=rest, cache_read=cached, output=last.output)
