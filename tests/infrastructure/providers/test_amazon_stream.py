from __future__ import annotations

import json
import struct
import zlib
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.clouds.amazon_bedrock import is_framed, unpack_frames
from quorum.infrastructure.models.shared.answer_reading import EventDecoder

EVENTS = [json.dumps({"type": "ping", "n": n, "text": "ü" * n}) for n in range(4)]


def _frame(fields: bytes, payload: bytes) -> bytes:
    prelude = struct.pack("!II", len(fields) + len(payload) + 16, len(fields))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + fields + payload
    return message + struct.pack("!I", zlib.crc32(message))


def _field(name: bytes, value: bytes) -> bytes:
    return bytes([len(name)]) + name + b"\x07" + struct.pack("!H", len(value)) + value


EVENT = _field(b":message-type", b"event") + _field(b":event-type", b"chunk")
WHOLE = b"".join(
    _frame(EVENT, json.dumps({"bytes": b64encode(event.encode()).decode()}).encode()) for event in EVENTS
)


async def _pieces(body: bytes, cuts: Sequence[int]) -> AsyncIterator[bytes]:
    places = sorted({0, len(body), *(cut % (len(body) + 1) for cut in cuts)})
    for start, end in pairwise(places):
        yield body[start:end]


def _damaged(what: str) -> ProviderError:
    return ProviderError(what, kind=ProviderErrorKind.DAMAGED_STREAM)


async def _read_events(body: bytes, cuts: Sequence[int] = ()) -> list[str]:
    decoder = EventDecoder()
    return [
        event.data
        async for piece in unpack_frames(_pieces(body, cuts), _damaged)
        for event in decoder.feed(piece)
    ]


async def _read_or_error(body: bytes) -> list[str] | str:
    try:
        return await _read_events(body)
    except ProviderError as error:
        return str(error)


@given(cuts=st.lists(st.integers(0, 2000)))
async def test_frames_are_the_same_events_wherever_they_are_cut(cuts: list[int]) -> None:
    assert await _read_events(WHOLE, cuts) == EVENTS


@given(place=st.integers(0, len(WHOLE) - 1), bit=st.integers(0, 7))
async def test_a_flipped_bit_never_makes_another_event(place: int, bit: int) -> None:
    body = bytearray(WHOLE)
    body[place] ^= 1 << bit
    message = await _read_or_error(bytes(body))
    assert message == "a frame of the stream is broken" or message == EVENTS[: len(message)]


@given(fields=st.binary(max_size=60) | st.just(EVENT), payload=st.binary(max_size=60))
async def test_a_frame_of_any_bytes_is_an_event_or_one_error(fields: bytes, payload: bytes) -> None:
    message = await _read_or_error(_frame(fields, payload))
    assert isinstance(message, list) or message == "a frame of the stream is broken"


async def test_json_on_several_lines_is_one_event() -> None:
    data = b'{"type":\n "ping"}'
    body = _frame(EVENT, json.dumps({"bytes": b64encode(data).decode()}).encode())
    assert [json.loads(event) for event in await _read_events(body)] == [{"type": "ping"}]


def test_only_amazons_own_type_of_body_is_framed() -> None:
    assert is_framed("application/vnd.amazon.eventstream; charset=utf-8")
    assert not is_framed("text/event-stream")
