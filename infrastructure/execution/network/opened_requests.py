"""HTTP/1.1 between a client and a server whose TLS is opened: request for request, bodies as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import TypeAlias, TypeVar

import h11

from quorum.infrastructure.execution.network.command_secrets import CommandSecret
from quorum.infrastructure.execution.network.proxy_request import LONGEST_HEAD, TlsStream

Prepare: TypeAlias = Callable[[h11.Request], h11.Request]
_One = TypeVar("_One")
_Other = TypeVar("_Other")


class HttpSide:
    """One of the two connections, in the part of a server or of a client."""

    def __init__(self, stream: TlsStream, role: type[h11.CLIENT] | type[h11.SERVER]) -> None:
        self.stream = stream
        self.http = h11.Connection(role, max_incomplete_event_size=LONGEST_HEAD)

    async def read(self) -> h11.Event | None:
        """What comes next; None where nothing may come before the other end has answered."""
        while not isinstance(event := self.http.next_event(), h11.Event):
            if event is h11.PAUSED:
                return None
            self.http.receive_data(await self.stream.read())
        return event

    async def await_more(self) -> None:
        """Until the other end says anything beyond the message that has ended, or that this was all."""
        more, is_over = self.http.trailing_data
        if not more and not is_over:
            self.http.receive_data(await self.stream.read())

    @property
    def has_said_all(self) -> bool:
        return self.http.trailing_data == (b"", True)

    async def write(self, event: h11.Event) -> None:
        if data := self.http.send(event):
            await self.stream.write(data)


def take_sides(client: TlsStream, server: TlsStream) -> tuple[HttpSide, HttpSide]:
    """The part of the server for a client, and that of its client."""
    return HttpSide(client, h11.SERVER), HttpSide(server, h11.CLIENT)


async def pass_requests(
    theirs: HttpSide, ours: HttpSide, prepare: Prepare, answers: AnswerFilter, *, half_closed_secs: float
) -> None:
    """Pass requests on, as `prepare` changes them, and answers without secrets, until one end is done. A client
    that has said all, and may be gone, has so long for its answer.

    What `prepare` raises passes, and the request with it has gone nowhere. Raises OSError and
    h11.ProtocolError where an end breaks off or speaks no HTTP.
    """
    request = await theirs.read()
    while isinstance(request, h11.Request):
        await ours.write(prepare(request))
        await _exchange(theirs, ours, answers, half_closed_secs)
        if theirs.http.our_state is h11.SWITCHED_PROTOCOL:
            await _relay_both(theirs, ours)
            return
        if any(
            state is not h11.DONE
            for side in (theirs, ours)
            for state in (side.http.our_state, side.http.their_state)
        ):
            return
        theirs.http.start_next_cycle()
        ours.http.start_next_cycle()
        request = await _await_next(theirs, ours)


async def refuse_request(side: HttpSide, reason: str) -> None:
    """Answer so the request of a client that was read last, or the one that comes."""
    if side.http.our_state is h11.IDLE:
        await side.read()
    if side.http.our_state is not h11.SEND_RESPONSE:
        return
    body = f"quorum: {reason}\n".encode("utf-8", "replace")
    headers = [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("Connection", "close"),
    ]
    await side.write(h11.Response(status_code=403, headers=headers))
    await side.write(h11.Data(data=body))
    await side.write(h11.EndOfMessage())


async def _await_next(theirs: HttpSide, ours: HttpSide) -> h11.Event | None:
    """The next request; None where the server ends before: its client learns so, and asks elsewhere."""
    async with _running(theirs.read(), ours.await_more()) as (reading, ending):
        await asyncio.wait((reading, ending), return_when=asyncio.FIRST_COMPLETED)
        return None if ending.done() else reading.result()


async def _exchange(theirs: HttpSide, ours: HttpSide, answers: AnswerFilter, half_closed_secs: float) -> None:
    """The body of a request, and the answer, which may be there before the body has ended."""
    async with _running(_send(theirs, ours), _pass_answer(ours, theirs, answers)) as (sending, answering):
        await asyncio.wait((sending, answering), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            sending.result()
        async with asyncio.timeout(half_closed_secs if theirs.has_said_all else None):
            await answering


@asynccontextmanager
async def _running(
    one: Coroutine[None, None, _One], other: Coroutine[None, None, _Other]
) -> AsyncIterator[tuple[asyncio.Task[_One], asyncio.Task[_Other]]]:
    """Both at once, until the context is left."""
    tasks = asyncio.create_task(one), asyncio.create_task(other)
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _send(theirs: HttpSide, ours: HttpSide) -> None:
    """The body of a request, and what shows whether its client is still there."""
    await _pass_body(theirs, ours)
    await theirs.await_more()


async def _pass_body(theirs: HttpSide, ours: HttpSide) -> None:
    while isinstance(event := await theirs.read(), h11.Data):
        await ours.write(event)
    if isinstance(event, h11.EndOfMessage):
        await ours.write(event)


async def _pass_answer(ours: HttpSide, theirs: HttpSide, answers: AnswerFilter) -> None:
    while True:
        match await ours.read():
            case h11.InformationalResponse() | h11.Response() as head:
                await theirs.write(_clean_head(head, answers))
            case h11.Data(data=data):
                await theirs.write(h11.Data(data=answers.feed(bytes(data))))
            case h11.EndOfMessage() as end:
                await theirs.write(h11.Data(data=answers.end()))
                headers = [(name, answers.clean(value)) for name, value in end.headers]
                await theirs.write(h11.EndOfMessage(headers=headers))
                return
            case _:
                raise EOFError("the server ended without an answer")
        if ours.http.their_state is h11.SWITCHED_PROTOCOL:
            return


def _clean_head(
    head: h11.InformationalResponse | h11.Response, answers: AnswerFilter
) -> h11.InformationalResponse | h11.Response:
    return type(head)(
        status_code=head.status_code,
        headers=[(name, answers.clean(value)) for name, value in head.headers.raw_items()],
        reason=answers.clean(bytes(head.reason)),
    )


async def _relay_both(theirs: HttpSide, ours: HttpSide) -> None:
    """Both have left HTTP, as for a web socket."""
    async with _running(_relay(theirs, ours), _relay(ours, theirs)) as relays:
        await asyncio.gather(*relays)


async def _relay(one: HttpSide, other: HttpSide) -> None:
    early, _ = one.http.trailing_data
    await other.stream.write(early)
    while data := await one.stream.read():
        await other.stream.write(data)
    await other.stream.write_eof()


class AnswerFilter:
    """Has in the place of each secret what the command knows, or as many asterisks: lengths stay what they are.

    What is compressed or encoded otherwise passes.
    """

    def __init__(self, secrets: Iterable[CommandSecret]) -> None:
        self._words: dict[bytes, bytes] = {}
        self._held = b""
        for each in secrets:
            is_as_long = len(each.placeholder) == len(each.value)
            self.hide(each.value.encode(), each.placeholder.encode() if is_as_long else b"")

    def hide(self, word: bytes, known: bytes = b"") -> None:
        """Take this out, too."""
        self._words[word] = known or b"*" * len(word)

    def clean(self, text: bytes) -> bytes:
        """A whole text without secrets."""
        for word, known in self._words.items():
            text = text.replace(word, known)
        return text

    def feed(self, piece: bytes) -> bytes:
        """What of a longer text may be passed on: its end is held back where a secret may begin there."""
        text = self.clean(self._held + piece)
        start = min(self._find_beginnings(text), default=len(text))
        self._held = text[start:]
        return text[:start]

    def end(self) -> bytes:
        """The rest of the longer text."""
        rest, self._held = self._held, b""
        return rest

    def _find_beginnings(self, text: bytes) -> Iterator[int]:
        """Where at the end a part of a secret stands that may go on."""
        for word in self._words:
            place = max(0, len(text) - len(word) + 1)
            while (place := text.find(word[:1], place)) >= 0:
                if word.startswith(text[place:]):
                    yield place
                    break
                place += 1
