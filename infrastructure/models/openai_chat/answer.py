"""An answer of OpenAI Chat Completions, built up from the chunks of its stream.

Servers send reasoning in many fields, none of them in the standard.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from quorum.application.ports.models import OnStreamEvent
from quorum.domain.conversation.response import (
    END_TURN,
    MAX_TOKENS,
    REFUSAL,
    TOOL_USE,
    ContentBlock,
    Delta,
    LlmResponse,
    OpaqueBlock,
    ReasoningBlock,
    StopKind,
    StopReason,
    StreamedPromptProgress,
    StreamedReasoning,
    StreamedUsage,
    TextBlock,
    ToolUseBlock,
    Usage,
    guess_stop_reason,
)
from quorum.domain.errors import ProviderError
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.models.openai_chat.calls import ChatCalls
from quorum.infrastructure.models.shared.error_bodies import find_minimax_error
from quorum.infrastructure.models.shared.failures import Failures
from quorum.infrastructure.models.shared.json_fields import (
    read_count_field,
    read_object_field,
    read_objects_field,
    read_text_field,
    replace_surrogates,
    require_count_field,
    require_object_field,
    require_objects_field,
)

if TYPE_CHECKING:
    from quorum.domain.textual_calls.reader import TextualCallReader
    from quorum.infrastructure.models.openai_chat.textual_calls import TextualCalls


_FIELDS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
_GROWING = ("text", "summary", "signature")


class ChatReasoning:
    """Collects the reasoning of one answer, in the form in which it must go back."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._field = ""
        self._details: list[dict[str, JsonValue]] = []

    def read_delta(self, delta: JsonObject) -> str:
        """The readable reasoning in a delta, after taking it over with all that belongs to it."""
        details = read_objects_field(delta, "reasoning_details")
        for detail in details:
            self._merge(detail)
        for name in _FIELDS:
            if text := "".join(read_texts(delta.get(name))):
                self._field = self._field or name
                return self.add(text)
        # some servers send the details alone, others beside a field that says the same
        return self.add(
            "".join(read_text_field(detail, "text") or read_text_field(detail, "summary") for detail in details)
        )

    def add(self, text: str) -> str:
        """Take over readable reasoning that came in none of the fields."""
        if text:
            self._pieces.append(text)
        return replace_surrogates(text)

    def block(self, provider: str) -> ReasoningBlock | None:
        """What was collected, or None."""
        text = replace_surrogates("".join(self._pieces))
        if self._details:
            payload: JsonObject = {"reasoning_details": list(self._details)}
        elif self._field:
            payload = {self._field: text}
        else:
            payload = {}
        return ReasoningBlock(provider=provider, payload=payload, text=text) if text or payload else None

    def _merge(self, detail: JsonObject) -> None:
        """Add a detail, or a further piece of one. Encrypted ones come whole, several under one number."""
        known = next((one for one in self._details if _continues(one, detail)), None)
        if known is None:
            self._details.append(dict(detail))
            return
        for name, value in detail.items():
            before = known.get(name)
            if name in _GROWING and isinstance(before, str) and isinstance(value, str):
                known[name] = before + value
            elif value is not None or name not in known:
                known[name] = value


def _continues(known: JsonObject, detail: JsonObject) -> bool:
    if read_text_field(known, "type") != read_text_field(detail, "type") or known.get("index") != detail.get(
        "index"
    ):
        return False
    if "data" in detail:
        return known.get("data") == detail["data"] and known.get("id") == detail.get("id")
    ids = {str(one["id"]) for one in (known, detail) if one.get("id")}
    return len(ids) < 2


def read_texts(value: JsonValue) -> Iterator[str]:
    """The texts of a value that is one, a part that holds one, or a list of such."""
    match value:
        case str():
            yield value
        case Mapping():
            yield read_text_field(value, "text") or read_text_field(value, "content")
        case list():
            for each in value:
                yield from read_texts(each)


def read_part_texts(part: JsonObject) -> Iterator[str]:
    """The readable reasoning in one part of a content list."""
    for name in ("thinking", "summary", "reasoning"):
        yield from read_texts(part.get(name))


