"""Messages of the Language Server Protocol as bytes: headers, an empty line, and a body of JSON."""

from __future__ import annotations

import json
import re

from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.shared.json_fields import parse_foreign_json, replace_surrogates

_LARGEST_MESSAGE = 32 << 20
_MOST_NOISE = 4_000
_LENGTH = re.compile(rb"content-length: *(\d{1,12}) *\r?\n", re.IGNORECASE)
# Some headers may stand around the one that counts; nothing else may.
_OTHERS = re.compile(rb"(?:[A-Za-z-]{1,40}:[^\r\n]{0,200}\r?\n){0,20}")
_END = re.compile(rb"\r?\n")
_BEGUN = re.compile(rb"(?:[A-Za-z-]{0,40}(?::[^\r\n]{0,200})?\r?)?\Z")
_LONGEST_BEGUN = 64  # bytes of a header that has begun


class OversizedMessage(Exception):
    """A server announces a message that is too large to be read."""


def encode_message(message: JsonObject) -> bytes:
    """The message with its header. What settings hold beside JSON, such as dates, is written as text."""
    body = replace_surrogates(json.dumps(message, ensure_ascii=False, allow_nan=False, default=str)).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class MessageReader:
    """Cuts what a server prints into messages. What stands between them is passed over, and its end kept."""

    def __init__(self) -> None:
        self._unread = bytearray()
        self._searched = 0
        self._length: int | None = None
        self._noise = b""

    @property
    def noise(self) -> str:
        """The last of what was printed beside messages."""
        return self._noise.decode("utf-8", "replace")

    def feed(self, data: bytes) -> list[JsonObject]:
        """The messages that end with these bytes. Raises OversizedMessage."""
        self._unread += data
        found: list[JsonObject] = []
        while self._length is not None or self._find_length():
            assert self._length is not None
            if len(self._unread) < self._length:
                break
            body = bytes(self._unread[: self._length])
            del self._unread[: self._length]
            self._length, self._searched = None, 0
            if (message := self._read(body)) is not None:
                found.append(message)
        return found

    def _find_length(self) -> bool:
        """Whether the next body begins the unread bytes; its length is known then."""
        while (header := _LENGTH.search(self._unread, self._searched)) is not None:
            others = _OTHERS.match(self._unread, header.end())
            assert others is not None
            if (end := _END.match(self._unread, others.end())) is not None:
                self._length = int(header[1])
                self._drop(header.start(), end.end() - header.start())
                if self._length > _LARGEST_MESSAGE:
                    raise OversizedMessage(f"it announced a message of {self._length:,} bytes")
                return True
            if _BEGUN.match(self._unread, others.end()):
                self._drop(header.start())
                return False
            self._searched = others.end()  # a text that only looks like headers
        self._drop(max(len(self._unread) - _LONGEST_BEGUN, 0))
        return False

    def _drop(self, noise: int, headers: int = 0) -> None:
        """Take so many bytes of what is no message from the unread ones, and of headers behind them."""
        self._pass_over(bytes(self._unread[:noise]))
        del self._unread[: noise + headers]
        self._searched = 0

    def _pass_over(self, data: bytes) -> None:
        if data.strip():
            self._noise = (self._noise + data)[-_MOST_NOISE:]

    def _read(self, body: bytes) -> JsonObject | None:
        try:
            message = parse_foreign_json(body)
        except ValueError:
            # A wrong length, as of a server that counts characters: another message may begin within.
            if (header := _LENGTH.search(body)) is not None:
                self._pass_over(body[: header.start()])
                self._unread[:0] = body[header.start() :]
            else:
                self._pass_over(body)
            return None
        return message if isinstance(message, dict) else None
