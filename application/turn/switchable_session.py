"""A session whose model can be switched at any time, without a message being lost or sent twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from quorum.application.ports.models import LlmSession, OnStreamEvent, ToolChoice
from quorum.application.turn.fallback_models import FAILURES_IN_A_ROW, OUTAGES, FallbackModels
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import AssistantMessage, Conversation, UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.conversation.stream import (
    Delta,
    StreamedReasoning,
    StreamedToolCall,
    StreamEvent,
    StreamRetry,
)
from quorum.domain.errors import ProviderError
from quorum.domain.text.json_value import JsonObject

CONTINUE_PROMPT = "Your last answer broke off. Continue exactly where it stopped."

OpenSession: TypeAlias = Callable[[str], LlmSession]
_Request: TypeAlias = Callable[[LlmSession, OnStreamEvent], Awaitable[LlmResponse]]


class SwitchableSession:
    """Sends `conversation` to the model chosen last.

    `open_session` opens another session for the same conversation, or raises ProviderError(CONFIGURATION); it
    may block. A switch holds from the next request on, or, while a request waits to be repeated, for that one.

    Where the chosen model does not answer, `fallbacks` stand in for the rest of the turn: after three failures
    of a request in a row, or where the provider is not tried again. An answer of which anything arrived is
    never asked of another model.
    """

    def __init__(
        self,
        first: LlmSession,
        *,
        conversation: Conversation,
        open_session: OpenSession,
        fallbacks: FallbackModels | None = None,
    ) -> None:
        self._fallbacks = fallbacks
        self._stand_in: LlmSession | None = None
        self._session = self._answering = first
        self.conversation = conversation
        self._open_session = open_session
        self._attempt: _Attempt | None = None
        self._last_counted: tuple[LlmSession, tuple[JsonObject, ...]] | None = None

    @property
    def model(self) -> str:
        """The full name of the model chosen, "provider/model"."""
        return self._session.model

    @property
    def chosen(self) -> LlmSession:
        """The session with the model chosen."""
        return self._session

    @property
    def serving(self) -> str:
        """The full name of the model that the next request goes to."""
        return self._serving.model

    @property
    def _serving(self) -> LlmSession:
        return self._stand_in or self._session

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

    async def open(self, model: str) -> LlmSession:
        """Open a session with this model, to switch to. Raises ProviderError(CONFIGURATION)."""
        return await asyncio.to_thread(self._open_session, model)  # it may have to import a provider's modules

    async def reopen(self) -> None:
        """Open a session with the same model anew, for what goes with every request has changed.

        Not while a request is under way. Raises ProviderError(CONFIGURATION).
        """
        self.switch(await self.open(self.model))

    def switch(self, session: LlmSession) -> None:
        """Send through this session from now on; a request that waits to be repeated goes out on it at once."""
        self._session, self._stand_in = session, None
        if self._attempt is not None:
            self._attempt.abandon_wait()

    async def send_with_tools(
        self,
        content: str | UserMessage | None,
        tools: Sequence[JsonObject],
        *,
        tool_choice: ToolChoice = "auto",
        max_output_tokens: int | None = None,
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        """Send a message (None: continue the conversation as it is) and offer tools."""
        offered = tuple(tools)
        request = self._build_request(content, offered, tool_choice, max_output_tokens)
        return await self._send(request, offered, tool_choice, on_event)

    async def send_tool_results(
        self,
        results: Sequence[ToolResultMessage],
        tools: Sequence[JsonObject],
        *,
        tool_choice: ToolChoice,
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        """Send the results of the open calls and offer tools.

        The calls may come from a request of another session, or of another process: nothing that an earlier
        request said is relied upon.
        """
        offered = tuple(tools)

        async def give(session: LlmSession, on_event: OnStreamEvent) -> LlmResponse:
            if self._knows(session, offered):
                return await session.send_tool_results(results, tool_choice=tool_choice, on_event=on_event)
            self.conversation.add_results(results)
            return await self._build_request(None, offered, tool_choice)(session, on_event)

        return await self._send(give, offered, tool_choice, on_event)

    def _build_request(
        self,
        content: str | UserMessage | None,
        tools: tuple[JsonObject, ...],
        tool_choice: ToolChoice,
        max_output_tokens: int | None = None,
    ) -> _Request:
        async def say(session: LlmSession, on_event: OnStreamEvent) -> LlmResponse:
            said = content
            if said is None and not self._knows(session, tools) and self._ends_with_an_answer():
                said = CONTINUE_PROMPT  # what another model began can only be continued when it is asked for
            self._last_counted = session, tools
            return await session.send_with_tools(
                said, tools, tool_choice=tool_choice, max_output_tokens=max_output_tokens, on_event=on_event
            )

        return say

    def _knows(self, session: LlmSession, tools: tuple[JsonObject, ...]) -> bool:
        """Whether this session sent the latest request, and offered these tools with it."""
        return (
            self._last_counted is not None
            and self._last_counted[0] is session
            and self._last_counted[1] == tools
        )

    async def _send(
        self, request: _Request, tools: tuple[JsonObject, ...], choice: ToolChoice, on_event: OnStreamEvent
    ) -> LlmResponse:
        while True:
            may_fall_back = self._fallbacks is not None and self._fallbacks.are_left
            attempt = self._attempt = _Attempt(on_event, patient=not may_fall_back)
            session = self._answering = self._serving
            failure: ProviderError | None = None
            try:
                return await request(session, attempt)
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
            if reason and session is self._serving and not await self._fall_back(session, reason):
                assert failure is not None  # a wait is given up only for a model that may stand in
                raise failure
            request = self._build_request(
                None, tools, choice
            )  # the conversation holds already what was to be said

    async def _fall_back(self, failed: LlmSession, reason: str) -> bool:
        """Switch to the next fallback model; False if there is none."""
        if self._fallbacks is None:
            return False
        chosen = self._session
        stand_in = await self._fallbacks.open_next(failed.model, chosen.model, reason, self.open)
        if self._session is chosen:  # else the person chose another meanwhile
            self._stand_in = stand_in
            return stand_in is not None
        return True

    def _ends_with_an_answer(self) -> bool:
        messages = self.conversation.messages
        return bool(messages) and isinstance(messages[-1], AssistantMessage)


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