_STOPS = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete"), END_TURN),
    **dict.fromkeys(("tool_calls", "tool_call", "tool_use", "function_call"), TOOL_USE),
    "pause_turn": MAX_TOKENS,  # of Claude behind a gateway, which continues it as any that was cut off
    **dict.fromkeys(
        (
            "content_filter",
            "content_filtered",
            "refusal",
            "safety",
            "sensitive",
            "recitation",
            "prohibited_content",
            "guardrail_intervened",
        ),
        REFUSAL,
    ),
}
_OF_CALLS = frozenset({"function", "name", "arguments"})
_NO_WORDS = frozenset({"null", "none", "unspecified"})
_FAILURES = frozenset(
    {
        "error",
        "network_error",
        "insufficient_system_resource",
        "abort",
        "aborted",
        "cancelled",
        "canceled",
        "timeout",
    }
)


class ChatAnswer:
    """Takes the chunks of one stream in order and tells `on_event` what can be shown.

    `reader` reads the calls in its text, where the server does not. `names` are those of the offered tools.
    """

    def __init__(
        self,
        provider: str,
        on_event: OnStreamEvent,
        failures: Failures,
        reader: TextualCallReader | None = None,
        names: Collection[str] = (),
    ) -> None:
        self._textual: TextualCalls | None = None
        if reader is not None:
            from quorum.infrastructure.models.openai_chat.textual_calls import TextualCalls

            self._textual = TextualCalls(
                reader, on_event, say=self._say, think=self._think_in_text, end_thinking=self._end_thinking
            )
        self._received: list[str] = []
        self._provider = provider
        self._on_event = on_event
        self._failures = failures
        self._texts: list[str] = []
        self._reasoning = ChatReasoning()
        self._calls = ChatCalls(on_event, names)
        self._finish = ""
        self._refused = False
        self._answered = False
        self._chunk_id = ""
        self._chunk_ids: set[str] = set()
        self._model = ""
        self._usage: JsonObject = {}
        self._progress: JsonObject = {}
        self.started = False
        self.complete = False

    def read_event(self, name: str, event: JsonObject) -> None:
        """Take one chunk. Raises ProviderError for one that reports an error, or WrongKindError."""
        if error := _find_error(name, event):
            raise self._failures.explain_reported(error, started=self.started)
        self._take_progress(read_object_field(event, "prompt_progress"))
        self._check_answer_id(read_text_field(event, "id"))
        self._model = read_text_field(event, "model") or self._model
        for source in (event, read_object_field(event, "x_groq")):
            self._usage = read_object_field(source, "usage") or self._usage
        for choice in require_objects_field(event, "choices"):
            self._answered = True
            if (require_count_field(choice, "index") or 0) == 0:
                self._take_choice(choice)
            elif read_object_field(choice, "delta").get("tool_calls"):
                raise self._explain_damage("a call belongs to an answer that was not asked for")

    @property
    def was_ended(self) -> bool:
        """Whether it was ended here, as what came behind its calls was made up."""
        return self._textual is not None and self._textual.are_whole and not self._finish

    @property
    def pieces(self) -> int:
        """In how many pieces its text came: most servers send token by token."""
        return len(self._received)

    @property
    def began_in_thought(self) -> bool | None:
        """Whether its text began with thinking; None where it did not come far enough to tell."""
        if self._textual is None or self.was_ended:
            return None
        if self._textual.ended_thinking:
            return True
        return None if parse_finish_reason(self._finish) is MAX_TOKENS else False

    def end(self) -> None:
        """Take note of the mark `[DONE]`, or of the end of an answer in one piece."""
        self.complete = True

    def map_events(self, body: JsonObject) -> Iterable[JsonObject]:
        """An answer that came in one piece is read like a chunk that holds all; none without a choice."""
        return [body] if read_objects_field(body, "choices") else []

    def build_response(self) -> LlmResponse:
        """The whole answer. Raises ProviderError when the stream ended before it was whole."""
        if is_failure(self._finish):
            error: JsonObject = {"message": f"the answer ended with {self._finish}"}
            raise self._failures.explain_reported(error, started=self.started)
        if not self._finish and not self.complete:
            raise self._explain_damage("the stream ended before the answer was complete")
        if not self._answered:
            raise self._explain_damage("the stream held no answer")
        if self._calls.has_nameless:
            raise self._explain_damage("a call without the name of a tool")
        if self._calls.are_mixed:
            raise self._explain_damage("the pieces of two calls are mixed up")
        textual = self._finish_text()
        calls = self._calls.finish() or textual
        return LlmResponse(
            content=tuple(self._list_content(calls)),
            stop_reason=self._stop_reason(calls),
            model=self._model,
            usage=read_chat_usage(self._usage or self._count_ended()),
        )

    def _count_ended(self) -> JsonObject:
        """What llama.cpp has used up to the end of an answer that was ended here: it sends token by token."""
        if self._textual is None or not self._textual.are_whole or not self._progress:
            return {}
        return {
            "prompt_tokens": self._progress["total"],
            "completion_tokens": len(self._received),
            "prompt_tokens_details": {"cached_tokens": read_count_field(self._progress, "cache") or 0},
        }

    def tell_usage(self) -> None:
        """Tell what it used, as far as the provider has said so: it will not be whole."""
        if (used := read_chat_usage(self._usage)) != Usage():
            self._on_event(StreamedUsage(used))

    def _take_progress(self, progress: JsonObject) -> None:
        """Tell how much of the prompt llama.cpp has read."""
        read, total = read_count_field(progress, "processed"), read_count_field(progress, "total")
        if read is not None and total:
            self._progress = progress
            self._on_event(StreamedPromptProgress(read=min(read, total), total=total))

    def _check_answer_id(self, native_id: str) -> None:
        """Refuse two answers in one stream. Some servers give each chunk an id of its own, never one twice."""
        if not native_id or native_id == self._chunk_id:
            return
        if native_id in self._chunk_ids:
            raise self._explain_damage("two answers came in one stream")
        self._chunk_id = native_id
        self._chunk_ids.add(native_id)

    def _take_choice(self, choice: JsonObject) -> None:
        if delta := require_object_field(choice, "delta"):
            self._extend(delta)
        else:
            message = read_object_field(choice, "message")
            self._take_message(message)
            if not message:  # as the API before this one tells it
                self._read_text(read_text_field(choice, "text"))
        self._usage = read_object_field(choice, "usage") or self._usage  # Moonshot tells it here
        self._finish = read_finish_reason(choice) or self._finish

    def _take_message(self, message: JsonObject) -> None:
        """Take a whole message: it comes instead of deltas, or after them and says the same once more."""
        if not self.started:
            self._extend(message)
            return
        said, content = "".join(self._received), read_text_field(message, "content")
        if content.startswith(said):
            self._read_text(content[len(said) :])
        if not self._calls:
            self._take_calls(message)

    def _extend(self, delta: JsonObject) -> None:
        if thought := self._reasoning.read_delta(delta):
            if self._textual is not None:
                self._textual.rule_out_thinking()
            self._think(thought)
        self._take_content(delta.get("content"))
        if refusal := read_text_field(delta, "refusal"):
            self._refused = True
            self._received.append(refusal)
            self._say(refusal)
        self._take_calls(delta)

    def _take_calls(self, delta: JsonObject) -> None:
        only = delta.get("tool_calls")  # some servers send the one call itself
        if isinstance(only, Mapping) and not _OF_CALLS.isdisjoint(only):
            pieces: Sequence[JsonObject] = [only]
        else:
            pieces = require_objects_field(delta, "tool_calls")
        for piece in pieces:
            self.started = True
            self._calls.read_piece(piece)
        legacy = require_object_field(delta, "function_call")
        if any(legacy.values()) and not pieces:
            self.started = True
            self._calls.take_legacy(legacy)

    def _take_content(self, content: JsonValue) -> None:
        match content:
            case str():
                self._read_text(content)
            case list():
                for part in content:
                    self._take_content(part)
            case Mapping():  # a part of a list: Mistral sends text and thinking so
                for thought in read_part_texts(content):
                    self._think(self._reasoning.add(thought))
                self._refused = self._refused or bool(read_text_field(content, "refusal"))
                self._read_text(read_text_field(content, "text") or read_text_field(content, "refusal"))

    def _read_text(self, text: str) -> None:
        if not text:
            return
        self.started = True
        self._received.append(text)
        if self._textual is None:
            self._say(text)
        else:
            self._textual.feed(text)
            self.complete = self.complete or self._textual.are_whole

    def _finish_text(self) -> tuple[ToolUseBlock, ...]:
        """The calls in the text, which has come to its end."""
        if self._textual is None:
            return ()
        calls = self._textual.finish(is_cut=parse_finish_reason(self._finish) is MAX_TOKENS)
        if calls and self._calls:  # the server reads calls itself, so what it left in the text is text
            self._texts = list(self._received)
        return calls

    def _think_in_text(self, text: str) -> None:
        self._think(self._reasoning.add(text))

    def _end_thinking(self) -> None:
        """What the text held up to here was thinking that began in the prompt."""
        self._reasoning.add("".join(self._texts))
        self._texts.clear()

    def _say(self, text: str) -> None:
        if text:
            self.started = True
            self._texts.append(text)
            self._on_event(Delta(replace_surrogates(text)))

    def _think(self, text: str) -> None:
        if text:
            self.started = True
            self._on_event(StreamedReasoning(text))

    def _list_content(self, calls: Sequence[ToolUseBlock]) -> Iterator[ContentBlock]:
        if (reasoning := self._reasoning.block(self._provider)) is not None:
            yield reasoning
        text = replace_surrogates("".join(self._texts))
        if text.strip() or (text and self._textual is None):
            yield TextBlock(text)
        yield from calls
        for payload in self._calls.list_extras():
            yield OpaqueBlock(provider=self._provider, payload=payload)

    def _stop_reason(self, calls: Sequence[ToolUseBlock]) -> StopReason:
        """Why the model stopped: servers vary in how they say that it stopped for a call."""
        if not self._finish:
            return self._infer_stop_reason(calls)
        stop = parse_finish_reason(self._finish)
        if stop is END_TURN and self._refused:
            return REFUSAL
        if stop is END_TURN and calls:
            return TOOL_USE
        if stop.kind is StopKind.OTHER and calls and all(call.parse_error is None for call in calls):
            return TOOL_USE
        return stop

    def _infer_stop_reason(self, calls: Sequence[ToolUseBlock]) -> StopReason:
        if any(call.parse_error is not None for call in calls):
            raise self._explain_damage("the stream ended in the middle of a call")
        return TOOL_USE if calls else REFUSAL if self._refused else END_TURN

    def _explain_damage(self, what: str) -> ProviderError:
        return self._failures.explain_damage(what, started=self.started)


