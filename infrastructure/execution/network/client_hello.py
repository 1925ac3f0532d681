"""The name that a TLS client asks for in its first message (RFC 8446, 6066), which travels in the clear."""

from __future__ import annotations

HANDSHAKE = 0x16
_CLIENT_HELLO = 1
_SERVER_NAME, _HOST_NAME = 0, 0
_LONGEST_RECORD = (1 << 14) + 256
LONGEST_HELLO = 1 << 16


class BadHello(ValueError):
    """The bytes do not begin a TLS connection; the message says why."""


class _Fields:
    """Reads fields in their order. Raises BadHello where they go beyond the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    @property
    def is_done(self) -> bool:
        return self._place == len(self._data)

    def take(self, length: int) -> bytes:
        taken = self._data[self._place : self._place + length]
        if len(taken) < length:
            raise BadHello("its first message is cut")
        self._place += length
        return taken

    def take_number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def take_vector(self, size: int) -> bytes:
        return self.take(self.take_number(size))


def find_server_name(data: bytes) -> tuple[bool, str | None]:
    """Whether the first message is whole, and the name in it, if it has one. More records may hold its parts.

    Raises BadHello for what can be no such message.
    """
    message, records = b"", memoryview(data)
    while True:
        if len(message) >= 4:
            if message[0] != _CLIENT_HELLO:
                raise BadHello("it does not begin with a client's hello")
            length = int.from_bytes(message[1:4], "big")
            if length > LONGEST_HELLO:
                raise BadHello("its first message is too long")
            if len(message) >= 4 + length:
                return True, _read_hello(message[4 : 4 + length])
        if records and records[0] != HANDSHAKE:
            raise BadHello("it is no TLS connection")
        if len(records) < 5:
            return False, None
        size = int.from_bytes(records[3:5], "big")
        if records[1] != 3 or not 0 < size <= _LONGEST_RECORD:
            raise BadHello("it is no TLS connection")
        if len(records) < 5 + size:
            return False, None
        message += bytes(records[5 : 5 + size])
        records = records[5 + size :]


def _read_hello(body: bytes) -> str | None:
    fields = _Fields(body)
    fields.take(2 + 32)  # version and random bytes
    fields.take_vector(1)  # session
    fields.take_vector(2)  # ciphers
    fields.take_vector(1)  # compression
    if fields.is_done:
        return None
    extensions = _Fields(fields.take_vector(2))
    names: list[str] = []
    while not extensions.is_done:
        kind, content = extensions.take_number(2), extensions.take_vector(2)
        if kind == _SERVER_NAME:
            names.append(_read_name(content))
    if len(names) > 1:
        raise BadHello("it names its server more than once")
    return names[0] if names else None


def _read_name(content: bytes) -> str:
    listed = _Fields(_Fields(content).take_vector(2))
    kind, name = listed.take_number(1), listed.take_vector(2)
    if kind != _HOST_NAME or not listed.is_done:
        raise BadHello("it names its server in a way of its own")
    try:
        return name.decode("ascii")
    except UnicodeDecodeError as error:
        raise BadHello("the name of its server is not ASCII") from error
