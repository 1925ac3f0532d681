"""Sends requests to a model that can be switched at any time, without one being lost or answered twice.

Fallback models stand in, one after the other, where the chosen one is overloaded or cannot be reached.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from quorum.application.event_bus import EventBus
from quorum.application.ports.models import LlmExchange, LlmGateway, LlmRequest, OnStreamEvent
from quorum.domain.conversation.effort import Effort, find_effort
from quorum.domain.conversation.response import (
    Delta,
    LlmResponse,
    StreamedReasoning,
    StreamedToolCall,
    StreamEvent,
    StreamRetry,
)
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import ModelFellBack, NoticeGiven

SESSIONS_OWN = frozenset({"", "inherit", "default"})
"""What stands for the model that the session has."""


async def complete_model_name(model: str, current: str, gateway: LlmGateway) -> str:
    """Complete a model to "provider/model". Without a provider it is one of that of the `current` model, by its
    name or a part of it, as `haiku` is. Raises ProviderError."""
    if "/" in model:
        return model
    provider = current.partition("/")[0]
    listed = await gateway.list_models(provider)
    full = f"{provider}/{model}"
    if full in listed:
        return full
    if (near := next((name for name in listed if model in name), None)) is not None:
        return near
    raise ProviderError(f"{provider} lists no model of that name", kind=ProviderErrorKind.CONFIGURATION)


OUTAGES = frozenset(
    (
        ProviderErrorKind.OVERLOADED,
        ProviderErrorKind.RATE_LIMIT,
        ProviderErrorKind.SERVER,
        ProviderErrorKind.CONNECTION,
        ProviderErrorKind.TIMEOUT,
    )
)
"""Failures for which another model may be asked; any other would meet it too, or is for the person to mend."""

FAILURES_IN_A_ROW = 3
"""After so many failures of one request it is waited for no more."""


class FallbackModels:
    """The models of `models.decision_fallback`, each asked at most once in a turn, in their order."""

    def __init__(self, models: Sequence[str], events: EventBus) -> None:
        self._models = tuple(dict.fromkeys(models))
        self._events = events
        self._left = list(self._models)
        self._used: list[str] = []

    @property
    def are_left(self) -> bool:
        """Whether another model may be asked in this turn."""
        return bool(self._left)

    def begin_turn(self) -> None:
        """Start a turn: all models may be asked again."""
        self._left, self._used = list(self._models), []

    @property
    def used(self) -> tuple[str, ...]:
        """Those that stood in during this turn."""
        return tuple(self._used)

    async def open_next(
        self, failed: str, chosen: str, reason: str, open_exchange: Callable[[str], Awaitable[LlmExchange]]
    ) -> LlmExchange | None:
        """What sends requests to the next of them that can be had, after it was said that it stands in; None
        where none is left. `reason` is why `failed` does not answer."""
        while self._left:
            model = self._left.pop(0)
            if model in (failed, chosen):
                continue
            try:
                exchange = await open_exchange(model)
            except ProviderError as error:
                await self._events.record(NoticeGiven(message=f"{model} cannot stand in: {error}"))
                continue
            self._used.append(model)
            await self._events.record(ModelFellBack(model=model, instead_of=failed, reason=reason))
            return exchange
        return None


class ReasoningEfforts:
    """What the person chose for a model in this session holds before what the settings say of it, `configured`
    by model or role, of which the first of `roles` counts. `list_efforts` gives those that a model's API takes:
    it is asked for no other.
    """

    def __init__(
        self,
        configured: Mapping[str, Effort],
        *,
        roles: tuple[str, ...],
        list_efforts: Callable[[str], tuple[Effort, ...]],
        chosen: Mapping[str, Effort],
    ) -> None:
        self._configured = configured
        self._roles = roles
        self._list_efforts = list_efforts
        self._chosen = dict(chosen)

    def get_effort(self, model: str) -> Effort:
        """The effort that a model is asked for."""
        wanted = self.find_wanted(model)
        return wanted if wanted in self._list_efforts(model) else Effort.DEFAULT

    def find_wanted(self, model: str) -> Effort:
        """The effort that is set for a model, whether its API takes it or not."""
        return self._chosen.get(model) or find_effort(self._configured, model, *self._roles)

    def list_taken(self, model: str) -> tuple[Effort, ...]:
        """The efforts that a model's API takes; none where it does not reason."""
        return self._list_efforts(model)

    def choose(self, model: str, effort: Effort | None) -> Effort | None:
        """Ask the model for this effort from now on, None: for what the settings say. Returns what was chosen
        before."""
        before = self._chosen.pop(model, None)
        if effort is not None:
            self._chosen[model] = effort
        return before

    def describe_ignored(self, model: str) -> tuple[str, ...]:
        """A sentence for the person where the effort that is set is none that the model's API takes."""
        wanted, taken = self.find_wanted(model), self._list_efforts(model)
        if wanted is Effort.DEFAULT or wanted in taken:
            return ()
        return (f"{describe_refusal(model, wanted, taken)}; it is asked without (models.effort)",)


def list_effort_roles(kind: SessionKind) -> tuple[str, ...]:
    """The roles of `models.effort` for the model of a session; the first that is set counts."""
    match kind:
        case SessionKind.AGENT:
            return ("decision",)
        case SessionKind.EXTERNAL:
            return ()
        case SessionKind.ASK:
            return ("ask", "decision")
        case SessionKind.DISCUSS | SessionKind.DEBATE | SessionKind.REVIEW:
            return ("moderator", "decision")


def describe_refusal(model: str, effort: Effort, taken: tuple[Effort, ...]) -> str:
    """Why a model is not asked for this effort."""
    if not taken:
        return f"{model} takes no reasoning effort"
    return f"{model} takes no effort {effort.value}, only {', '.join(each.value for each in taken)}"


