"""A content block of Anthropic Messages while it arrives, and what it is once it is whole."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from domain.conversation.response import ContentBlock, OpaqueBlock, ReasoningBlock, TextBlock, ToolUseBlock
from domain.text.json_value import JsonObject, JsonValue
from infrastructure.models.shared.json_fields import parse_arguments, sendable, text_of, whole


@dataclass(slots=True)
class ArrivingBlock:
    """The block's first form, to which unknown pieces are added, and the text or arguments that followed."""

    start: dict[str, JsonValue]
    pieces: list[str] = field(default_factory=list)
    call_id: str = ""
    call_index: int = 0
    stopped: bool = False

    @property
    def kind(self) -> str:
        """The type of the block."""
        return text_of(self.start, "type")

    @property
    def text(self) -> str:
        """What the pieces say together."""
        return whole("".join(self.pieces))

    @property
    def input_at_start(self) -> str:
        """The arguments that came with the first form, as text; "" where there were none."""
        value = self.start.get("input")
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) if value else ""

    def is_same_call(self, other: ArrivingBlock) -> bool:
        """Whether both begin one and the same call."""
        return (
            self.kind == other.kind == "tool_use"
            and bool(text_of(self.start, "id"))
            and text_of(self.start, "id") == text_of(other.start, "id")
        )

    def add_fields(self, delta: JsonObject) -> None:
        """Merge a delta of a kind that is kept, not understood: text grows, anything else is replaced."""
        for key, value in delta.items():
            if key == "type":
                continue
            before = self.start.get(key)
            grows = isinstance(before, str) and isinstance(value, str)
            self.start[key] = f"{before}{value}" if grows else value

    def finished(self, provider: str) -> ContentBlock | None:
        """The block as content; None for text that says nothing. A call may lack its name."""
        match self.kind:
            case "text":
                return TextBlock(self.text) if self.pieces else None
            case "thinking":
                payload = sendable({**self.start, "thinking": self.text})
                return ReasoningBlock(provider=provider, payload=payload, text=self.text)
            case "redacted_thinking":
                return ReasoningBlock(provider=provider, payload=sendable(self.start))
            case "tool_use":
                arguments, problem = parse_arguments(self.text)
                name = text_of(self.start, "name")
                return ToolUseBlock(id=self.call_id, name=name, input=arguments, parse_error=problem)
            case _:
                return OpaqueBlock(provider=provider, payload=sendable(self._with_input()))

    def _with_input(self) -> JsonObject:
        arguments, problem = parse_arguments("".join(self.pieces))
        return {**self.start, "input": arguments} if self.pieces and not problem else self.start
