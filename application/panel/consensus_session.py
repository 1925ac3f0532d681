"""A session whose prompts are answered by one model, or by several: as it was chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from application.events.event_bus import EventBus
from application.panel.consensus_choice import ConsensusChoice
from application.panel.panel_session import NoPanelAnswer, PanelSession
from application.ports.models import LlmSession, OnStreamEvent, ToolChoice
from domain.calls.tool import ToolResultMessage
from domain.conversation.history import Conversation, UserMessage
from domain.conversation.response import LlmResponse
from domain.conversation.stream import CompletedResponse, Delta
from domain.events.event import ErrorOccurred, PanelConcluded
from domain.panel.consensus import ConsensusLevel, Strategy
from domain.text.json_value import JsonObject


class ConsensusSession:
    """Implements `LlmSession` over that of one model, `alone`, and panels by the strategy.

    A panel answers only what the person says at the beginning of a turn; where it cannot, that is said and the
    model answers alone, with its tools. `conversation` is that of `alone` and of the panels.
    """

    def __init__(
        self,
        alone: LlmSession,
        panels: Mapping[Strategy, Callable[[], PanelSession]],
        *,
        choice: ConsensusChoice,
        conversation: Conversation,
        events: EventBus,
    ) -> None:
        self._alone = alone
        self._panels = panels
        self._choice = choice
        self._conversation = conversation
        self._events = events

    @property
    def model(self) -> str:
        """The model that answers alone."""
        return self._alone.model

    async def send(self, content: str) -> LlmResponse:
        """Send a message without tools; no panel answers it."""
        return await self._alone.send(content)

    async def send_streaming(self, content: str, on_event: OnStreamEvent) -> LlmResponse:
        """The same, telling what arrives."""
        return await self._alone.send_streaming(content, on_event)

    async def send_with_tools(
        self,
        content: str | UserMessage | None,
        tools: Sequence[JsonObject],
        *,
        tool_choice: ToolChoice = "auto",
        max_output_tokens: int | None = None,
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        """Send a message, or continue the conversation as it is. Raises ProviderError and LedgerError."""
        due = self._choice.take_due()
        if due.level is ConsensusLevel.ENSEMBLE and self._is_prompt(content):
            if content is not None:
                self._conversation.add_user(content)
                content = None
            if (text := await self._ask_panel(self._panels[due.strategy]())) is not None:
                response = LlmResponse.from_text(text, model=self.model)
                on_event(Delta(text))
                self._conversation.add_response(response)
                on_event(CompletedResponse(response))
                return response
        return await self._alone.send_with_tools(
            content, tools, tool_choice=tool_choice, max_output_tokens=max_output_tokens, on_event=on_event
        )

    async def send_tool_results(
        self,
        results: Sequence[ToolResultMessage],
        *,
        tool_choice: ToolChoice = "auto",
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        """Send the results of the open calls to the model that made them."""
        return await self._alone.send_tool_results(results, tool_choice=tool_choice, on_event=on_event)

    def _is_prompt(self, content: str | UserMessage | None) -> bool:
        """Whether the person said it, or it is what they said and nobody answered."""
        messages = self._conversation.messages
        said = content if content is not None else messages[-1] if messages else None
        return isinstance(said, UserMessage) and not said.of_call

    async def _ask_panel(self, panel: PanelSession) -> str | None:
        """What comes of it; None where the model is to answer alone."""
        try:
            return await panel.answer_last()
        except NoPanelAnswer as problem:
            reason = f"{problem}; {self.model} answers alone"
            if (left := self._events.state.open_panel) is not None and left.form is panel.form:
                over = PanelConcluded(panel_id=left.panel_id, synthesis=None, reason=reason)
                await self._events.record(over)
            else:
                await self._events.record(ErrorOccurred(message=reason))
            return None
