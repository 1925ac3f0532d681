"""The API client of OpenAI Responses, through the official SDK, and how its stream becomes an answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from quorum.application.ports.models import OnStreamEvent
from quorum.domain.conversation.response import (
    END_TURN,
    REFUSAL,
    TOOL_USE,
    ContentBlock,
    Delta,
    LlmResponse,
    OpaqueBlock,
    ReasoningBlock,
    StopKind,
    StopReason,
    StreamedReasoning,
    StreamedToolCall,
    StreamedUsage,
    TextBlock,
    ToolUseBlock,
    Usage,
    guess_stop_reason,
)
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.clouds.endpoint import Endpoint
from quorum.infrastructure.models.openai_responses.payload import (
    MESSAGE_PHASE,
    build_responses_history,
    build_responses_payload,
    list_open_calls,
)
from quorum.infrastructure.models.openai_sdk import OpenAiDialect
from quorum.infrastructure.models.shared.api_client import ApiRequest
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
    require_text_field,
)

PARAGRAPH = "\n\n"
"""What stands between two parts of a summary, each of which is a paragraph with a heading."""


def read_item_blocks(item: JsonObject, *, provider: str, call_id: str) -> Iterator[ContentBlock]:
    """The content blocks of one item; a call gets `call_id`."""
    match read_text_field(item, "type"):
        case "message":
            if text := read_message_text(item):
                if phase := read_text_field(item, "phase"):
                    yield OpaqueBlock(provider=provider, payload={"type": MESSAGE_PHASE, "phase": phase})
                yield TextBlock(text)
        case "reasoning":
            yield ReasoningBlock(provider=provider, payload=make_sendable(item), text=read_reasoning_text(item))
        case "function_call":
            yield build_call_block(call_id, read_text_field(item, "name"), read_arguments_text(item))
        case _:
            yield OpaqueBlock(provider=provider, payload=make_sendable(item))


def read_message_text(item: JsonObject) -> str:
    """What a message says, its refusals included."""
    parts = read_objects_field(item, "content")
    return replace_surrogates(
        "".join(read_text_field(part, "text") or read_text_field(part, "refusal") for part in parts)
    )


def read_arguments_text(item: JsonObject) -> str:
    """The arguments of a call as text; some servers send the object itself. Raises WrongKindError."""
    value = item.get("arguments")
    return (
        json.dumps(value, ensure_ascii=False)
        if isinstance(value, Mapping)
        else require_text_field(item, "arguments")
    )


def is_cut_off_call(item: JsonObject) -> bool:
    """Whether an item is a call that says of itself that it is not whole."""
    return read_text_field(item, "type") == "function_call" and read_text_field(item, "status") == "incomplete"


def is_refusal(item: JsonObject) -> bool:
    """Whether a message refuses."""
    return any(read_text_field(part, "type") == "refusal" for part in read_objects_field(item, "content"))


def read_reasoning_text(item: JsonObject) -> str:
    """What can be read of reasoning: its summary, else, where a server shows it, the reasoning itself."""
    if summary := read_objects_field(item, "summary"):
        return replace_surrogates(PARAGRAPH.join(read_text_field(part, "text") for part in summary))
    return replace_surrogates(
        "".join(read_text_field(part, "text") for part in read_objects_field(item, "content"))
    )


class ArrivingItem(Struct):
    """An item's first form, what followed, and its last form.

    `has_all_arguments` tells of a call that its arguments came whole, though perhaps its last form never will.
    """

    first: JsonObject
    place: tuple[int, int]
    pieces: list[str] = field(default_factory=list)
    parts: dict[int, list[str]] = field(default_factory=dict)
    whole: JsonObject | None = None
    part_ended: bool = False
    has_all_arguments: bool = False
    call_id: str = ""
    call_index: int = 0

    @property
    def kind(self) -> str:
        """The type of the item."""
        return read_text_field(self.first, "type")

    @property
    def received(self) -> str:
        """What the pieces brought so far."""
        return "".join(self.pieces)

    def add(self, text: str, part: int) -> None:
        """Take a piece of the part of that number."""
        self.pieces.append(text)
        self.parts.setdefault(part, []).append(text)

    def find_rest(self, text: str, part: int | None = None) -> str:
        """What the pieces, or those of one part, have not said yet of a text that is whole."""
        received = self.received if part is None else "".join(self.parts.get(part, ()))
        return text[len(received) :] if text.startswith(received) else ""

    def contradicts(self, arguments: str) -> bool:
        """Whether the pieces of a call hold other arguments than those with which it ends."""
        text = self.received
        if not text.strip() or not arguments.strip() or arguments.startswith(text):
            return False
        return parse_arguments(text)[1] is not None or parse_arguments(text) != parse_arguments(arguments)


class Arrivals:
    """The items of one answer.

    Servers differ in what they tell of an item's place: some give none, some give all items the place 0, and
    some give an item another id with every event.
    """

    def __init__(self) -> None:
        self._items: list[ArrivingItem] = []
        self._at: dict[int, ArrivingItem] = {}
        self._named: dict[str, ArrivingItem] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[ArrivingItem]:
        return iter(sorted(self._items, key=lambda item: item.place))

    def find_item(self, event: JsonObject, kind: str) -> ArrivingItem:
        """The item of this type to which a piece belongs, begun if it is new."""
        index, item_id = read_count_field(event, "output_index"), read_text_field(event, "item_id")
        for known in (self._find_at_place(index), self._named.get(item_id)):
            if known is not None and known.kind == kind:
                return known
        return self._begin({"type": kind}, index, item_id)

    def begin_item(self, event: JsonObject, form: JsonObject) -> ArrivingItem:
        """The item that an event brings in its first form."""
        known = self._find_item(event, form)
        if known is None or (known.whole is not None and not _is_again(known.whole, form)):
            return self._begin(form, read_count_field(event, "output_index"), read_text_field(form, "id"))
        if not known.call_id:
            if known.pieces and known.kind != read_text_field(form, "type"):
                return self._begin(form, read_count_field(event, "output_index"), read_text_field(form, "id"))
            known.first = form
        elif read_text_field(form, "call_id") not in ("", read_text_field(known.first, "call_id")):
            return self._begin(form, read_count_field(event, "output_index"), read_text_field(form, "id"))
        return known

    def end_item(self, event: JsonObject, form: JsonObject) -> ArrivingItem:
        """The item that an event brings in its last form."""
        known = self._find_item(event, form)
        if known is None or (known.whole is not None and not _is_again(known.whole, form)):
            return self._begin(form, read_count_field(event, "output_index"), read_text_field(form, "id"))
        if not known.call_id:
            known.first = form
        return known

    def find_lacking(self, listed: Sequence[JsonObject]) -> Iterator[tuple[ArrivingItem, JsonObject]]:
        """The items of the list at the end of an answer that no event has brought whole, with that form."""
        was = len(self._items)
        for index, form in enumerate(listed):
            known = self._find_like(form) or self._find_at_place(index)
            if known is None or known.kind != read_text_field(form, "type"):
                if len(listed) > was:
                    yield self._begin(form, index, read_text_field(form, "id")), form
            elif known.whole is None:
                if not known.call_id:
                    known.first = form
                yield known, form

    def _find_item(self, event: JsonObject, form: JsonObject) -> ArrivingItem | None:
        index = read_count_field(event, "output_index")
        return self._find_at_place(index) if index is not None else self._named.get(read_text_field(form, "id"))

    def _find_like(self, form: JsonObject) -> ArrivingItem | None:
        call_id = read_text_field(form, "call_id")
        same_call = (
            item for item in self._items if call_id and read_text_field(item.first, "call_id") == call_id
        )
        return next(same_call, None) or self._named.get(read_text_field(form, "id"))

    def _find_at_place(self, index: int | None) -> ArrivingItem | None:
        return None if index is None else self._at.get(index)

    def _begin(self, first: JsonObject, index: int | None, item_id: str) -> ArrivingItem:
        if index is None:
            index = max(self._at, default=-1) + 1
        item = ArrivingItem(first, (index, len(self._items)))
        self._items.append(item)
        self._at[index] = item
        if item_id:
            self._named[item_id] = item
        return item


def _is_again(whole: JsonObject, form: JsonObject) -> bool:
    """Whether a form repeats that of an item that is already whole."""
    return all(read_text_field(whole, key) == read_text_field(form, key) for key in ("type", "id", "call_id"))


_INCOMPLETE = {"content_filter": REFUSAL}

_ENDS = {
    "response.completed": "completed",
    "response.done": "completed",  # OpenRouter's word for it
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}


class ResponsesAnswer:
    """Takes the events of one stream in order and tells `on_event` what can be shown."""

    def __init__(self, provider: str, on_event: OnStreamEvent, failures: Failures) -> None:
        self._provider = provider
        self._on_event = on_event
        self._failures = failures
        self._items = Arrivals()
        self._ids = CallIds()
        self._calls = 0
        self._id = ""
        self._status = ""
        self._final: JsonObject = {}
        self.complete = False

    @property
    def started(self) -> bool:
        """Whether anything of the answer is here; the server's saying that it works on it is not."""
        return len(self._items) > 0

    def read_event(self, name: str, event: JsonObject) -> None:
        """Take one event. Raises ProviderError for one that reports an error."""
        kind = read_text_field(event, "type") or name
        is_bare_error = event.get("error") or (not kind and read_text_field(event, "message"))
        if (
            name == "error"
            or kind in ("error", "response.error")
            or (is_bare_error and not kind.startswith("response."))
        ):
            raise self._failures.explain_reported(event.get("error") or event, started=self.started)
        if kind == "response.created":
            self._begin(read_text_field(read_object_field(event, "response"), "id"))
            return
        if kind in _ENDS:
            self._close(read_object_field(event, "response"), _ENDS[kind])
            return
        self._take_piece(kind, event)

    def end(self) -> None:
        """Take note of the mark `[DONE]`, which some servers send after the last event."""

    def map_events(self, body: JsonObject) -> Iterable[JsonObject]:
        """An answer that came in one piece, as the event that ends a stream; none without a list of items."""
        is_answer = isinstance(body.get("output"), list) or read_text_field(body, "status") == "failed"
        return [{"type": "response.completed", "response": body}] if is_answer else []

    def build_response(self) -> LlmResponse:
        """The whole answer. Raises ProviderError when the stream ended before it was whole."""
        if not self.complete:
            raise self._explain_damage("the stream ended before the answer was complete")
        forms = [(item.call_id, item.whole or self._cut_off(item)) for item in self._items]
        if not all(read_text_field(form, "type") for _, form in forms):
            raise self._explain_damage("an item does not say of what kind it is")
        content = tuple(
            block
            for call_id, form in forms
            for block in read_item_blocks(form, provider=self._provider, call_id=call_id)
        )
        if self._status == "completed" and any(map(is_cut_off_call, (form for _, form in forms))):
            raise self._explain_damage("a call was cut off")
        stop = classify_stop(self._status, self._final, [form for _, form in forms])
        if any(isinstance(block, ToolUseBlock) and not block.name for block in content):
            raise self._explain_damage("a call without the name of a tool")
        return LlmResponse(
            content=content,
            stop_reason=stop,
            model=read_text_field(self._final, "model"),
            usage=read_response_usage(read_object_field(self._final, "usage")),
        )

    def tell_usage(self) -> None:
        """Tell what it used, as far as the provider has said so: it will not be whole."""
        if (used := read_response_usage(read_object_field(self._final, "usage"))) != Usage():
            self._on_event(StreamedUsage(used))

    def _begin(self, native_id: str) -> None:
        if self._id and native_id and native_id != self._id:
            raise self._explain_damage("two answers came in one stream")
        self._id = native_id

    def _take_piece(self, kind: str, event: JsonObject) -> None:
        delta = read_text_field(event, "delta")
        match kind:
            case "response.output_item.added":
                self._name_call(self._items.begin_item(event, read_object_field(event, "item")))
            case "response.output_item.done":
                form = read_object_field(event, "item")
                self._finish(self._items.end_item(event, form), form)
            case "response.output_text.delta" | "response.refusal.delta":
                self._say(self._items.find_item(event, "message"), delta, _read_part_number(event))
            case "response.output_text.done" | "response.refusal.done":
                item = self._items.find_item(event, "message")
                said = read_text_field(event, "text") or read_text_field(event, "refusal")
                self._say(item, item.find_rest(said, _read_part_number(event)), _read_part_number(event))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._think(self._items.find_item(event, "reasoning"), delta, _read_part_number(event))
            case "response.reasoning_summary_part.added":
                self._items.find_item(event, "reasoning").part_ended = True
            case "response.function_call_arguments.delta":
                self._argue(self._items.find_item(event, "function_call"), require_text_field(event, "delta"))
            case "response.function_call_arguments.done":
                item = self._items.find_item(event, "function_call")
                self._settle(item, require_text_field(event, "arguments"))
                item.has_all_arguments = True
            case _:
                return  # repetitions of what deltas said, and the progress of tools that the provider runs

    def _name_call(self, item: ArrivingItem) -> None:
        if item.call_id or item.kind != "function_call" or not read_text_field(item.first, "name"):
            return
        item.call_id = self._ids.claim(
            read_text_field(item.first, "call_id") or read_text_field(item.first, "id")
        )
        item.call_index, self._calls = self._calls, self._calls + 1
        early = replace_surrogates(item.received)
        name = read_text_field(item.first, "name")
        self._on_event(
            StreamedToolCall(index=item.call_index, id=item.call_id, name=name, arguments_delta=early)
        )

    def _say(self, item: ArrivingItem, text: str, part: int = 0) -> None:
        if text:
            item.add(text, part)
            self._on_event(Delta(replace_surrogates(text)))

    def _think(self, item: ArrivingItem, text: str, part: int = 0) -> None:
        if text:
            if item.pieces and (item.part_ended or part not in item.parts):
                text = PARAGRAPH + text
            item.part_ended = False
            item.add(text, part)
            self._on_event(StreamedReasoning(replace_surrogates(text)))

    def _argue(self, item: ArrivingItem, text: str) -> None:
        if text:
            item.add(text, 0)
            if item.call_id:
                self._on_event(
                    StreamedToolCall(index=item.call_index, arguments_delta=replace_surrogates(text))
                )

    def _settle(self, item: ArrivingItem, arguments: str) -> None:
        """Take all arguments of a call, and emit what no delta had brought of them."""
        if item.contradicts(arguments):
            raise self._explain_damage("a call ended with other arguments than it began with")
        self._argue(item, item.find_rest(arguments))

    def _finish(self, item: ArrivingItem, form: JsonObject) -> None:
        """Take an item's last form, and emit what no delta had brought of it."""
        self._name_call(item)
        if item.call_id and any(
            read_text_field(form, key) != read_text_field(item.first, key) for key in ("call_id", "name")
        ):
            raise self._explain_damage("a call began as another than it ended")
        if item.whole is not None:
            return
        match read_text_field(form, "type"):
            case "message":
                self._say(item, item.find_rest(read_message_text(form)), len(item.parts))
            case "reasoning":
                self._think(item, item.find_rest(read_reasoning_text(form)), max(item.parts, default=0))
            case "function_call":
                arguments = read_arguments_text(form)
                self._settle(item, arguments)
                form = {**form, "arguments": arguments if arguments.strip() else item.received}
        item.whole = form or None

    def _close(self, final: JsonObject, word: str) -> None:
        """Take the end of the stream, whose list of items fills in for any that no event brought whole."""
        self._final = final
        self._status = read_text_field(final, "status") or word
        if self._status == "failed" or final.get("error"):
            raise self._failures.explain_reported(final.get("error") or {}, started=self.started)
        self.complete = True
        for item, form in self._items.find_lacking(read_objects_field(final, "output")):
            self._finish(item, form)

    def _cut_off(self, item: ArrivingItem) -> JsonObject:
        """An item that never became whole, as far as it came: a call only where nothing can be missing."""
        match item.kind:
            case "message":
                return {"type": "message", "content": [{"type": "output_text", "text": item.received}]}
            case "function_call":
                if self._status == "completed" and not item.has_all_arguments:
                    raise self._explain_damage("the stream ended before all of the answer had arrived")
                return {**item.first, "arguments": item.received}
            case "reasoning" if item.pieces:
                return {**item.first, "summary": [{"type": "summary_text", "text": item.received}]}
            case _:
                return item.first

    def _explain_damage(self, what: str) -> ProviderError:
        return self._failures.explain_damage(what, started=self.started)