def _find_error(name: str, event: JsonObject) -> JsonValue:
    """The error that a chunk reports: in the chunk, in a choice, in Groq's part of it, or the chunk itself."""
    places = (event, *read_objects_field(event, "choices"), read_object_field(event, "x_groq"))
    if error := next((place["error"] for place in places if place.get("error")), None):
        return error
    if error := find_minimax_error(event):
        return error
    is_error = name == "error" or event.get("object") == "error"
    is_bare = "choices" not in event and bool(
        read_text_field(event, "message") or read_text_field(event, "detail")
    )
    return event if is_error or is_bare else None


def read_finish_reason(choice: JsonObject) -> str:
    """The word a choice stops with, or "" where it does not stop or says nothing."""
    word = read_text_field(choice, "finish_reason").strip()
    return "" if word.lower() in _NO_WORDS else word


def is_failure(word: str) -> bool:
    """Whether the word says that the answer was broken off by the server."""
    return word.lower() in _FAILURES


def parse_finish_reason(word: str) -> StopReason:
    """The reason to stop that a word stands for; OTHER keeps a word that is not known."""
    return _STOPS.get(word.lower()) or guess_stop_reason(word)


def read_chat_usage(counts: JsonObject) -> Usage:
    """What was used; `counts` includes cached tokens in those of the prompt, as servers of this API do."""
    details = read_object_field(counts, "prompt_tokens_details")
    cached = (
        read_count_field(details, "cached_tokens")
        or read_count_field(counts, "prompt_cache_hit_tokens")
        or read_count_field(counts, "cached_tokens")
        or 0
    )
    written = (
        read_count_field(details, "cache_write_tokens")
        or read_count_field(details, "cache_creation_tokens")
        or 0
    )
    prompt, answer = (
        read_count_field(counts, "prompt_tokens") or 0,
        read_count_field(counts, "completion_tokens") or 0,
    )
    spent = read_object_field(counts, "completion_tokens_details")
    reasoning = read_count_field(spent, "reasoning_tokens") or read_count_field(counts, "reasoning_tokens") or 0
    if read_count_field(counts, "total_tokens") == prompt + answer + reasoning:
        answer += reasoning  # xAI counts them, and takes money for them, beside the answer
    return Usage(
        input=max(0, prompt - cached - written),
        output=answer,
        cache_read=cached,
        cache_write=written,
        reasoning=reasoning,
    )
