"""The calls in a Chat Completions stream, whose pieces servers number and name in many ways."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from application.ports import OnStreamEvent
from domain.json_value import JsonObject, JsonValue
from domain.response import ToolUseBlock
from domain.stream import ToolCallDelta
from infrastructure.providers.call_ids import CallIds
from infrastructure.providers.json_fields import count_of, object_of, parsed_arguments, text_of, whole
from infrastructure.providers.openai_payload import CALL_EXTRA

_EXTRA_FIELDS = ("extra_content",)  # Gemini's signatures of thoughts, without which it refuses the next request


@dataclass(slots=True)
class _Call:
    position: int
    native_index: int | None
    native_id: str
    id: str
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    unsent: list[str] = field(default_factory=list)
    extra: dict[str, JsonValue] = field(default_factory=dict)


class ChatCalls:
    """Collects calls from their pieces and tells of them; ids are made where a server gives none."""

    def __init__(self, on_event: OnStreamEvent) -> None:
        self._on_event = on_event
        self._calls: list[_Call] = []
        self._ids = CallIds()

    @property
    def has_nameless(self) -> bool:
        """Whether a call's name never came."""
        return any(not call.name for call in self._calls)

    def take(self, piece: JsonObject) -> None:
        """Take one piece of one call."""
        function = object_of(piece, "function")
        call = self._call_of(piece, text_of(function, "name"))
        call.extra.update((key, piece[key]) for key in _EXTRA_FIELDS if piece.get(key) is not None)
        arguments = _arguments_text(function.get("arguments"))
        if arguments:
            call.pieces.append(arguments)
        self._tell(call, text_of(function, "name"), arguments)

    def blocks(self) -> tuple[ToolUseBlock, ...]:
        """The calls in the order in which they began."""
        return tuple(_block(call) for call in self._calls)

    def extras(self) -> Iterator[JsonObject]:
        """What a provider added to its calls and wants back with them."""
        for call in self._calls:
            if call.extra:
                yield {"type": CALL_EXTRA, "id": call.id, "fields": call.extra}

    def _call_of(self, piece: JsonObject, name: str) -> _Call:
        index, native_id = count_of(piece, "index"), text_of(piece, "id")
        known = self._known(index, native_id, name)
        if known is not None:
            return known
        call = _Call(
            position=len(self._calls), native_index=index, native_id=native_id, id=self._ids.claim(native_id)
        )
        self._calls.append(call)
        return call

    def _known(self, index: int | None, native_id: str, name: str) -> _Call | None:
        """The call a piece belongs to, or None where it begins a new one.

        Some servers number every call 0 and tell them apart by id only; some give neither.
        """
        if index is None:
            candidates = self._calls[-1:] if not (native_id or name) else []
            candidates = candidates or [c for c in self._calls if native_id and c.native_id == native_id]
        else:
            candidates = [call for call in self._calls if call.native_index == index]
        if not candidates:
            return None
        last = candidates[-1]
        begins_anew = bool(name and native_id and last.name and last.native_id != native_id)
        return None if begins_anew else last

    def _tell(self, call: _Call, name: str, arguments: str) -> None:
        if call.name:
            if arguments:
                self._on_event(ToolCallDelta(index=call.position, arguments_delta=whole(arguments)))
            return
        if not name:
            call.unsent.append(arguments)
            return
        call.name = name
        early = whole("".join(call.unsent) + arguments)
        self._on_event(ToolCallDelta(index=call.position, id=call.id, name=name, arguments_delta=early))


def _arguments_text(arguments: JsonValue) -> str:
    """The arguments as text; some servers send the object itself."""
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments) if isinstance(arguments, Mapping) else ""


def _block(call: _Call) -> ToolUseBlock:
    arguments, problem = parsed_arguments("".join(call.pieces))
    return ToolUseBlock(id=call.id, name=call.name, input=arguments, parse_error=problem)
