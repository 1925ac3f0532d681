"""An answer of OpenAI Responses, built up from the events of its stream."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from application.ports import OnStreamEvent
from domain.errors import ProviderError
from domain.json_value import JsonObject
from domain.response import (
    END_TURN,
    MAX_TOKENS,
    REFUSAL,
    TOOL_USE,
    LlmResponse,
    StopKind,
    StopReason,
    ToolUseBlock,
    Usage,
)
from domain.stream import Delta, ReasoningDelta, ToolCallDelta
from infrastructure.providers.call_ids import CallIds
from infrastructure.providers.failures import Failures
from infrastructure.providers.json_fields import count_of, object_of, objects_of, text_of, whole
from infrastructure.providers.responses_items import (
    PARAGRAPH,
    is_refusal,
    item_blocks,
    message_text,
    reasoning_text,
)

_INCOMPLETE = {"max_output_tokens": MAX_TOKENS, "content_filter": REFUSAL}
_ACKNOWLEDGED = frozenset({"response.created", "response.queued", "response.in_progress"})
_ENDS = frozenset({"response.completed", "response.incomplete"})


@dataclass(slots=True)
class _Item:
    """An item while it arrives: its first form, what followed, and its last form."""

    first: JsonObject
    pieces: list[str] = field(default_factory=list)
    whole: JsonObject | None = None
    call_id: str = ""
    call_index: int = 0

    @property
    def told(self) -> str:
        return "".join(self.pieces)


class ResponsesAnswer:
    """Takes the events of one stream in order and tells `on_event` what can be shown."""

    def __init__(self, provider: str, on_event: OnStreamEvent, failures: Failures) -> None:
        self._provider = provider
        self._on_event = on_event
        self._failures = failures
        self._items: dict[int, _Item] = {}
        self._by_id: dict[str, _Item] = {}
        self._ids = CallIds()
        self._calls = 0
        self._status = ""
        self._final: JsonObject = {}
        self.started = False
        self.complete = False

    def take(self, name: str, event: JsonObject) -> None:
        """Take one event. Raises ProviderError for one that reports an error."""
        kind = text_of(event, "type") or name
        if kind in _ACKNOWLEDGED:
            return  # nothing of the answer is here yet, so a failure now may still be tried again
        if kind in ("error", "response.error") or (event.get("error") and not kind.startswith("response.")):
            raise self._failures.reported(event.get("error") or event, started=self.started)
        response = object_of(event, "response")
        if kind == "response.failed":
            raise self._failures.reported(response.get("error") or {}, started=self.started)
        if kind in _ENDS:
            self._close(response, kind.removeprefix("response."))
            return
        self._take_piece(kind, event)

    def end(self) -> None:
        """Take note of the mark `[DONE]`, which some servers send after the last event."""

    def events_of(self, body: JsonObject) -> Iterable[JsonObject]:
        """An answer that came in one piece, as the event that ends a stream; none without a list of items."""
        if not isinstance(body.get("output"), list):
            return []
        word = "failed" if text_of(body, "status") == "failed" else "completed"
        return [{"type": f"response.{word}", "response": body}]

    def response(self) -> LlmResponse:
        """The whole answer. Raises ProviderError when the stream ended before it was whole."""
        if not self.complete:
            raise self._broken("the stream ended before the answer was complete")
        items = [(item, item.whole or self._cut_off(item)) for _, item in sorted(self._items.items())]
        content = tuple(
            block
            for item, form in items
            for block in item_blocks(form, provider=self._provider, call_id=item.call_id)
        )
        calls = [block for block in content if isinstance(block, ToolUseBlock)]
        if any(not call.name for call in calls):
            raise self._broken("a call without the name of a tool")
        return LlmResponse(
            content=content,
            stop_reason=self._stop_reason([form for _, form in items], has_calls=bool(calls)),
            model=text_of(self._final, "model"),
            usage=_usage(object_of(self._final, "usage")),
        )

    def _take_piece(self, kind: str, event: JsonObject) -> None:
        delta = text_of(event, "delta")
        match kind:
            case "response.output_item.added":
                self._open(event)
            case "response.output_item.done":
                self._finish(self._open(event), object_of(event, "item"))
            case "response.output_text.delta" | "response.refusal.delta":
                self._say(self._item_of(event, "message"), delta)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._think(self._item_of(event, "reasoning"), delta)
            case "response.reasoning_summary_part.added":
                item = self._item_of(event, "reasoning")
                self._think(item, PARAGRAPH if item.pieces else "")
            case "response.function_call_arguments.delta":
                self._argue(self._item_of(event, "function_call"), delta)
            case _:
                return  # repetitions of what deltas said, and the progress of tools that the provider runs

    def _open(self, event: JsonObject) -> _Item:
        """The item that an event brings, begun if it is new."""
        first = object_of(event, "item")
        item_id = text_of(first, "id")
        index = count_of(event, "output_index")
        item = self._items.get(index) if index is not None else self._by_id.get(item_id)
        if item is None:
            item = self._begin(first, index)
        elif not item.call_id:
            item.first = first
        self._by_id.setdefault(item_id, item)
        self._name_call(item)
        return item

    def _begin(self, first: JsonObject, index: int | None) -> _Item:
        self.started = True
        item = _Item(first)
        self._items[max(self._items, default=-1) + 1 if index is None else index] = item
        return item

    def _item_of(self, event: JsonObject, kind: str) -> _Item:
        """The item a piece belongs to: by its place, or its id where a server tells no place."""
        index = count_of(event, "output_index")
        item_id = text_of(event, "item_id")
        item = self._items.get(index) if index is not None else self._by_id.get(item_id)
        if item is None:
            item = self._begin({"type": kind}, index)
            self._by_id.setdefault(item_id, item)
        return item

    def _name_call(self, item: _Item) -> None:
        if item.call_id or text_of(item.first, "type") != "function_call" or not text_of(item.first, "name"):
            return
        item.call_id = self._ids.claim(text_of(item.first, "call_id") or text_of(item.first, "id"))
        item.call_index, self._calls = self._calls, self._calls + 1
        early = whole(item.told)
        name = text_of(item.first, "name")
        self._on_event(ToolCallDelta(index=item.call_index, id=item.call_id, name=name, arguments_delta=early))

    def _say(self, item: _Item, text: str) -> None:
        if text:
            item.pieces.append(text)
            self._on_event(Delta(whole(text)))

    def _think(self, item: _Item, text: str) -> None:
        if text:
            item.pieces.append(text)
            self._on_event(ReasoningDelta(whole(text)))

    def _argue(self, item: _Item, text: str) -> None:
        if text:
            item.pieces.append(text)
            if item.call_id:
                self._on_event(ToolCallDelta(index=item.call_index, arguments_delta=whole(text)))

    def _finish(self, item: _Item, form: JsonObject) -> None:
        """Take an item's last form, and tell what no delta had told of it."""
        if item.call_id and text_of(form, "call_id") != text_of(item.first, "call_id"):
            raise self._broken("a call began as another than it ended")
        item.whole = form or None
        match text_of(form, "type"):
            case "message":
                self._say(item, _rest(message_text(form), item.told))
            case "reasoning":
                self._think(item, _rest(reasoning_text(form), item.told))
            case "function_call":
                self._argue(item, _rest(text_of(form, "arguments"), item.told))

    def _close(self, final: JsonObject, word: str) -> None:
        """Take the end of the stream, whose list of items fills in for any that no event brought whole."""
        self.complete = True
        self._final = final
        self._status = text_of(final, "status") or word
        listed = objects_of(final, "output")
        known = {item.call_id for item in self._items.values() if item.call_id}
        for index, form in enumerate(listed):
            item = self._items.get(index)
            if item is None:
                is_lacking = len(listed) > len(self._items) and text_of(form, "call_id") not in known
            else:
                is_lacking = item.whole is None and text_of(item.first, "type") == text_of(form, "type")
            if is_lacking:
                self._finish(self._open({"output_index": index, "item": form}), form)

    def _cut_off(self, item: _Item) -> JsonObject:
        """An item that never became whole, as far as it came. Only an answer that was cut may hold one."""
        if self._status == "completed":
            raise self._broken("the stream ended before all of the answer had arrived")
        match text_of(item.first, "type"):
            case "message":
                return {"type": "message", "content": [{"type": "output_text", "text": item.told}]}
            case "function_call":
                return {**item.first, "arguments": item.told}
            case _:
                return item.first

    def _stop_reason(self, items: list[JsonObject], *, has_calls: bool) -> StopReason:
        if self._status == "incomplete":
            why = text_of(object_of(self._final, "incomplete_details"), "reason") or self._status
            return _INCOMPLETE.get(why, StopReason(StopKind.OTHER, why))
        if self._status != "completed":
            return StopReason(StopKind.OTHER, self._status)
        if any(text_of(form, "type") == "message" and is_refusal(form) for form in items):
            return REFUSAL
        if any(text_of(f, "type") == "function_call" and text_of(f, "status") == "incomplete" for f in items):
            raise self._broken("a call was cut off")
        return TOOL_USE if has_calls else END_TURN

    def _broken(self, what: str) -> ProviderError:
        return self._failures.damaged(what, started=self.started)


def _rest(text: str, told: str) -> str:
    return text[len(told) :] if text.startswith(told) else ""


def _usage(counts: JsonObject) -> Usage:
    details = object_of(counts, "input_tokens_details")
    cached, written = count_of(details, "cached_tokens") or 0, count_of(details, "cache_write_tokens") or 0
    return Usage(
        input=max(0, (count_of(counts, "input_tokens") or 0) - cached - written),
        output=count_of(counts, "output_tokens") or 0,
        cache_read=cached,
        cache_write=written,
        reasoning=count_of(object_of(counts, "output_tokens_details"), "reasoning_tokens") or 0,
    )
