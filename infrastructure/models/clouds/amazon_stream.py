"""Amazon's binary framing of streams, taken off: what is inside are the same events as everywhere."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import AsyncIterator, Callable, Mapping

from quorum.domain.errors import ProviderError
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.models.shared.json_fields import read_text_field

_FRAMED = "application/vnd.amazon.eventstream"


def is_framed(content_type: str) -> bool:
    """Whether a body of this type consists of frames."""
    return content_type.partition(";")[0].strip().lower() == _FRAMED


async def unpack_frames(
    body: AsyncIterator[bytes], damaged: Callable[[str], ProviderError]
) -> AsyncIterator[bytes]:
    """The body as server-sent events, one for each frame. Raises what `damaged` makes of a broken frame."""
    from botocore.eventstream import EventStreamBuffer, ParserError  # type: ignore[import-untyped]

    frames = EventStreamBuffer()
    async for piece in body:
        frames.add_data(piece)
        try:
            events = [_decode_event(frame.headers, frame.payload) for frame in frames]
        except (ParserError, ValueError, LookupError, struct.error) as error:
            raise damaged("a frame of the stream is broken") from error
        if whole := b"".join(events):
            yield whole


def _decode_event(headers: Mapping[str, object], payload: bytes) -> bytes:
    """One frame as an event. Raises ValueError where it holds none."""
    match headers.get(":message-type"):
        case "event":
            data = base64.b64decode(read_text_field(_parse_object(payload), "bytes"), validate=True)
            return b"data: %s\n\n" % b" ".join(data.splitlines()) if data else b""
        case "exception":
            return _encode_error(
                headers.get(":exception-type"), read_text_field(_parse_object(payload), "message")
            )
        case _:
            return _encode_error(headers.get(":error-code"), str(headers.get(":error-message") or ""))


def _encode_error(name: object, message: str) -> bytes:
    error = {"type": "error", "error": {"type": str(name or ""), "message": message}}
    return f"event: error\ndata: {json.dumps(error)}\n\n".encode()


def _parse_object(payload: bytes) -> JsonObject:
    try:
        value: JsonValue = json.loads(payload)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    return value if isinstance(value, Mapping) else {}
