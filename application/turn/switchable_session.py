"""Sends requests to a model that can be switched at any time, without one being lost or answered twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from quorum.application.ports.models import LlmExchange, LlmRequest, OnStreamEvent
from quorum.application.turn.fallback_models import FAILURES_IN_A_ROW, OUTAGES, FallbackModels
from quorum.domain.conversation.response import (
    Delta,
    LlmResponse,
    StreamedReasoning,
    StreamedToolCall,
    StreamEvent,
    StreamRetry,
)
from quorum.domain.errors import ProviderError

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
