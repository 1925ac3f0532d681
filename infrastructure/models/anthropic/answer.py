"""An answer of Anthropic Messages, built up from the events of its stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from quorum.application.ports.models import OnStreamEvent
from quorum.domain.conversation.response import (
    END_TURN,
    MAX_TOKENS,
    PAUSE,
    REFUSAL,
    TOOL_USE,
    ContentBlock,
    Delta,
    LlmResponse,
    OpaqueBlock,
    ReasoningBlock,
    StopReason,
    StreamedReasoning,
    StreamedToolCall,
    StreamedUsage,
    TextBlock,
    ToolUseBlock,
    Usage,
    guess_stop_reason,
)
from quorum.domain.errors import ProviderError
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.models.shared.call_arguments import CallIds, build_call_block
from quorum.infrastructure.models.shared.failures import Failures
from quorum.infrastructure.models.shared.json_fields import (
    make_sendable,
    parse_arguments,
    read_count_field,
    read_object_field,
    read_objects_field,
    read_text_field,
    replace_surrogates,
    require_count_field,
    require_object_field,
    require_text_field,
)

_STOPS = {
    "end_turn": END_TURN,
    "stop_sequence": END_TURN,
    "tool_use": TOOL_USE,
    "max_tokens": MAX_TOKENS,
    "model_context_window_exceeded": MAX_TOKENS,
    "refusal": REFUSAL,
    "pause_turn": PAUSE,
}


class ArrivingBlock(Struct):
    """The block's first form, to which unknown pieces are added, and the text or arguments that followed."""

    start: dict[str, JsonValue]
    pieces: list[str] = field(default_factory=list)
    call_id: str = ""
    call_index: int = 0
    stopped: bool = False

    @property
    def kind(self) -> str:
        """The type of the block."""
        return read_text_field(self.start, "type")

    @property
    def text(self) -> str:
        """What the pieces say together."""
        return replace_surrogates("".join(self.pieces))

    @property
    def input_at_start(self) -> str:
        """The arguments that came with the first form, as text; "" where there were none."""
        value = self.start.get("input")
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) if value else ""

    def is_same_call(self, other: ArrivingBlock) -> bool:
        """Whether both begin one and the same call."""
        return (
            self.kind == other.kind == "tool_use"
            and bool(read_text_field(self.start, "id"))
            and read_text_field(self.start, "id") == read_text_field(other.start, "id")
        )

    def add_fields(self, delta: JsonObject) -> None:
        """Merge a delta of a kind that is kept, not understood: text grows, anything else is replaced."""
        for key, value in delta.items():
            if key == "type":
                continue
            before = self.start.get(key)
            grows = isinstance(before, str) and isinstance(value, str)
            self.start[key] = f"{before}{value}" if grows else value

    def finish(self, provider: str) -> ContentBlock | None:
        """The block as content; None for text that says nothing. A call may lack its name."""
        match self.kind:
            case "text":
                return TextBlock(self.text) if self.pieces else None
            case "thinking":
                payload = make_sendable({**self.start, "thinking": self.text})
                return ReasoningBlock(provider=provider, payload=payload, text=self.text)
            case "redacted_thinking":
                return ReasoningBlock(provider=provider, payload=make_sendable(self.start))
            case "tool_use":
                return build_call_block(self.call_id, read_text_field(self.start, "name"), self.text)
            case _:
                return OpaqueBlock(provider=provider, payload=make_sendable(self._with_input()))

    def _with_input(self) -> JsonObject:
        arguments, problem = parse_arguments("".join(self.pieces))
        return {**self.start, "input": arguments} if self.pieces and not problem else self.start


