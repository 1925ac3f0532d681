"""An answer of OpenAI Chat Completions, built up from the chunks of its stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from application.ports import OnStreamEvent
from domain.errors import ProviderError
from domain.json_value import JsonObject, JsonValue
from domain.response import (
    END_TURN,
    MAX_TOKENS,
    REFUSAL,
    TOOL_USE,
    ContentBlock,
    LlmResponse,
    OpaqueBlock,
    StopKind,
    StopReason,
    TextBlock,
    ToolUseBlock,
    Usage,
)
from domain.stream import Delta, ReasoningDelta
from infrastructure.providers.chat_calls import ChatCalls
from infrastructure.providers.chat_reasoning import ChatReasoning
from infrastructure.providers.failures import Failures
from infrastructure.providers.json_fields import count_of, object_of, objects_of, text_of, whole

_STOPS = {
    "stop": END_TURN,
    "eos": END_TURN,
    "tool_calls": TOOL_USE,
    "function_call": TOOL_USE,
    "length": MAX_TOKENS,
    "content_filter": REFUSAL,
}


class ChatAnswer:
    """Takes the chunks of one stream in order and tells `on_event` what can be shown."""

    def __init__(self, provider: str, on_event: OnStreamEvent, failures: Failures) -> None:
        self._provider = provider
        self._on_event = on_event
        self._failures = failures
        self._texts: list[str] = []
        self._reasoning = ChatReasoning()
        self._calls = ChatCalls(on_event)
        self._finish = ""
        self._refused = False
        self._answered = False
        self._model = ""
        self._usage: JsonObject = {}
        self.started = False
        self.complete = False

    def take(self, name: str, event: JsonObject) -> None:
        """Take one chunk. Raises ProviderError for one that reports an error."""
        error = event.get("error") or (event if name == "error" or event.get("object") == "error" else None)
        if error:
            raise self._failures.reported(error, started=self.started)
        self.started = True
        self._model = text_of(event, "model") or self._model
        self._usage = object_of(event, "usage") or object_of(object_of(event, "x_groq"), "usage") or self._usage
        for choice in objects_of(event, "choices"):
            self._answered = True
            if (count_of(choice, "index") or 0) == 0:
                # some servers send a whole message at the end or instead of deltas
                self._extend(object_of(choice, "delta") or object_of(choice, "message"))
                self._finish = text_of(choice, "finish_reason") or self._finish

    def end(self) -> None:
        """Take note of the mark `[DONE]`, or of the end of an answer in one piece."""
        self.complete = True

    def events_of(self, body: JsonObject) -> Iterable[JsonObject]:
        """An answer that came in one piece is read like a chunk that holds all; none without a choice."""
        return [body] if objects_of(body, "choices") else []

    def response(self) -> LlmResponse:
        """The whole answer. Raises ProviderError when the stream ended before it was whole."""
        if not self._finish and not self.complete:
            raise self._broken("the stream ended before the answer was complete")
        if not self._answered:
            raise self._broken("the stream held no answer")
        if self._calls.has_nameless:
            raise self._broken("a call without the name of a tool")
        calls = self._calls.blocks()
        return LlmResponse(
            content=tuple(self._content(calls)),
            stop_reason=self._stop_reason(calls),
            model=self._model,
            usage=_usage(self._usage),
        )

    def _extend(self, delta: JsonObject) -> None:
        if reasoning := self._reasoning.take(delta):
            self._on_event(ReasoningDelta(reasoning))
        self._take_content(delta.get("content"))
        if refusal := text_of(delta, "refusal"):
            self._refused = True
            self._say(refusal)
        for piece in objects_of(delta, "tool_calls"):
            self._calls.take(piece)

    def _take_content(self, content: JsonValue) -> None:
        if isinstance(content, str):
            self._say(content)
        elif isinstance(content, list):
            for part in content:
                if isinstance(part, Mapping):
                    self._take_part(part)

    def _take_part(self, part: JsonObject) -> None:
        """A part of a content list: Mistral sends text and thinking so."""
        self._say(text_of(part, "text"))
        for thought in objects_of(part, "thinking"):
            if text := text_of(thought, "text"):
                self._on_event(ReasoningDelta(self._reasoning.add(text)))

    def _say(self, text: str) -> None:
        if text:
            self._texts.append(text)
            self._on_event(Delta(whole(text)))

    def _content(self, calls: Sequence[ToolUseBlock]) -> Iterator[ContentBlock]:
        if (reasoning := self._reasoning.block(self._provider)) is not None:
            yield reasoning
        if text := whole("".join(self._texts)):
            yield TextBlock(text)
        yield from calls
        for payload in self._calls.extras():
            yield OpaqueBlock(provider=self._provider, payload=payload)

    def _stop_reason(self, calls: Sequence[ToolUseBlock]) -> StopReason:
        """Why the model stopped: servers vary in how they say that it stopped for a call."""
        word = self._finish
        if not word:
            return self._unsaid_stop_reason(calls)
        stop = _STOPS.get(word, StopReason(StopKind.OTHER, word))
        if stop is END_TURN and self._refused:
            return REFUSAL
        if stop is END_TURN and calls:
            return TOOL_USE
        if stop is TOOL_USE and not calls:
            return StopReason(StopKind.OTHER, f"{word} without a call")
        if stop.kind is StopKind.OTHER and calls and all(call.parse_error is None for call in calls):
            return TOOL_USE
        return stop

    def _unsaid_stop_reason(self, calls: Sequence[ToolUseBlock]) -> StopReason:
        if any(call.parse_error is not None for call in calls):
            raise self._broken("the stream ended in the middle of a call")
        return TOOL_USE if calls else REFUSAL if self._refused else END_TURN

    def _broken(self, what: str) -> ProviderError:
        return self._failures.damaged(what, started=self.started)


def _usage(counts: JsonObject) -> Usage:
    details = object_of(counts, "prompt_tokens_details")
    cached = count_of(details, "cached_tokens") or count_of(counts, "prompt_cache_hit_tokens") or 0
    return Usage(
        input=max(0, (count_of(counts, "prompt_tokens") or 0) - cached),
        output=count_of(counts, "completion_tokens") or 0,
        cache_read=cached,
        reasoning=count_of(object_of(counts, "completion_tokens_details"), "reasoning_tokens") or 0,
    )
