"""The calls in a Chat Completions stream: in pieces that servers number in many ways."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise

from msgspec import Struct, field

from quorum.application.ports.models import OnStreamEvent
from quorum.domain.conversation.response import StreamedToolCall, ToolUseBlock
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.models.openai_chat.payload import CALL_EXTRA
from quorum.infrastructure.models.shared.call_arguments import CallIds, build_call_block
from quorum.infrastructure.models.shared.json_fields import (
    WrongKindError,
    parse_arguments,
    replace_surrogates,
    require_count_field,
    require_object_field,
    require_text_field,
)

_EXTRA_FIELDS = ("extra_content",)  # Gemini's signatures of thoughts, without which it refuses the next request
_LEGACY_INDEX = -1


class _CallPiece(Struct, frozen=True):
    """A piece of a call, as far as it says anything."""

    index: int | None
    native_id: str
    name: str
    arguments: str


class _Call(Struct):
    """A call while it arrives. `id` is "" until the call was announced."""

    position: int
    native_index: int | None
    native_id: str = ""
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    extra: dict[str, JsonValue] = field(default_factory=dict)
    has_strays: bool = False
    """Whether pieces of numbers that no call had were taken for its own."""

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    @property
    def is_whole(self) -> bool:
        """Whether the arguments that have come are an object: more of them would belong to another call."""
        text = self.arguments.rstrip()
        return text.endswith("}") and parse_arguments(text)[1] is None


class ChatCalls:
    """Collects calls from their pieces and tells of them.

    A call is announced when its arguments begin, for up to then its name and its id may grow. Where no id ever
    comes, one is made when the answer is whole. `names` are those of the offered tools.
    """

    def __init__(self, on_event: OnStreamEvent, names: Collection[str] = ()) -> None:
        self._on_event = on_event
        self._names = frozenset(names)
        self._calls: list[_Call] = []
        self._ids = CallIds()
        self._strays: set[int | None] = set()
        self.are_mixed = False
        """Whether pieces that were taken for those of one call turned out to be another's."""

    def __bool__(self) -> bool:
        return bool(self._calls)

    @property
    def has_nameless(self) -> bool:
        """Whether a call's name never came."""
        return any(not call.name for call in self._calls)

    def read_piece(self, source: JsonObject) -> None:
        """Take one piece of one call. Raises WrongKindError."""
        self._read_call(source, require_count_field(source, "index"))

    def take_legacy(self, function: JsonObject) -> None:
        """Take a piece of the one call of the API's first form; some servers tell a call in both forms."""
        if all(call.native_index == _LEGACY_INDEX for call in self._calls):
            self._read_call({"function": function}, _LEGACY_INDEX)

    def _read_call(self, source: JsonObject, index: int | None) -> None:
        function = require_object_field(source, "function") or source
        given = function.get("arguments")
        piece = _CallPiece(
            index=index,
            native_id=_read_id(source),
            name=require_text_field(function, "name"),
            arguments=_format_arguments(function.get("parameters") if given is None else given),
        )
        call = self._require_call(piece)
        if _repeats(piece, call):
            return
        piece = _cut_repeated(piece, call)
        if not call.pieces:
            call.name = self._join_name(call.name, piece.name)
        if not call.pieces and not piece.arguments:
            call.native_id = _join(call.native_id, piece.native_id)
        call.name = call.name or piece.name
        call.native_id = call.native_id or piece.native_id
        call.extra.update((key, source[key]) for key in _EXTRA_FIELDS if source.get(key) is not None)
        if piece.arguments:
            call.pieces.append(piece.arguments)
        if call.id:
            if piece.arguments:
                self._on_event(
                    StreamedToolCall(index=call.position, arguments_delta=replace_surrogates(piece.arguments))
                )
        elif call.name and call.native_id and call.pieces:
            self._announce(call)

    def finish(self) -> tuple[ToolUseBlock, ...]:
        """The calls in the order in which they began; tells of those that waited for an id."""
        for call in self._calls:
            if not call.id:
                self._announce(call)
        return tuple(_block(call) for call in self._calls)

    def list_extras(self) -> Iterator[JsonObject]:
        """What a provider added to its calls and wants back with them."""
        for call in self._calls:
            if call.extra:
                yield {"type": CALL_EXTRA, "id": call.id, "fields": call.extra}

    def _require_call(self, piece: _CallPiece) -> _Call:
        known = self._find_call(piece)
        if known is not None and not self._begins_anew(piece, known):
            if piece.index not in (None, known.native_index):
                self._strays.add(piece.index)
                known.has_strays = True
            elif piece.index is not None and piece.arguments:
                self.are_mixed = self.are_mixed or known.has_strays
            return known
        self.are_mixed = self.are_mixed or piece.index in self._strays
        call = _Call(position=len(self._calls), native_index=piece.index)
        self._calls.append(call)
        return call

    def _find_call(self, piece: _CallPiece) -> _Call | None:
        """The call that a piece seems to belong to: by its number, its id, or its place in the stream."""
        numbered = [c for c in self._calls if piece.index is not None and c.native_index == piece.index]
        for nearest in (numbered or self._calls)[-1:]:
            if self._completes_name(piece, nearest):
                return nearest
        named = [c for c in numbered or self._calls if piece.native_id and c.native_id == piece.native_id]
        if numbered:
            return (named or numbered)[-1]
        if piece.name and piece.index is not None:
            return None
        if named:
            return named[-1]
        last = self._calls[-1] if self._calls else None
        if last is None or not piece.name:
            return last  # some servers number the pieces of one call 0, 1, 2, …
        return last if not piece.native_id and last.name == piece.name and _is_begun(last) else None

    def _begins_anew(self, piece: _CallPiece, known: _Call) -> bool:
        """Whether a piece that carries a known number begins another call: some servers number every call 0.

        A new id alone means nothing, as some servers give every piece a new one.
        """
        if self._completes_name(piece, known):
            return False
        is_other = bool(piece.native_id and known.native_id and piece.native_id != known.native_id)
        if piece.name and known.name and is_other:
            return True
        are_two = {piece.name, known.name} <= self._names
        if are_two and self._join_name(known.name, piece.name) not in self._names:
            return True
        is_same = bool(piece.native_id) and piece.native_id == known.native_id
        return bool((piece.name or is_other) and piece.arguments.strip() and not is_same and known.is_whole)

    def _completes_name(self, piece: _CallPiece, known: _Call) -> bool:
        """Whether the name of a call, which no offered tool has, or this piece's, is one with the other."""
        if known.pieces or not piece.name or not known.name or {piece.name, known.name} <= self._names:
            return False
        return self._begins_offered(self._join_name(known.name, piece.name))

    def _join_name(self, known: str, piece: str) -> str:
        """The name so far: a piece is what follows, or says again all that came before."""
        if known == piece and known in self._names:
            return known
        return known + piece if self._begins_offered(known + piece) else _join(known, piece)

    def _begins_offered(self, text: str) -> bool:
        return any(name.startswith(text) for name in self._names)

    def _announce(self, call: _Call) -> None:
        call.id = self._ids.claim(call.native_id)
        early = replace_surrogates(call.arguments)
        self._on_event(StreamedToolCall(index=call.position, id=call.id, name=call.name, arguments_delta=early))