class MessagesAnswer:
    """Takes the events of one stream in order and tells `on_event` what can be shown."""

    def __init__(self, provider: str, on_event: OnStreamEvent, failures: Failures) -> None:
        self._provider = provider
        self._on_event = on_event
        self._failures = failures
        self._blocks: list[ArrivingBlock] = []
        self._by_index: dict[int, ArrivingBlock] = {}
        self._ids = CallIds()
        self._calls = 0
        self._model = ""
        self._usage: dict[str, JsonValue] = {}
        self._stop: str | None = None
        self.started = False
        self.complete = False

    def read_event(self, name: str, event: JsonObject) -> None:
        """Take one event. Raises ProviderError for one that reports an error or is out of place."""
        kind = read_text_field(event, "type") or name
        if kind != name and name.startswith("content_block_"):
            raise self._explain_damage(f"an event of the name {name} says that it is another")
        match kind:
            case "content_block_delta":
                self._extend(event)
            case "content_block_start":
                self._open(event)
            case "content_block_stop":
                self._close(self._require_block(event))
            case "message_start":
                self._begin(read_object_field(event, "message"))
            case "message_delta":
                self._stop = read_text_field(read_object_field(event, "delta"), "stop_reason") or self._stop
                self._count(read_object_field(event, "usage"))
            case "message_stop":
                self.complete = True
            case _:
                # kinds of a later version of the API carry nothing that this one needs
                if "error" in (name, kind) or event.get("error"):
                    raise self._failures.explain_reported(event.get("error") or event, started=self.started)

    def end(self) -> None:
        """Take note of an end mark that this API does not have, but gateways send."""

    def map_events(self, body: JsonObject) -> Iterable[JsonObject]:
        """The events of an answer that came in one piece; none where it has no content."""
        return list_message_events(body)

    def build_response(self) -> LlmResponse:
        """The whole answer. Raises ProviderError when the stream ended before it was whole."""
        if self._stop is None or not all(block.stopped for block in self._blocks):
            raise self._explain_damage("the stream ended before the answer was complete")
        content = tuple(
            finished for block in self._blocks if (finished := block.finish(self._provider)) is not None
        )
        if any(isinstance(block, ToolUseBlock) and not block.name for block in content):
            raise self._explain_damage("a call without the name of a tool")
        return LlmResponse(
            content=content,
            stop_reason=self._stop_reason(content),
            model=self._model,
            usage=_read_usage(self._usage),
        )

    def tell_usage(self) -> None:
        """Tell what it used, as far as the provider has said so: it will not be whole."""
        if (used := _read_usage(self._usage)) != Usage():
            self._on_event(StreamedUsage(used))

    def _begin(self, message: JsonObject) -> None:
        if self._blocks:
            raise self._explain_damage("the answer began anew in the middle")
        self._model = read_text_field(message, "model")
        self._count(read_object_field(message, "usage"))

    def _open(self, event: JsonObject) -> None:
        self.started = True
        block = ArrivingBlock(dict(require_object_field(event, "content_block")))
        if not block.kind:
            raise self._explain_damage("a block does not say of what kind it is")
        before = self._find_block(event)
        # some gateways give all blocks one number, which is as good while they come one after the other
        if before is not None and not (before.stopped and not before.is_same_call(block)):
            raise self._explain_damage("a block began twice")
        self._blocks.append(block)
        self._by_index[self._read_index(event)] = block
        match block.kind:
            case "text":
                self._show_text(block, read_text_field(block.start, "text"))
            case "thinking":
                self._show_reasoning(block, read_text_field(block.start, "thinking"))
            case "tool_use":
                block.call_id, block.call_index = (
                    self._ids.claim(read_text_field(block.start, "id")),
                    self._calls,
                )
                self._calls += 1
                name = read_text_field(block.start, "name")
                self._on_event(StreamedToolCall(index=block.call_index, id=block.call_id, name=name))

    def _extend(self, event: JsonObject) -> None:
        block = self._require_block(event)
        delta = require_object_field(event, "delta")
        match block.kind, read_text_field(delta, "type"):
            case "text", "text_delta":
                self._show_text(block, read_text_field(delta, "text"))
            case "thinking", "thinking_delta":
                self._show_reasoning(block, read_text_field(delta, "thinking"))
            case "tool_use", "input_json_delta":
                if block.stopped:
                    raise self._explain_damage("a piece of a call arrived after its end")
                self._show_arguments(block, require_text_field(delta, "partial_json"))
            case ("tool_use", _) | ("text" | "thinking", "input_json_delta"):
                raise self._explain_damage("a piece of a block is of another kind than the block")
            case _, "input_json_delta":
                block.pieces.append(require_text_field(delta, "partial_json"))
            case _, "citations_delta":
                return  # a citation belongs to text that is kept as plain text
            case _:
                block.add_fields(delta)

    def _close(self, block: ArrivingBlock) -> None:
        if block.kind == "tool_use" and not block.stopped and not block.pieces:
            self._show_arguments(block, block.input_at_start)
        block.stopped = True

    def _show_text(self, block: ArrivingBlock, text: str) -> None:
        if text:
            block.pieces.append(text)
            self._on_event(Delta(replace_surrogates(text)))

    def _show_reasoning(self, block: ArrivingBlock, text: str) -> None:
        if text:
            block.pieces.append(text)
            self._on_event(StreamedReasoning(replace_surrogates(text)))

    def _show_arguments(self, block: ArrivingBlock, text: str) -> None:
        if text:
            block.pieces.append(text)
            self._on_event(StreamedToolCall(index=block.call_index, arguments_delta=replace_surrogates(text)))

    def _require_block(self, event: JsonObject) -> ArrivingBlock:
        block = self._find_block(event)
        if block is None:
            raise self._explain_damage("a piece of a block arrived before its beginning")
        return block

    def _find_block(self, event: JsonObject) -> ArrivingBlock | None:
        return self._by_index.get(self._read_index(event))

    def _read_index(self, event: JsonObject) -> int:
        """The number of an event's block; where it tells none, that of the one block that is open, or 0."""
        number = require_count_field(event, "index")
        if number is not None:
            return number
        is_open = [index for index, block in self._by_index.items() if not block.stopped]
        return is_open[0] if len(is_open) == 1 else 0

    def _count(self, usage: JsonObject) -> None:
        """Take counts, of which the last hold; some gateways end with zeros for what they counted before."""
        self._usage.update((key, value) for key, value in usage.items() if value)

    def _stop_reason(self, content: tuple[ContentBlock, ...]) -> StopReason:
        word = self._stop or ""
        stop = _STOPS.get(word) or guess_stop_reason(word)
        calls = [block for block in content if isinstance(block, ToolUseBlock)]
        if stop is END_TURN and calls:
            return TOOL_USE  # gateways of other models end so; every block was closed, so the calls are whole
        return stop

    def _explain_damage(self, what: str) -> ProviderError:
        return self._failures.explain_damage(what, started=self.started)


