"""Reading one answer off an open HTTP response."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import NamedTuple, Protocol

import httpx2

from quorum.domain.conversation.response import LlmResponse
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.shared.failures import Failures
from quorum.infrastructure.models.shared.json_fields import WrongKindError, parse_foreign_json

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
        if field == b"error" and value.startswith(b"{"):
            self._name, field = "error", b"data"  # older versions of llama.cpp
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


EVENT_STREAM = "text/event-stream"
_NO_ANSWERS = ("text/html",)
_PLAIN = "text/plain"
_FIELDS = (b"data", b"event", b"id", b"retry", b":")
_BLANK = b" \t\r\n\xef\xbb\xbf"  # white space and the byte order mark
_SIGNS_OF_LIFE = frozenset({"ping", "heartbeat", "keepalive", "keep-alive"})
_LONGEST_FOREIGN_BODY = 64_000
_LONGEST_EVENT = 32_000_000
_LINGER_SECS = 0.1
# Pieces of an answer that has been arriving for so long, at no more than so many a second, are read together.
_AT_ONCE_SECS = 0.25
_MOST_PIECES_PER_SEC = 500
_GATHER_SECS = 0.03
_GATHERED_SECS = 0.001  # what arrives sooner after the piece before had been there already


class AnswerReader(Protocol):
    """An answer that is built up from events."""

    @property
    def started(self) -> bool:
        """Whether anything of the answer is here, so that the request must not be repeated."""
        ...

    @property
    def complete(self) -> bool:
        """Whether the answer has come to its end."""
        ...

    def tell_usage(self) -> None:
        """Tell what it used, as far as the provider has said so: it will not be whole."""
        ...

    def read_event(self, name: str, event: JsonObject) -> None:
        """Take one event. Raises ProviderError."""
        ...

    def end(self) -> None:
        """Take note of the mark `[DONE]`, or of the end of an answer in one piece."""
        ...

    def map_events(self, body: JsonObject) -> Iterable[JsonObject]:
        """The events of an answer that came in one piece; none where it is no answer."""
        ...

    def build_response(self) -> LlmResponse:
        """The whole answer. Raises ProviderError when it is not whole."""
        ...


async def read_answer(
    body: AsyncIterator[bytes], content_type: str, answer: AnswerReader, failures: Failures
) -> LlmResponse:
    """Feed a response's body to `answer` until that is complete. Raises ProviderError.

    Some servers do not stream, though asked to, and many name the wrong type of content: what the body
    begins with tells a stream from an answer in one piece, which is as good.
    """
    try:
        return await _read_any_form(body, content_type, answer, failures)
    except BaseException as error:
        answer.tell_usage()
        if isinstance(error, httpx2.HTTPError):
            raise failures.explain_unreachable(error, started=answer.started) from error
        raise


async def _read_any_form(
    body: AsyncIterator[bytes], content_type: str, answer: AnswerReader, failures: Failures
) -> LlmResponse:
    kind = content_type.partition(";")[0].strip().lower()
    opening = await _read_opening(body)
    first = opening[:1]
    if kind in _NO_ANSWERS or first == b"<" or (kind == _PLAIN and not _may_begin_a_stream(opening)):
        raise failures.explain_missing_stream(
            content_type, opening + await _read_up_to(_LONGEST_FOREIGN_BODY, body)
        )
    if first in (b"{", b"["):
        whole = opening + await _read_up_to(_LONGEST_EVENT, body)
        return _answer_in_one_piece(whole, content_type, answer, failures)
    return await _read_streamed_answer(opening, body, answer, failures)


async def _read_streamed_answer(
    opening: bytes, body: AsyncIterator[bytes], answer: AnswerReader, failures: Failures
) -> LlmResponse:
    decoder = EventDecoder()
    _feed(opening, decoder, answer, failures)
    if not answer.complete:
        pace = _ReadingPace()
        async for piece in body:
            was_waited_for = pace.note_piece()
            _feed(piece, decoder, answer, failures)
            if answer.complete:
                break
            if was_waited_for:
                await asyncio.sleep(_GATHER_SECS)
            pace.note_handled()
    if answer.complete:
        await _read_to_the_end(body)
    else:
        for event in decoder.close():
            _read_event(event, answer, failures, may_be_cut=True)
    return answer.build_response()


class _ReadingPace:
    """Tells when pieces of a long answer should wait in the connection for a moment, to be read together.

    To wait for a piece alone costs several times what reading, masking and showing it does, and nobody reads
    as fast as models write. What an answer begins with, and what comes fast, is read at once.
    """

    def __init__(self) -> None:
        self._now = asyncio.get_running_loop().time
        self._begun = self._handled = self._now()
        self._pieces = 0

    def note_piece(self) -> bool:
        """Count a piece; whether it had to be waited for, in an answer that arrives slowly and for long."""
        now = self._now()
        self._pieces += 1
        passed = now - self._begun
        return (
            now - self._handled >= _GATHERED_SECS
            and passed >= _AT_ONCE_SECS
            and self._pieces <= _MOST_PIECES_PER_SEC * passed
        )

    def note_handled(self) -> None:
        """The piece was taken in; the next one is asked for now."""
        self._handled = self._now()


def _feed(piece: bytes, decoder: EventDecoder, answer: AnswerReader, failures: Failures) -> None:
    for event in decoder.feed(piece):
        _read_event(event, answer, failures)
    if decoder.pending > _LONGEST_EVENT:
        raise failures.explain_damage("an event of the stream is too long to be one", started=answer.started)


def _answer_in_one_piece(
    body: bytes, content_type: str, answer: AnswerReader, failures: Failures
) -> LlmResponse:
    try:
        value = parse_foreign_json(body)
    except ValueError as error:
        raise failures.explain_damage("the answer is not valid JSON", started=False) from error
    events = list(answer.map_events(value)) if isinstance(value, dict) else []
    if not events:
        raise failures.explain_missing_stream(content_type, body)
    for event in events:
        _give("", event, answer, failures)
    answer.end()
    return answer.build_response()


def _read_event(
    event: ServerEvent, answer: AnswerReader, failures: Failures, *, may_be_cut: bool = False
) -> None:
    data = event.data.strip()
    if answer.complete or not data or event.name in _SIGNS_OF_LIFE:
        return
    if data.startswith(("[DONE]", '"[DONE]')):
        answer.end()
        return
    try:
        value = parse_foreign_json(data)
    except ValueError as error:
        if event.name == "error":
            raise failures.explain_reported(data, started=answer.started) from error
        what = (
            "the connection ended in the middle of the answer"
            if may_be_cut
            else "an event of the stream is not valid JSON"
        )
        raise failures.explain_damage(what, started=answer.started) from error
    if value is None:
        return
    if isinstance(value, str) and event.name == "error":
        raise failures.explain_reported(value, started=answer.started)
    if not isinstance(value, dict):
        raise failures.explain_damage("an event of the stream is not a JSON object", started=answer.started)
    _give(event.name, value, answer, failures)


def _give(name: str, event: JsonObject, answer: AnswerReader, failures: Failures) -> None:
    try:
        answer.read_event(name, event)
    except WrongKindError as error:
        what = f"an event of the stream is malformed: {error}"
        raise failures.explain_damage(what, started=answer.started) from error


def _may_begin_a_stream(opening: bytes) -> bool:
    return opening.startswith((b"{", b"[", *_FIELDS)) or any(each.startswith(opening) for each in _FIELDS)


async def _read_opening(body: AsyncIterator[bytes]) -> bytes:
    """The first piece of the body that says anything, from where it does; "" where none does."""
    async for piece in body:
        if said := piece.lstrip(_BLANK):
            return said
    return b""


async def _read_to_the_end(body: AsyncIterator[bytes]) -> None:
    """Read what is left, so that the connection can be used again; a server that keeps it open is left alone.

    The answer is whole by now: whatever the connection still does cannot spoil it.
    """
    with contextlib.suppress(httpx2.HTTPError, TimeoutError):
        async with asyncio.timeout(_LINGER_SECS):
            async for _ in body:
                continue


async def _read_up_to(most: int, body: AsyncIterator[bytes]) -> bytes:
    """The body, or its beginning where it is longer than `most` bytes."""
    read = bytearray()
    async for piece in body:
        read += piece
        if len(read) > most:
            break
    return bytes(read)
