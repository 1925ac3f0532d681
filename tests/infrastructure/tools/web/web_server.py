"""A web server on the loopback interface: real sockets, one scripted behaviour per path."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Self

from quorum.infrastructure.address_guard import AddressGuard

LOOPBACK = ip_address("127.0.0.1")
Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer. Without `length`, none is stated and the end of the connection ends the body."""

    body: bytes = b""
    type: str = "text/plain; charset=utf-8"
    status: str = "200 OK"
    headers: Mapping[str, str] = field(default_factory=dict)
    length: bool = True

    async def __call__(self, writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {self.status}", *(f"{name}: {value}" for name, value in self.headers.items())]
        if self.type:
            lines.append(f"Content-Type: {self.type}")
        if self.length:
            lines.append(f"Content-Length: {len(self.body)}")
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + self.body)
        await writer.drain()


def redirect(to: str, status: str = "302 Found") -> Answer:
    return Answer(status=status, headers={"Location": to})


async def drip(writer: asyncio.StreamWriter) -> None:
    """A byte now and then, for ever."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


async def flood(writer: asyncio.StreamWriter) -> None:
    """As much as the reader takes, for ever."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        writer.write(b"x" * 65_536)
        await writer.drain()


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Nothing at all."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it arrived; `server_name` is what the TLS handshake named."""

    target: str
    headers: Mapping[str, str]
    server_name: str | None


class WebServer:
    """Serves its pages.

    `began` is set when a request is there, `hung_up` when a client left before a behaviour had ended.
    """

    def __init__(self, pages: Mapping[str, Behaviour], certificates: ssl.SSLContext | None = None) -> None:
        self.pages = dict(pages)
        self.asked: list[Asked] = []
        self.connections = 0
        self.began = asyncio.Event()
        self.hung_up = asyncio.Event()
        self._certificates = certificates
        self._server_name: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        if self._certificates is not None:
            self._certificates.sni_callback = self._note_name
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._certificates)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def at(self, path: str, host: str = "docs.site.net") -> str:
        """The address of a page, under any name."""
        return f"{'https' if self._certificates else 'http'}://{host}:{self.port}{path}"

    @property
    def targets(self) -> list[str]:
        """What was asked for, in order."""
        return [asked.target for asked in self.asked]

    def _note_name(self, _socket: object, name: str | None, _context: object) -> None:
        self._server_name = name

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            target = head[0].split(" ")[1]
            self.asked.append(Asked(target, headers, self._server_name))
            self.began.set()
            await self.pages[target.partition("?")[0]](writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.hung_up.set()
        finally:
            writer.close()


@dataclass
class Names:
    """A resolver whose answers are written down; of several answers for a name each is given once."""

    answers: dict[str, list[list[str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        left = self.answers.get(host, [["127.0.0.1"]])
        return left.pop(0) if len(left) > 1 else left[0]


def a_guard(names: Names | None = None, *allowed: str) -> AddressGuard:
    """A guard that lets the loopback address of the tests pass, and resolves every name to it."""
    return AddressGuard(
        names or Names(), allowed=frozenset({LOOPBACK, *(ip_address(address) for address in allowed)})
    )
