"""The body of a request as bytes. Each carries the whole conversation, of which only what is new is encoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_

import msgspec
from msgspec import Struct, field

from quorum.domain.text.json_value import JsonValue

_HISTORIES = ("messages", "input")
# So many conversations, as those of tabs, may take turns on one client; shorter ones cost nothing to encode.
_CONVERSATIONS = 4
_SHORT = 4


def encode_body(body: JsonValue) -> bytes:
    """The JSON of a body, in UTF-8 and without spaces; NaN and infinities, which JSON does not have, are null.

    Python's own encoder, which the SDKs use, takes 6 ms of the event loop for a megabyte, msgspec less than
    one. Raises UnicodeEncodeError for half a surrogate pair.
    """
    return msgspec.json.encode(body)


class _EncodedHistory(Struct, eq=False):
    """Messages, their JSON with commas between, and where that of each ends."""

    messages: list[JsonValue] = field(default_factory=list)
    encoded: bytearray = field(default_factory=bytearray)
    ends: list[int] = field(default_factory=list)

    def continue_with(self, messages: Sequence[JsonValue], known: int) -> bytes:
        """The JSON of these messages, of which so many at the beginning are `known`."""
        del self.messages[known:], self.ends[known:], self.encoded[self.ends[known - 1] if known else 0 :]
        for message in messages[known:]:
            piece = encode_body(message)
            self.encoded += b"," + piece if self.ends else piece
            self.messages.append(message)
            self.ends.append(len(self.encoded))
        return b"[" + self.encoded + b"]"


class BodyEncoder:
    """Encodes the bodies of one client's requests as `encode_body` does.

    What is the same as in an earlier body is told by identity: parts of a conversation, once rendered, must not
    be changed by anybody.
    """

    def __init__(self) -> None:
        self._known: list[_EncodedHistory] = []

    def encode(self, body: Mapping[str, JsonValue]) -> bytes:
        """The JSON of a body. Raises UnicodeEncodeError as `encode_body` does."""
        pieces = {key: self._encode_history(body[key]) for key in _HISTORIES if key in body}
        raw = {key: msgspec.Raw(piece) for key, piece in pieces.items() if piece is not None}
        return msgspec.json.encode({**body, **raw})

    def _encode_history(self, messages: JsonValue) -> bytes | None:
        if not isinstance(messages, list) or len(messages) <= _SHORT:
            return None
        counts = [_count_known(each.messages, messages) for each in self._known]
        known = max(counts, default=0)
        # what all conversations begin with, such as a system prompt, does not make them the same
        history = self._known.pop(counts.index(known)) if known > 1 else _EncodedHistory()
        encoded = history.continue_with(messages, known if known > 1 else 0)
        self._known = [history, *self._known][:_CONVERSATIONS]
        return encoded


def _count_known(before: Sequence[JsonValue], now: Sequence[JsonValue]) -> int:
    """How many messages at the beginning are those of before."""
    count = 0
    for one, other in zip(before, now, strict=False):
        if one is not other and not _is_same(one, other):
            break
        count += 1
    return count


def _is_same(one: JsonValue, other: JsonValue) -> bool:
    """Whether a message that was put together anew has the same parts, in the same order."""
    if not isinstance(one, dict) or not isinstance(other, dict) or list(one) != list(other):
        return False
    return all(map(_is_same_part, one.values(), other.values()))


def _is_same_part(one: JsonValue, other: JsonValue) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_, one, other))
    return one is other or (isinstance(one, str) and isinstance(other, str) and one == other)
