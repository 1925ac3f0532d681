"""The calls in an answer's text as blocks, with ids of our own."""

from __future__ import annotations

from dataclasses import replace

from application.ports.models import OnStreamEvent
from domain.conversation.response import ToolUseBlock
from domain.conversation.stream import StreamedToolCall
from domain.textual_calls.forms import TextualCall
from infrastructure.models.shared.call_arguments import build_call_block
from infrastructure.models.shared.call_ids import CallIds


class TextualCalls:
    """Collects the textual calls of one answer and tells of them."""

    def __init__(self, on_event: OnStreamEvent) -> None:
        self._on_event = on_event
        self._ids = CallIds()
        self._announced = 0
        self._begun: tuple[int, str, str] | None = None
        self._calls: list[tuple[str, TextualCall]] = []

    def begin(self, name: str) -> tuple[int, str, str]:
        """Announce a call of this tool, whose arguments are still being written."""
        self._begun = (self._announced, self._ids.claim(""), name)
        self._announced += 1
        self._on_event(StreamedToolCall(index=self._begun[0], id=self._begun[1], name=name))
        return self._begun

    def add(self, call: TextualCall) -> None:
        """Take a call that is whole."""
        begun = (
            self._begun if self._begun is not None and self._begun[2] == call.name else self.begin(call.name)
        )
        self._begun = None
        self._on_event(StreamedToolCall(index=begun[0], arguments_delta=call.arguments))
        self._calls.append((begun[1], call))

    def drop(self) -> None:
        """Forget them: they turned out to be a part of the thinking."""
        self._calls.clear()

    def build_blocks(self) -> tuple[ToolUseBlock, ...]:
        """The calls in their order."""
        return tuple(
            replace(block, repairs=(*call.repairs, *block.repairs))
            for call_id, call in self._calls
            for block in (build_call_block(call_id, call.name, call.arguments),)
        )