def _repeats(piece: _CallPiece, known: _Call) -> bool:
    """Whether a piece says once more all that is known of its call."""
    is_same = bool(piece.name and piece.native_id) and piece.native_id == known.native_id
    return is_same and known.is_whole and piece.arguments == known.arguments


def _cut_repeated(piece: _CallPiece, known: _Call) -> _CallPiece:
    """What a piece adds: some servers end a call with all of its arguments once more."""
    text = piece.arguments.strip()
    if not (known.pieces and text.startswith("{") and text.endswith("}")):
        return piece
    if not known.arguments.strip() or known.is_whole or not piece.arguments.startswith(known.arguments):
        return piece
    is_all = parse_arguments(piece.arguments)[1] is None
    return replace(piece, arguments=piece.arguments[len(known.arguments) :]) if is_all else piece


def _join(known: str, piece: str) -> str:
    """Both, or the piece alone where it holds the other."""
    return piece if piece.startswith(known) else known + piece


def _read_id(source: JsonObject) -> str:
    """The id of a call; some servers number them."""
    native = source.get("id")
    is_number = isinstance(native, int) and not isinstance(native, bool)
    return str(native) if is_number else require_text_field(source, "id")


def _is_begun(call: _Call) -> bool:
    return bool(call.pieces) and not call.is_whole


def _format_arguments(arguments: JsonValue) -> str:
    """The arguments as text; some servers send the object itself."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    if isinstance(arguments, Mapping):
        return json.dumps(arguments)
    raise WrongKindError('"arguments" must be a string or an object')


def _block(call: _Call) -> ToolUseBlock:
    arguments = call.arguments
    if len(call.pieces) > 1 and all(later.startswith(earlier) for earlier, later in pairwise(call.pieces)):
        last = call.pieces[-1]  # some servers send with every piece all that came before
        if parse_arguments(arguments)[1] is not None and parse_arguments(last)[1] is None:
            arguments = last
    return build_call_block(call.id, call.name, arguments)
