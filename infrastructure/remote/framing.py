"""Frames: `Content-Length: BYTES`, an empty line, and so many bytes. Nothing here reads or writes by itself."""

from __future__ import annotations

import re

MOST_BODY_BYTES = 1 << 20
MOST_ANSWER_BYTES = 16 << 20
MOST_HEADER_BYTES = 8 << 10

_END = b"\r\n\r\n"
_NUMBER = re.compile(rb"[0-9]{1,12}")


class FrameError(ValueError):
    """What arrived is no frame, or too large a one; nothing that follows it can be understood."""


def encode_frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class FrameReader:
    """Takes frames apart, however the bytes were cut on their way. It keeps one unfinished frame at most.

    Other headers than Content-Length are passed over. `most_bytes` bounds a body.
    """

    def __init__(self, most_bytes: int = MOST_BODY_BYTES) -> None:
        self._most = most_bytes
        self._held = bytearray()
        self._length: int | None = None

    @property
    def is_midway(self) -> bool:
        """Whether a frame has begun and not ended."""
        return bool(self._held) or self._length is not None

    def feed(self, data: bytes) -> None:
        """Take bytes in, as they come. Ask `take` for what they came to before the next."""
        self._held += data

    def pop_body(self) -> bytes | None:
        """The next whole body, or None where more is needed for it. Raises FrameError."""
        if self._length is None and not self._read_header():
            return None
        assert self._length is not None
        if len(self._held) < self._length:
            return None
        body = bytes(self._held[: self._length])
        del self._held[: self._length]
        self._length = None
        return body

    def _read_header(self) -> bool:
        end = self._held.find(_END, 0, MOST_HEADER_BYTES + len(_END))
        if end < 0:
            if len(self._held) > MOST_HEADER_BYTES:
                raise FrameError(f"a header may have at most {MOST_HEADER_BYTES} bytes")
            return False
        self._length = self._parse_length(bytes(self._held[:end]))
        del self._held[: end + len(_END)]
        return True

    def _parse_length(self, header: bytes) -> int:
        lengths: list[bytes] = []
        for line in header.split(b"\r\n"):
            name, colon, value = line.partition(b":")
            if not colon or not name.strip():
                raise FrameError("a header is NAME: VALUE, one to a line; say Content-Length: BYTES")
            if name.strip().lower() == b"content-length":
                lengths.append(value.strip())
        if len(lengths) != 1 or not _NUMBER.fullmatch(lengths[0]):
            raise FrameError("a frame needs one header Content-Length, the number of its bytes")
        if (length := int(lengths[0])) > self._most:
            raise FrameError(f"a body may have at most {self._most} bytes, not {length}")
        return length