def _read_part_number(event: JsonObject) -> int:
    """The number of the part of an item to which a piece belongs."""
    number = read_count_field(event, "summary_index")
    return number if number is not None else read_count_field(event, "content_index") or 0


def classify_stop(status: str, final: JsonObject, items: Sequence[JsonObject]) -> StopReason:
    """Why an answer of these whole items stopped; `final` is what the server said of it at the end."""
    if status == "incomplete":
        why = read_text_field(read_object_field(final, "incomplete_details"), "reason") or status
        return _INCOMPLETE.get(why) or guess_stop_reason(why)
    if status != "completed":
        return StopReason(StopKind.OTHER, status)
    if any(read_text_field(item, "type") == "message" and is_refusal(item) for item in items):
        return REFUSAL
    if any(read_text_field(item, "type") == "function_call" for item in items):
        return TOOL_USE
    if foreign := list_open_calls(items):
        return StopReason(StopKind.OTHER, f"{read_text_field(foreign[0], 'type')} was not offered")
    return END_TURN


def read_response_usage(counts: JsonObject) -> Usage:
    """What was used; `counts` includes cached tokens in those of the input."""
    details = read_object_field(counts, "input_tokens_details")
    cached, written = (
        read_count_field(details, "cached_tokens") or 0,
        read_count_field(details, "cache_write_tokens") or 0,
    )
    return Usage(
        input=max(0, (read_count_field(counts, "input_tokens") or 0) - cached - written),
        output=read_count_field(counts, "output_tokens") or 0,
        cache_read=cached,
        cache_write=written,
        reasoning=read_count_field(read_object_field(counts, "output_tokens_details"), "reasoning_tokens") or 0,
    )


class OpenAiResponses(OpenAiDialect):
    """Implements `ApiClient` over Responses. Nothing is stored on the server: every request is whole."""

    def __init__(self, endpoint: Endpoint, *, max_output_tokens: int | None = None) -> None:
        super().__init__(endpoint, "responses", max_output_tokens=max_output_tokens)
        self._history = build_responses_history(endpoint.provider)

    async def _send(self, request: ApiRequest, on_event: OnStreamEvent) -> LlmResponse:
        body = build_responses_payload(
            request,
            history=self._history,
            max_tokens=request.max_output_tokens or self._max_tokens,
            wants_reasoning=request.model not in self._plain,
        )
        answer = ResponsesAnswer(self.provider, on_event, self._failures)
        return await self._client.send(request.model, body, answer)

    def _is_about_reasoning(self, error: ProviderError) -> bool:
        """Models that do not reason refuse to be asked for their encrypted reasoning."""
        text = str(error).lower().replace("_", " ")
        return error.kind is ProviderErrorKind.BAD_REQUEST and "encrypted content" in text and "support" in text
