"""An answer of Anthropic Messages, built up from the events of its stream."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from application.ports import OnStreamEvent
from domain.json_value import JsonObject, JsonValue
from domain.response import (
    END_TURN,
    MAX_TOKENS,
    PAUSE,
    REFUSAL,
    TOOL_USE,
    ContentBlock,
    LlmResponse,
    OpaqueBlock,
    ReasoningBlock,
    StopKind,
    StopReason,
    TextBlock,
    ToolUseBlock,
    Usage,
)
from domain.stream import Delta, ReasoningDelta, ToolCallDelta
from infrastructure.providers.anthropic_message import message_events
from infrastructure.providers.call_ids import CallIds
from infrastructure.providers.failures import Failures
from infrastructure.providers.json_fields import count_of, object_of, parsed_arguments, text_of, whole

_STOPS = {
    "end_turn": END_TURN,
    "stop_sequence": END_TURN,
    "tool_use": TOOL_USE,
    "max_tokens": MAX_TOKENS,
    "model_context_window_exceeded": MAX_TOKENS,
    "refusal": REFUSAL,
    "pause_turn": PAUSE,
}


@dataclass(slots=True)
class _Block:
    """A content block while it arrives: its first form, the text that followed, and what else was added."""

    start: dict[str, JsonValue]
    pieces: list[str] = field(default_factory=list)
    call_id: str = ""
    call_index: int = 0
    stopped: bool = False

    @property
    def kind(self) -> str:
        return text_of(self.start, "type")

    @property
    def text(self) -> str:
        return whole("".join(self.pieces))


class MessagesAnswer:
    """Takes the events of one stream in order and tells `on_event` what can be shown."""

    def __init__(self, provider: str, on_event: OnStreamEvent, failures: Failures) -> None:
        self._provider = provider
        self._on_event = on_event
        self._failures = failures
        self._blocks: dict[int, _Block] = {}
        self._ids = CallIds()
        self._calls = 0
        self._model = ""
        self._usage: dict[str, JsonValue] = {}
        self._stop: str | None = None
        self.started = False
        self.complete = False

    def take(self, name: str, event: JsonObject) -> None:
        """Take one event. Raises ProviderError for one that reports an error."""
        kind = text_of(event, "type") or name
        if kind == "ping":
            return
        if kind == "error":
            raise self._failures.reported(event.get("error"), started=self.started)
        self.started = True
        match kind:
            case "content_block_delta":
                self._extend(event)
            case "content_block_start":
                self._open(event)
            case "content_block_stop":
                self._block_of(event).stopped = True
            case "message_start":
                message = object_of(event, "message")
                self._model = text_of(message, "model")
                self._count(object_of(message, "usage"))
            case "message_delta":
                self._stop = text_of(object_of(event, "delta"), "stop_reason") or self._stop
                self._count(object_of(event, "usage"))
            case "message_stop":
                self.complete = True
            case _:
                return  # kinds of a later version of the API carry nothing that this one needs

    def end(self) -> None:
        """Take note of an end mark that this API does not have, but gateways send."""

    def events_of(self, body: JsonObject) -> Iterable[JsonObject]:
        """The events that would have told an answer that came in one piece; none where it has no content."""
        return message_events(body)

    def response(self) -> LlmResponse:
        """The whole answer. Raises ProviderError when the stream ended before it was whole."""
        if self._stop is None or not all(block.stopped for block in self._blocks.values()):
            raise self._failures.damaged(
                "the stream ended before the answer was complete", started=self.started
            )
        content = tuple(
            finished for index in sorted(self._blocks) if (finished := self._finished(self._blocks[index]))
        )
        return LlmResponse(
            content=content,
            stop_reason=self._stop_reason(content),
            model=self._model,
            usage=_usage(self._usage),
        )

    def _open(self, event: JsonObject) -> None:
        block = _Block(dict(object_of(event, "content_block")))
        self._blocks[count_of(event, "index") or 0] = block
        match block.kind:
            case "text":
                self._show_text(block, text_of(block.start, "text"))
            case "thinking":
                self._show_reasoning(block, text_of(block.start, "thinking"))
            case "tool_use":
                block.call_id, block.call_index = self._ids.claim(text_of(block.start, "id")), self._calls
                self._calls += 1
                name = text_of(block.start, "name")
                self._on_event(ToolCallDelta(index=block.call_index, id=block.call_id, name=name))

    def _extend(self, event: JsonObject) -> None:
        block = self._block_of(event)
        delta = object_of(event, "delta")
        match text_of(delta, "type"):
            case "text_delta":
                self._show_text(block, text_of(delta, "text"))
            case "thinking_delta":
                self._show_reasoning(block, text_of(delta, "thinking"))
            case "input_json_delta":
                self._show_arguments(block, text_of(delta, "partial_json"))
            case "citations_delta":
                return  # a citation belongs to text that is kept as plain text
            case _:
                _add_fields(block.start, delta)

    def _show_text(self, block: _Block, text: str) -> None:
        if text:
            block.pieces.append(text)
            self._on_event(Delta(whole(text)))

    def _show_reasoning(self, block: _Block, text: str) -> None:
        if text:
            block.pieces.append(text)
            self._on_event(ReasoningDelta(whole(text)))

    def _show_arguments(self, block: _Block, text: str) -> None:
        if not text:
            return
        block.pieces.append(text)
        if block.kind == "tool_use":
            self._on_event(ToolCallDelta(index=block.call_index, arguments_delta=whole(text)))

    def _block_of(self, event: JsonObject) -> _Block:
        block = self._blocks.get(count_of(event, "index") or 0)
        if block is None:
            raise self._failures.damaged("a piece of a block arrived before its beginning", started=True)
        return block

    def _count(self, usage: JsonObject) -> None:
        self._usage.update((key, value) for key, value in usage.items() if value is not None)

    def _finished(self, block: _Block) -> ContentBlock | None:
        match block.kind:
            case "text":
                return TextBlock(block.text) if block.pieces else None
            case "thinking":
                payload = {**block.start, "thinking": block.text}
                return ReasoningBlock(provider=self._provider, payload=payload, text=block.text)
            case "redacted_thinking":
                return ReasoningBlock(provider=self._provider, payload=block.start)
            case "tool_use":
                return self._call(block)
            case _:
                return OpaqueBlock(provider=self._provider, payload=_with_input(block))

    def _call(self, block: _Block) -> ToolUseBlock:
        name = text_of(block.start, "name")
        if not name:
            raise self._failures.damaged("a call without the name of a tool", started=True)
        raw = block.text or json.dumps(block.start.get("input") or {})
        arguments, problem = parsed_arguments(raw)
        return ToolUseBlock(id=block.call_id, name=name, input=arguments, parse_error=problem)

    def _stop_reason(self, content: tuple[ContentBlock, ...]) -> StopReason:
        word = self._stop or ""
        stop = _STOPS.get(word, StopReason(StopKind.OTHER, word))
        calls = [block for block in content if isinstance(block, ToolUseBlock)]
        if stop is TOOL_USE and not calls:
            return StopReason(StopKind.OTHER, "tool_use without a call")
        if stop is END_TURN and calls:
            return TOOL_USE  # gateways of other models end so; every block was closed, so the calls are whole
        return stop


def _add_fields(target: dict[str, JsonValue], delta: JsonObject) -> None:
    """Merge a delta of a kind that is kept, not understood: text grows, anything else is replaced."""
    for key, value in delta.items():
        if key == "type":
            continue
        before = target.get(key)
        target[key] = before + value if isinstance(before, str) and isinstance(value, str) else value


def _with_input(block: _Block) -> JsonObject:
    if not block.pieces:
        return block.start
    arguments, problem = parsed_arguments(block.text)
    return block.start if problem else {**block.start, "input": arguments}


def _usage(counts: JsonObject) -> Usage:
    return Usage(
        input=count_of(counts, "input_tokens") or 0,
        output=count_of(counts, "output_tokens") or 0,
        cache_read=count_of(counts, "cache_read_input_tokens") or 0,
        cache_write=count_of(counts, "cache_creation_input_tokens") or 0,
        reasoning=count_of(object_of(counts, "output_tokens_details"), "thinking_tokens") or 0,
    )
