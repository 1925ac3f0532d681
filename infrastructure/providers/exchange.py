"""Reading one answer off an open HTTP response."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterable
from typing import Protocol

import httpx2

from domain.json_value import JsonObject
from domain.response import LlmResponse
from infrastructure.providers.event_stream import EventDecoder, ServerEvent
from infrastructure.providers.failures import Failures

_IN_ONE_PIECE = "application/json"
_NO_ANSWERS = ("text/html",)
_LONGEST_FOREIGN_BODY = 64_000
_LONGEST_EVENT = 32_000_000
_LINGER_SECS = 0.1


class Answer(Protocol):
    """An answer that is built up from events."""

    started: bool
    complete: bool

    def take(self, name: str, event: JsonObject) -> None:
        """Take one event. Raises ProviderError."""
        ...

    def end(self) -> None:
        """Take note of the mark `[DONE]`, or of the end of an answer in one piece."""
        ...

    def events_of(self, body: JsonObject) -> Iterable[JsonObject]:
        """The events that would have told an answer that came in one piece; none where it is no answer."""
        ...

    def response(self) -> LlmResponse:
        """The whole answer. Raises ProviderError when it is not whole."""
        ...


async def read_answer(
    body: AsyncIterator[bytes], content_type: str, answer: Answer, failures: Failures
) -> LlmResponse:
    """Feed a response's body to `answer` until that is complete. Raises ProviderError or httpx2.HTTPError.

    Some servers do not stream, though asked to: their answer in one piece is as good.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == _IN_ONE_PIECE:
        return _answer_in_one_piece(await _up_to(_LONGEST_EVENT, body), content_type, answer, failures)
    if kind in _NO_ANSWERS:
        raise failures.no_stream(content_type, await _up_to(_LONGEST_FOREIGN_BODY, body))
    decoder = EventDecoder()
    async for piece in body:
        for event in decoder.feed(piece):
            _take(event, answer, failures)
        if decoder.pending > _LONGEST_EVENT:
            raise failures.damaged("an event of the stream is too long to be one", started=answer.started)
        if answer.complete:
            await _read_to_the_end(body)
            return answer.response()
    for event in decoder.close():
        _take(event, answer, failures)
    return answer.response()


def _answer_in_one_piece(body: bytes, content_type: str, answer: Answer, failures: Failures) -> LlmResponse:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise failures.damaged("the answer is not valid JSON", started=False) from error
    events = list(answer.events_of(value)) if isinstance(value, dict) else []
    if not events:
        raise failures.no_stream(content_type, body)
    for event in events:
        answer.take("", event)
    answer.end()
    return answer.response()


def _take(event: ServerEvent, answer: Answer, failures: Failures) -> None:
    if event.data.strip() == "[DONE]":
        answer.end()
        return
    try:
        value = json.loads(event.data)
    except (ValueError, RecursionError) as error:
        raise failures.damaged("an event of the stream is not valid JSON", started=answer.started) from error
    if not isinstance(value, dict):
        raise failures.damaged("an event of the stream is not a JSON object", started=answer.started)
    answer.take(event.name, value)


async def _read_to_the_end(body: AsyncIterator[bytes]) -> None:
    """Read what is left, so that the connection can be used again; a server that keeps it open is left alone.

    The answer is whole by now: whatever the connection still does cannot spoil it.
    """
    with contextlib.suppress(httpx2.HTTPError, TimeoutError):
        async with asyncio.timeout(_LINGER_SECS):
            async for _ in body:
                continue


async def _up_to(most: int, body: AsyncIterator[bytes]) -> bytes:
    """The body, or its beginning where it is longer than `most` bytes."""
    read = bytearray()
    async for piece in body:
        read += piece
        if len(read) > most:
            break
    return bytes(read)
