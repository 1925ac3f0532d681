"""Server-sent events: from bytes, however they are cut, to named pieces of data."""

from __future__ import annotations

from typing import NamedTuple

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ServerEvent(NamedTuple):
    """One event of a stream: its name ("" where it has none) and its data."""

    name: str
    data: str


class EventDecoder:
    """Collects bytes and gives out the events that are complete.

    The SDKs' own decoders validate every event into objects, which costs twenty times the CPU of the plain
    JSON that is read here. `httpx2.EventSource` reads a response itself, where here its first bytes decide how
    it is read and Amazon's frames come off before; and it drops a last event without an empty line after it.
    """

    def __init__(self) -> None:
        self._unfinished: list[bytes] = []
        self._name = ""
        self._data: list[bytes] = []
        self._after_return = False
        self._at_start = True
        self._line_bytes = 0
        self._data_bytes = 0

    @property
    def pending(self) -> int:
        """How many bytes of an unfinished event are held."""
        return self._line_bytes + self._data_bytes

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """The events that this piece completes."""
        if self._after_return and piece:
            piece = piece.removeprefix(b"\n")  # the second half of a line end that was cut in two
            self._after_return = False
        if b"\n" not in piece and b"\r" not in piece:
            self._unfinished.append(piece)
            self._line_bytes += len(piece)
            return []
        text = b"".join((*self._unfinished, piece))
        self._unfinished, self._line_bytes = [], 0
        self._after_return = text.endswith(b"\r")
        lines = text.splitlines()
        if not text.endswith((b"\n", b"\r")):
            self._unfinished.append(lines.pop())
            self._line_bytes = len(self._unfinished[0])
        return [event for line in lines if (event := self._read_line(line)) is not None]

    def close(self) -> list[ServerEvent]:
        """The last event, where the stream ended without the empty line that should follow it."""
        rest = b"".join(self._unfinished)
        self._unfinished = []
        return [event for line in (rest, b"") if (event := self._read_line(line)) is not None]

    def _read_line(self, line: bytes) -> ServerEvent | None:
        if self._at_start:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._at_start = False
        if not line:
            return self._finish()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._data_bytes += len(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return None

    def _finish(self) -> ServerEvent | None:
        name, data = self._name, self._data
        self._name, self._data, self._data_bytes = "", [], 0
        return ServerEvent(name, b"\n".join(data).decode("utf-8", "replace")) if data else None
