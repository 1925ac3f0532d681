"""A session whose prompts are answered by one model, or by several: as it was chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from quorum.application.events.event_bus import EventBus
from quorum.application.panel.consensus_choice import ConsensusChoice
from quorum.application.panel.panel_session import NoPanelAnswer, PanelSession
from quorum.application.ports.models import LlmSession, OnStreamEvent, ToolChoice
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import Conversation, UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.conversation.stream import CompletedResponse, Delta
from quorum.domain.events.event import ErrorOccurred, PanelConcluded
from quorum.domain.instructions.custom_command import INIT_COMMAND, INIT_SOURCE
from quorum.domain.panel.consensus import Consensus, ConsensusLevel, Strategy
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject


class PromptPanels(Struct, frozen=True, kw_only=True):
    """Makes the panel that answers a prompt: `answer` by the strategy, `plan` while a plan is made, `draft`
    for /init, which has a file written."""

    answer: Mapping[Strategy, Callable[[], PanelSession]]
    plan: Callable[[], PanelSession]
    draft: Callable[[], PanelSession]


class ConsensusSession:
    """Implements `LlmSession` over that of one model, `alone`, and panels of several.

    A panel answers only what the person says at the beginning of a turn; where it cannot, that is said and the
    model answers alone, with its tools. `conversation` is that of `alone` and of the panels.
    """

    def __init__(
        self,
        alone: LlmSession,
        panels: PromptPanels,
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
        self._offered: Sequence[JsonObject] = ()  # with the last request, where a panel answered it

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
        self._offered = ()
        if self._is_prompt(content) and (panel := await self._choose_panel(due)) is not None:
            if content is not None:
                self._conversation.add_user(content)
                content = None
            if (response := await self._ask_panel(panel, tools)) is not None:
                self._offered = tuple(tools)
                on_event(Delta(response.text_content()))
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
        """Send the results of the open calls to the model that made them, or takes over from a panel."""
        if self._offered:
            self._conversation.add_results(results)
            offered, self._offered = self._offered, ()
            return await self._alone.send_with_tools(None, offered, tool_choice=tool_choice, on_event=on_event)
        return await self._alone.send_tool_results(results, tool_choice=tool_choice, on_event=on_event)

    def _is_prompt(self, content: str | UserMessage | None) -> bool:
        """Whether the person said it, or it is what they said and nobody answered."""
        if content is not None:
            return isinstance(content, UserMessage) and not content.of_call
        messages = self._conversation.messages
        said = messages[-1] if messages else None
        # A notice, or what was said into the turn, follows results of calls that a panel or the model made.
        prompted = (turn for turn in reversed(self._events.state.turns) if turn.prompt and not turn.undone)
        last = next(prompted, None)
        if not isinstance(said, UserMessage) or last is None:
            return False
        return self._events.hide(said.text) == self._events.hide(last.said_text)

    async def _choose_panel(self, due: Consensus) -> PanelSession | None:
        """The panel that is to answer a prompt; None where one model does. While a plan is made, what does not
        go as it was chosen is said."""
        if due.level is not ConsensusLevel.ENSEMBLE:
            return None
        phase = self._events.phase
        if not phase.is_planning:
            return await self._choose_draft(due) if self._is_init() else self._panels.answer[due.strategy]()
        if phase.is_fast:
            reason = f"in the scope fast no other model looks at a plan, so {self.model} plans alone"
            await self._events.record(ErrorOccurred(message=reason))
            return None
        if due.strategy is Strategy.DEBATE:
            reason = "a debate makes no plan, so each model plans by itself, and scores the plans of the others"
            await self._events.record(ErrorOccurred(message=reason))
        return self._panels.plan()

    def _is_init(self) -> bool:
        """Whether the prompt is /init, and no custom command of that name."""
        command = self._events.state.last_command
        return command is not None and (command.name, command.file) == (INIT_COMMAND, INIT_SOURCE)

    async def _choose_draft(self, due: Consensus) -> PanelSession:
        """The panel that drafts a file, by whatever strategy."""
        if due.strategy is Strategy.DEBATE:
            reason = "a debate writes no file, so each model drafts it, and the moderator makes one of them"
            await self._events.record(ErrorOccurred(message=reason))
        return self._panels.draft()

    async def _ask_panel(self, panel: PanelSession, tools: Sequence[JsonObject]) -> LlmResponse | None:
        """What comes of it; None where the model is to answer alone."""
        try:
            return replace(await panel.respond(tools), model=self.model)
        except NoPanelAnswer as problem:
            reason = f"{problem}; {self.model} answers alone"
            left = self._events.state.open_panel
            if left is not None and left.form is panel.form and left.conclusion is None:
                over = PanelConcluded(panel_id=left.panel_id, synthesis=None, reason=reason)
                await self._events.record(over)
            else:
                await self._events.record(ErrorOccurred(message=reason))
            return None
