"""Keeps a session within its spend caps: every request is admitted before it is sent, and counted after it.

`MeteredGateway` is the way to the models on which no request gets around that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from types import MappingProxyType

from msgspec import Struct

from quorum.application.conversation_session import ArrivingAnswer, open_session
from quorum.application.event_bus import EventBus
from quorum.application.ports.models import (
    LlmExchange,
    LlmGateway,
    LlmRequest,
    LlmSession,
    MessageShaper,
    OnStreamEvent,
)
from quorum.application.ports.people import Approver
from quorum.domain.conversation.context_size import ContextMeter
from quorum.domain.conversation.cost import (
    CapStanding,
    PriceTable,
    SpendCap,
    SpendCaps,
    Spending,
    SpendQuestion,
)
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import AssistantMessage, Conversation
from quorum.domain.conversation.response import LlmResponse, Usage
from quorum.domain.errors import SpendCapReached
from quorum.domain.events.event import SpendCapRaised
from quorum.domain.text.json_text import count_utf8_bytes, encode_beginning
from quorum.domain.text.json_value import JsonObject


class Admission(Struct, frozen=True, eq=False):
    """A request that may be sent; `estimate` is reserved for it until it is counted."""

    model: str
    estimate: Usage


class SpendLimiter:
    """Admits the requests of a session, whoever makes them.

    What the session spent before, in other processes too, counts. Requests under way count with their
    estimates, so that several at once cannot exceed a cap together by more than their estimates were short.
    `always_asked` are models that are asked besides that of a request, such as reviewers; `is_free` tells a
    model that costs nothing anywhere. `ceilings` are what nobody may raise a cap above; where there is one for
    the cost, models without a price are not asked.
    """

    def __init__(
        self,
        caps: SpendCaps,
        *,
        prices: PriceTable,
        approver: Approver,
        events: EventBus,
        always_asked: Sequence[str] = (),
        is_free: Callable[[str], bool] = lambda _model: False,
        ceilings: Mapping[SpendCap, Decimal] = MappingProxyType({}),
    ) -> None:
        self._caps = caps
        self._ceilings = ceilings
        self._prices = prices
        self._approver = approver
        self._events = events
        self._always_asked = tuple(always_asked)
        self._is_free = is_free
        self._session = events.state.spending
        self._session_raises = dict(events.state.cap_raises)
        self._turn = Spending()
        self._turn_raises: dict[SpendCap, Decimal] = {}
        self._under_way: list[Admission] = []
        self._accepted_unpriced: set[str] = set()
        self._one_question = asyncio.Lock()

    @property
    def is_on(self) -> bool:
        """Whether there is any cap."""
        return bool(self._caps.limits)

    @property
    def standings(self) -> tuple[CapStanding, ...]:
        """How far each cap is used up, in the order of the settings."""
        return tuple(
            CapStanding(
                cap=cap, limit=limit, spent=cap.get_amount(self._turn if cap.is_per_turn else self._session)
            )
            for cap, limit in self._in_force.limits.items()
        )

    def build_unpriced_notices(self, models: Sequence[str]) -> tuple[str, ...]:
        """What to say at the start of a session with these models: for which of them a cap cannot be kept."""
        unpriced = self._list_unpriced(models)
        if not unpriced:
            return ()
        question = self._build_unpriced_question(unpriced)
        return (f"{question.reason}; {question.remedy}",)

    def begin_turn(self) -> None:
        """What is spent from now on belongs to another turn; what a cap of the turn was raised by is over."""
        self._turn, self._turn_raises = Spending(), {}

    async def admit(self, model: str, estimate: Usage, *, may_ask: bool) -> Admission:
        """Reserve what a request is expected to use. `count` or `release` must follow.

        The person is asked where a cap would be exceeded or cannot be kept; without `may_ask`, and where
        nobody is there, the request is refused at once. Raises SpendCapReached.
        """
        if (question := self._find_question(model, estimate)) is not None:
            if not may_ask or not self._approver.is_there:
                raise _build_refusal(question)
            async with self._one_question:
                while (
                    question := self._find_question(model, estimate)
                ) is not None:  # answered by now, it may fit
                    if (ceiling := self._find_ceiling(question)) is not None:
                        raise SpendCapReached(f"{question.reason}; {ceiling}", cap=question.cap.value)
                    if await self._approver.ask(question) is not True:
                        raise _build_refusal(question)
                    await self._raise(question)
        admission = Admission(model, estimate)
        self._under_way.append(admission)
        return admission

    def release(self, admission: Admission) -> None:
        """The request used nothing, as far as anybody knows."""
        self._under_way.remove(admission)

    def count(self, admission: Admission, usage: Usage) -> None:
        """The request used this."""
        self._under_way.remove(admission)
        cost = self._find_cost(admission.model, usage)
        self._session, self._turn = (
            self._session.with_request(usage, cost),
            self._turn.with_request(usage, cost),
        )

    # ---------------------------------------------------------------- what may be asked

    @property
    def _in_force(self) -> SpendCaps:
        raised = self._caps.raise_by({**self._session_raises, **self._turn_raises}).limits
        # What was raised in an earlier process may be above what is allowed by now.
        return SpendCaps({cap: min(limit, self._ceilings.get(cap, limit)) for cap, limit in raised.items()})

    def _find_question(self, model: str, estimate: Usage) -> SpendQuestion | None:
        """What has to be answered before this request, if anything."""
        if unpriced := self._list_unpriced((model, *self._always_asked)):
            return self._build_unpriced_question(unpriced)
        caps = self._in_force
        session, turn = self._session, self._turn
        for usage, cost in (
            (each.estimate, self._find_cost(each.model, each.estimate)) for each in self._under_way
        ):
            session, turn = session.with_request(usage, cost), turn.with_request(usage, cost)
        cost = self._find_cost(model, estimate)
        session, turn = session.with_request(estimate, cost), turn.with_request(estimate, cost)
        if (cap := caps.find_exceeded(session, turn)) is None:
            return None
        limit, step = caps.limits[cap], self._caps.limits[cap]
        expected = cap.get_amount(turn if cap.is_per_turn else session)
        steps = ((expected - limit) / step).to_integral_value(ROUND_CEILING)
        return SpendQuestion(
            cap=cap,
            models=(model,),
            limit=limit,
            spent=cap.get_amount(self._turn if cap.is_per_turn else self._session),
            estimate=expected,
            raise_to=limit + steps * step,
        )

    def _list_unpriced(self, models: Sequence[str]) -> tuple[str, ...]:
        """Those for which no cap on the cost can be kept, and the person has not agreed to that."""
        if not self._caps.bound_cost:
            return ()
        return tuple(
            model
            for model in dict.fromkeys(models)
            if self._prices.find_price(model) is None
            and not self._is_free(model)
            and model not in self._accepted_unpriced
        )

    def _build_unpriced_question(self, models: tuple[str, ...]) -> SpendQuestion:
        cap, limit = next((cap, limit) for cap, limit in self._in_force.limits.items() if cap.is_cost)
        spent = cap.get_amount(self._turn if cap.is_per_turn else self._session)
        return SpendQuestion(cap=cap, models=models, limit=limit, spent=spent)

    def _find_ceiling(self, question: SpendQuestion) -> str | None:
        """Why nobody may agree to this, one clause; None where the person may."""
        if question.raise_to is None:
            return "it cannot be waived: the managed policy demands it" if self._caps_cost_for_good else None
        ceiling = self._ceilings.get(question.cap)
        if ceiling is None or question.raise_to <= ceiling:
            return None
        return f"the managed policy allows no more than {question.cap.render(ceiling)}"

    @property
    def _caps_cost_for_good(self) -> bool:
        return any(cap.is_cost for cap in self._ceilings)

    async def _raise(self, question: SpendQuestion) -> None:
        if question.raise_to is None:
            self._accepted_unpriced.update(question.models)
            return
        by = question.raise_to - question.limit
        raises = self._turn_raises if question.cap.is_per_turn else self._session_raises
        raises[question.cap] = raises.get(question.cap, Decimal(0)) + by
        await self._events.record(SpendCapRaised(cap=question.cap, by=by, limit=question.raise_to))

    def _find_cost(self, model: str, usage: Usage) -> Decimal | None:
        return Decimal(0) if self._is_free(model) else self._prices.compute_cost(model, usage)


def _build_refusal(question: SpendQuestion) -> SpendCapReached:
    return SpendCapReached(f"{question.reason}; {question.remedy}", cap=question.cap.value)


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
            if arriving.any_arrived or arriving.used != Usage():
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