OpenExchange: TypeAlias = Callable[[str], LlmExchange]
BuildRequest: TypeAlias = Callable[[LlmExchange], Awaitable[LlmRequest]]


class SwitchableSession:
    """Sends requests to the model chosen last.

    `open_exchange` opens what sends them to another model, or raises ProviderError(CONFIGURATION); it may
    block.
    A switch holds from the next request on, or, while a request waits to be repeated, for that one.

    Where the chosen model does not answer, `fallbacks` stand in for the rest of the turn: after three failures
    of a request in a row, or where the provider is not tried again. An answer of which anything arrived is
    never asked of another model.
    """

    def __init__(
        self,
        first: LlmExchange,
        *,
        open_exchange: OpenExchange,
        fallbacks: FallbackModels | None = None,
    ) -> None:
        self._fallbacks = fallbacks
        self._stand_in: LlmExchange | None = None
        self._chosen = self._answering = first
        self._open_exchange = open_exchange
        self._attempt: _Attempt | None = None

    @property
    def model(self) -> str:
        """The full name of the model chosen, "provider/model"."""
        return self._chosen.model

    @property
    def chosen(self) -> LlmExchange:
        """What sends requests to the model chosen."""
        return self._chosen

    @property
    def serving(self) -> str:
        """The full name of the model that the next request goes to."""
        return self._serving.model

    @property
    def _serving(self) -> LlmExchange:
        return self._stand_in or self._chosen

    @property
    def fallbacks_used(self) -> tuple[str, ...]:
        """The models that stood in for the chosen one during this turn."""
        return self._fallbacks.used if self._fallbacks is not None else ()

    def begin_turn(self) -> None:
        """Start a turn: the chosen model is asked first again."""
        self._stand_in = None
        if self._fallbacks is not None:
            self._fallbacks.begin_turn()

    @property
    def answering(self) -> str:
        """The full name of the model that the latest request went to."""
        return self._answering.model

    async def open(self, model: str) -> LlmExchange:
        """Open what sends requests to this model, to switch to. Raises ProviderError(CONFIGURATION)."""
        return await asyncio.to_thread(self._open_exchange, model)  # it may have to import a provider's modules

    async def reopen(self) -> None:
        """Open what sends requests to the same model anew, for what goes with all of them has changed.

        Not while a request is under way. Raises ProviderError(CONFIGURATION).
        """
        self.switch(await self.open(self.model))

    def switch(self, exchange: LlmExchange) -> None:
        """Send through this from now on; a request that waits to be repeated goes out on it at once."""
        self._chosen, self._stand_in = exchange, None
        if self._attempt is not None:
            self._attempt.abandon_wait()

    async def ask(self, build: BuildRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Send the request that `build` returns for the model that is to answer; it is built anew for another.

        Raises ProviderError.
        """
        while True:
            may_fall_back = self._fallbacks is not None and self._fallbacks.are_left
            attempt = self._attempt = _Attempt(on_event, patient=not may_fall_back)
            exchange = self._answering = self._serving
            failure: ProviderError | None = None
            try:
                return await exchange.exchange(await build(exchange), attempt)
            except asyncio.CancelledError:
                if not attempt.was_only_abandoned:
                    raise
            except ProviderError as error:
                if attempt.any_arrived or error.partial or error.kind not in OUTAGES:
                    raise
                failure = error
            finally:
                self._attempt = None
                attempt.end()
            reason = str(failure) if failure is not None else attempt.outage
            if reason and exchange is self._serving and not await self._fall_back(exchange, reason):
                assert failure is not None  # a wait is given up only for a model that may stand in
                raise failure

    async def _fall_back(self, failed: LlmExchange, reason: str) -> bool:
        """Switch to the next fallback model; False if there is none."""
        if self._fallbacks is None:
            return False
        chosen = self._chosen
        stand_in = await self._fallbacks.open_next(failed.model, chosen.model, reason, self.open)
        if self._chosen is chosen:  # else the person chose another meanwhile
            self._stand_in = stand_in
            return stand_in is not None
        return True


class _Attempt:
    """One request, made by the current task. It can be abandoned while it waits to be repeated. Unless it is
    `patient`, it abandons itself where it failed too often, and `outage` says why.

    That cancels the task; a cancellation by anyone else, before or after, differs in their count.
    """

    def __init__(self, on_event: OnStreamEvent, *, patient: bool) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelled_before = task.cancelling()
        self._on_event = on_event
        self._waits = self._abandoned = self.any_arrived = False
        self._patient = patient
        self.outage = ""

    def __call__(self, event: StreamEvent) -> None:
        self._waits = isinstance(event, StreamRetry)
        if isinstance(event, StreamRetry) and self._is_outage(event):
            self.outage = event.reason
            self.abandon_wait()
            return
        self.any_arrived = self.any_arrived or isinstance(event, Delta | StreamedReasoning | StreamedToolCall)
        self._on_event(event)

    def _is_outage(self, event: StreamRetry) -> bool:
        return not self._patient and event.kind in OUTAGES and event.attempt >= FAILURES_IN_A_ROW

    def abandon_wait(self) -> None:
        """Stop waiting, if the request waits to be repeated and nothing of an answer has arrived."""
        if self._waits and not self._abandoned:
            self._abandoned = True
            self._task.cancel()

    @property
    def was_only_abandoned(self) -> bool:
        """Whether nobody else cancelled the task."""
        return self._abandoned and self._task.cancelling() - 1 <= self._cancelled_before

    def end(self) -> None:
        """Undo this object's own cancellation of the task."""
        if self._abandoned:
            self._task.uncancel()
