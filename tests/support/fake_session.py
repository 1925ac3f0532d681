"""A session without a provider: it says what a script contains, and remembers what it was sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from application.ports.models import MessageShaper, OnStreamEvent, ToolChoice
from domain.calls.tool import ToolResultMessage
from domain.conversation.effort import Effort
from domain.conversation.history import Conversation, Message, UserMessage
from domain.conversation.response import (
    LlmResponse,
    ReasoningBlock,
    StopKind,
    StopReason,
    TextBlock,
    ToolUseBlock,
)
from domain.conversation.stream import (
    Completed,
    CompletedResponse,
    Delta,
    Error,
    StreamedReasoning,
    StreamedToolCall,
)
from domain.errors import ConversationError, ProviderError
from domain.text.json_value import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One answer of the script: `first` is sent piece by piece, then `gate` is awaited, then `answer` comes.

    Where `answer` is an error, `first` is what had arrived before it.
    """

    answer: LlmResponse | ProviderError
    first: Sequence[str] = ()
    gate: asyncio.Event | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What one sending gave: the whole conversation at that moment, and what was offered."""

    messages: tuple[Message, ...]
    tools: tuple[JsonObject, ...]
    tool_choice: ToolChoice
    system: str = ""
    effort: Effort = Effort.DEFAULT
    max_output_tokens: int | None = None


@dataclass(slots=True)
class FakeSession:
    """Implements `LlmSession`. `waiting` is set while a sending waits at its gate."""

    script: list[LlmResponse | ProviderError | Step]
    conversation: Conversation = field(default_factory=Conversation)
    model: str = "fake/model"
    sent: list[Sent] = field(default_factory=list)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    tools: tuple[JsonObject, ...] = ()
    shape: MessageShaper | None = None
    system: str = ""
    effort: Effort = Effort.DEFAULT
    max_output_tokens: int | None = None

    async def send(self, content: str) -> LlmResponse:
        """Say something; nothing is reported while the answer arrives."""
        return await self.send_streaming(content, lambda _event: None)

    async def send_streaming(self, content: str, on_event: OnStreamEvent) -> LlmResponse:
        """Say something; no tools are offered."""
        self.conversation.add_user(content)
        response = await self._answer((), "auto", on_event)
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
        """Say something, or go on, and offer tools."""
        if content is not None:
            self.conversation.add_user(content)
        elif self.conversation.open_calls:
            raise ConversationError("the calls of the last answer have no results yet")
        self.tools = tuple(tools)
        self.max_output_tokens = max_output_tokens
        try:
            return await self._with_tools(tool_choice, on_event)
        finally:
            self.max_output_tokens = None

    async def send_tool_results(
        self,
        results: Sequence[ToolResultMessage],
        *,
        tool_choice: ToolChoice = "auto",
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        """Give results and offer the same tools."""
        self.conversation.add_results(results)
        return await self._with_tools(tool_choice, on_event)

    async def _with_tools(self, tool_choice: ToolChoice, on_event: OnStreamEvent) -> LlmResponse:
        response = await self._answer(self.tools, tool_choice, on_event)
        on_event(CompletedResponse(response))
        return response

    async def _answer(
        self, tools: tuple[JsonObject, ...], tool_choice: ToolChoice, on_event: OnStreamEvent
    ) -> LlmResponse:
        messages = self.conversation.messages
        if self.shape is not None:
            messages = await self.shape(messages)
        self.sent.append(
            Sent(
                messages=messages,
                tools=tools,
                tool_choice=tool_choice,
                system=self.system,
                effort=self.effort,
                max_output_tokens=self.max_output_tokens,
            )
        )
        entry = self.script.pop(0)
        step = entry if isinstance(entry, Step) else Step(answer=entry)
        for piece in step.first:
            on_event(Delta(piece))
        await self._pass(step)
        if isinstance(step.answer, ProviderError):
            self._keep(step.first, "stream cut")
            on_event(Error(step.answer))
            raise step.answer
        _tell(step.answer, on_event, text_is_told=bool(step.first))
        self.conversation.add_response(step.answer)
        return step.answer

    async def _pass(self, step: Step) -> None:
        if step.gate is None:
            return
        self.waiting.set()
        try:
            await step.gate.wait()
        except asyncio.CancelledError:
            self._keep(step.first, "interrupted")
            raise
        finally:
            self.waiting.clear()

    def _keep(self, pieces: Sequence[str], why: str) -> None:
        if pieces:
            stop = StopReason(StopKind.OTHER, why)
            kept = LlmResponse(content=(TextBlock("".join(pieces)),), stop_reason=stop)
            self.conversation.add_response(kept)


def _tell(response: LlmResponse, on_event: OnStreamEvent, *, text_is_told: bool) -> None:
    calls = 0
    for block in response.content:
        match block:
            case TextBlock():
                if not text_is_told:
                    on_event(Delta(block.text))
            case ReasoningBlock():
                on_event(StreamedReasoning(block.text))
            case ToolUseBlock():
                arguments = json.dumps(block.input)
                on_event(StreamedToolCall(index=calls, id=block.id, name=block.name, arguments_delta=arguments))
                calls += 1
            case _:
                continue
