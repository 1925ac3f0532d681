"""A model without a provider: it says what a script contains, and remembers what it was sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from quorum.application.conversation_session import ContinuingExchange, ConversationSession
from quorum.application.ports.models import LlmRequest, MessageShaper, OnStreamEvent, ToolChoice
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import Conversation, Message
from quorum.domain.conversation.response import (
    Delta,
    LlmResponse,
    ReasoningBlock,
    StreamedReasoning,
    StreamedToolCall,
    StreamedUsage,
    StreamRetry,
    TextBlock,
    ToolUseBlock,
    Usage,
)
from quorum.domain.text.json_value import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One answer of the script: `first` is sent piece by piece, then `gate` is awaited, then `answer` comes.

    Where `answer` is an error, `first` is what had arrived before it, and `used` what is told then.
    """

    answer: LlmResponse | Exception
    first: Sequence[str | StreamRetry] = ()
    gate: asyncio.Event | None = None
    used: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What one sending gave: the whole conversation at that moment, and what was offered."""

    messages: tuple[Message, ...]
    tools: tuple[JsonObject, ...]
    tool_choice: ToolChoice
    system: str = ""
    effort: Effort = Effort.DEFAULT
    max_output_tokens: int | None = None
    window: int | None = None


@dataclass(eq=False)
class FakeSession(ConversationSession):
    """Implements `LlmExchange`, and `LlmSession` with itself. `waiting` is set while a request waits at its
    gate. Unless it `continues`, an answer that breaks off has failed, as below what opens sessions."""

    script: list[LlmResponse | Exception | Step]
    conversation: Conversation = field(default_factory=Conversation)
    model: str = "fake/model"
    sent: list[Sent] = field(default_factory=list)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    shape: MessageShaper | None = None
    system: str = ""
    effort: Effort = Effort.DEFAULT
    continues: bool = True

    def __post_init__(self) -> None:
        exchange = ContinuingExchange(self) if self.continues else self
        super().__init__(exchange, self.conversation, system=self.system, effort=self.effort)

    async def exchange(self, request: LlmRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Take the next answer of the script."""
        self.sent.append(
            Sent(
                messages=request.messages if self.shape is None else await self.shape(request.messages),
                tools=request.tools,
                tool_choice=request.tool_choice,
                system=request.system,
                effort=request.effort,
                max_output_tokens=request.max_output_tokens,
                window=request.window,
            )
        )
        entry = self.script.pop(0)
        step = entry if isinstance(entry, Step) else Step(answer=entry)
        for piece in step.first:
            on_event(Delta(piece) if isinstance(piece, str) else piece)
        if step.gate is not None:
            self.waiting.set()
            try:
                await step.gate.wait()
            finally:
                self.waiting.clear()
        if step.used is not None:
            on_event(StreamedUsage(step.used))
        if isinstance(step.answer, Exception):
            raise step.answer
        _tell(step.answer, on_event, text_is_told=bool(step.first))
        return step.answer


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