def _read_usage(counts: JsonObject) -> Usage:
    return Usage(
        input=read_count_field(counts, "input_tokens") or 0,
        output=read_count_field(counts, "output_tokens") or 0,
        cache_read=read_count_field(counts, "cache_read_input_tokens") or 0,
        cache_write=read_count_field(counts, "cache_creation_input_tokens") or 0,
        reasoning=read_count_field(read_object_field(counts, "output_tokens_details"), "thinking_tokens") or 0,
    )


def list_message_events(body: JsonObject) -> Iterator[JsonObject]:
    """The events of a message; none where the body is no message."""
    if not isinstance(body.get("content"), list):
        return
    yield {"type": "message_start", "message": body}
    for index, block in enumerate(read_objects_field(body, "content")):
        yield from _block_events(index, block)
    yield {"type": "message_delta", "delta": {"stop_reason": body.get("stop_reason")}}
    yield {"type": "message_stop"}


def _block_events(index: int, block: JsonObject) -> Iterator[JsonObject]:
    is_call = read_text_field(block, "type") == "tool_use"
    start = {**block, "input": {}} if is_call else block
    yield {"type": "content_block_start", "index": index, "content_block": start}
    if is_call:
        arguments = json.dumps(read_object_field(block, "input"), ensure_ascii=False)
        delta: JsonObject = {"type": "input_json_delta", "partial_json": arguments}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}
