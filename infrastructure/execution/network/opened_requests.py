"""HTTP/1.1 between a client and a server whose TLS is opened: request for request, bodies as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

import h11

from quorum.infrastructure.execution.network.answer_filter import AnswerFilter
from quorum.infrastructure.execution.network.proxy_request import LONGEST_HEAD
from quorum.infrastructure.execution.network.tls_stream import TlsStream

Prepare: TypeAlias = Callable[[h11.Request], h11.Request]


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

    async def write(self, event: h11.Event) -> None:
        if data := self.http.send(event):
            await self.stream.write(data)


def take_sides(client: TlsStream, server: TlsStream) -> tuple[HttpSide, HttpSide]:
    """The part of the server for a client, and that of its client."""
    return HttpSide(client, h11.SERVER), HttpSide(server, h11.CLIENT)


async def pass_requests(theirs: HttpSide, ours: HttpSide, prepare: Prepare, answers: AnswerFilter) -> None:
    """Pass requests on, as `prepare` changes them, and answers without secrets, until one end is done.

    What `prepare` raises passes, and the request with it has gone nowhere. Raises OSError and
    h11.ProtocolError where an end breaks off or speaks no HTTP.
    """
    while isinstance(request := await theirs.read(), h11.Request):
        await ours.write(prepare(request))
        await _exchange(theirs, ours, answers)
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


async def _exchange(theirs: HttpSide, ours: HttpSide, answers: AnswerFilter) -> None:
    """The body of a request, and the answer, which may be there before the body has ended."""
    sending = asyncio.ensure_future(_pass_body(theirs, ours))
    answering = asyncio.ensure_future(_pass_answer(ours, theirs, answers))
    try:
        await asyncio.wait((sending, answering), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            await sending
        await answering
    finally:
        for task in (sending, answering):
            task.cancel()
        await asyncio.gather(sending, answering, return_exceptions=True)


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
    relays = [asyncio.ensure_future(_relay(one, other)) for one, other in ((theirs, ours), (ours, theirs))]
    try:
        await asyncio.gather(*relays)
    finally:
        for task in relays:
            task.cancel()
        await asyncio.gather(*relays, return_exceptions=True)


async def _relay(one: HttpSide, other: HttpSide) -> None:
    early, _ = one.http.trailing_data
    await other.stream.write(early)
    while data := await one.stream.read():
        await other.stream.write(data)
    await other.stream.write_eof()
