"""The proxy where it opens TLS: a real client and a real server, both with certificates of their own."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import pytest

from quorum.domain.shell.network_hosts import HostList, HostPattern, sort_entries
from quorum.infrastructure.execution.network import host_proxy
from quorum.infrastructure.execution.network.command_secrets import CommandSecret, HandedSecrets
from quorum.infrastructure.execution.network.host_proxy import HostProxy
from quorum.infrastructure.execution.network.proxy_request import TlsStream
from quorum.infrastructure.execution.network.session_authority import SessionAuthority
from tests.support.loopback_net import Answer, Authority, RecordingServer

HOST = "api.example.org"
VALUE, PLACEHOLDER = "ghp_realrealrealreal0001", "ghp_bogusbogusbogusb0002"
OTHER = CommandSecret(
    name="OTHER", value="other-real-0001", placeholder="other-bogus-0002", hosts=(HostPattern("other.example"),)
)
TOKEN = CommandSecret(name="TOKEN", value=VALUE, placeholder=PLACEHOLDER, hosts=(HostPattern(HOST),))
Serve: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Client:
    """A program in the sandbox: it has the placeholder, and trusts the authority of the session."""

    def __init__(self, proxy: HostProxy, port: int, authority: SessionAuthority) -> None:
        self.proxy, self._port = proxy, port
        self.context = ssl.create_default_context(cadata=authority.pem.decode())

    @asynccontextmanager
    async def connect(self, host: str = HOST) -> AsyncIterator[TlsStream]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            writer.write(f"CONNECT {host}:443 HTTP/1.1\r\n\r\n".encode())
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            stream = TlsStream(reader, writer, self.context, server_name=host)
            try:
                await stream.shake_hands()
            except ssl.SSLError:
                await reader.read()  # the proxy has heard of it, too
                raise
            yield stream
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def ask(self, *headers: str, path: str = "/", host: str = HOST) -> bytes:
        async with self.connect() as stream:
            lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close", *headers, "", ""]
            await stream.write("\r\n".join(lines).encode())
            return await read_all(stream)


async def read_all(stream: TlsStream) -> bytes:
    answer = b""
    while data := await stream.read():
        answer += data
    return answer


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@asynccontextmanager
async def a_proxy(port: int, trusted: Authority) -> AsyncIterator[Client]:
    """A proxy that reaches a server on this port by any name, and trusts this authority."""

    async def connect(host: str, _port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(host, port)

    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return ("127.0.0.1",)

    names, ranges = sort_entries([HOST, "plain.example", "127.0.0.1"])
    ours = SessionAuthority()
    listener = socket.create_server(("127.0.0.1", 0))
    proxy_port = listener.getsockname()[1]
    proxy = HostProxy(
        HostList(allowed=names, ranges=ranges),
        handed=HandedSecrets(secrets=(TOKEN, OTHER), authority=ours),
        build_context=lambda: ssl.create_default_context(cafile=str(trusted.file)),
        resolve=resolve,
        connect=connect,
    )
    proxy.begin(listener.detach())
    try:
        yield Client(proxy, proxy_port, ours)
    finally:
        proxy.end()
        for thread in threading.enumerate():
            if thread.name == "host-proxy":
                await asyncio.to_thread(thread.join)


@asynccontextmanager
async def a_server(authority: Authority, *answers: Answer, host: str = HOST) -> AsyncIterator[RecordingServer]:
    async with RecordingServer(*answers, context=authority.server_context(host)) as server:
        yield server


@asynccontextmanager
async def a_raw_server(authority: Authority, serve: Serve) -> AsyncIterator[int]:
    has_ended = asyncio.Event()

    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):  # the proxy ended first
            await serve(reader, writer)
        writer.close()
        has_ended.set()

    async with await asyncio.start_server(
        serve_and_close, "127.0.0.1", 0, ssl=authority.server_context(HOST)
    ) as server:
        yield server.sockets[0].getsockname()[1]
        await has_ended.wait()


async def test_a_header_reaches_its_host_with_the_secret_in_it(authority: Authority) -> None:
    async with (
        a_server(authority, Answer(pieces=[b"hel", b"lo"])) as server,
        a_proxy(server.port, authority) as client,
    ):
        answer = await client.ask(f"Authorization: Bearer {PLACEHOLDER}", f"X-Key: {PLACEHOLDER}")

        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"hel" in answer
        assert server.asked[0].headers["authorization"] == f"Bearer {VALUE}"
        assert server.asked[0].headers["x-key"] == VALUE
        assert client.proxy.used_secrets == (f"TOKEN for {HOST}",)


async def test_a_login_in_base64_holds_the_secret_too(authority: Authority) -> None:
    login = base64.b64encode(f"me:{PLACEHOLDER}".encode()).decode()
    async with (
        a_server(authority, Answer(pieces=[b"x"])) as server,
        a_proxy(server.port, authority) as client,
    ):
        await client.ask(f"Authorization: Basic {login}")

        sent = server.asked[0].headers["authorization"].removeprefix("Basic ")
        assert base64.b64decode(sent) == f"me:{VALUE}".encode()


async def test_an_answer_is_passed_on_as_it_is(authority: Authority) -> None:
    async with (
        a_server(authority, Answer(pieces=[PLACEHOLDER.encode()], headers={"x-echo": PLACEHOLDER})) as server,
        a_proxy(server.port, authority) as client,
    ):
        answer = await client.ask()

        assert answer.count(PLACEHOLDER.encode()) == 2
        assert VALUE.encode() not in answer


LOGIN = base64.b64encode(f"me:{PLACEHOLDER}".encode()).decode()


@pytest.mark.parametrize("framing", ["chunked", "as a whole", "until its end"])
@pytest.mark.parametrize("header", [f"X-Request-Id: {PLACEHOLDER}", f"Authorization: Basic {LOGIN}"])
async def test_a_host_that_repeats_what_it_got_hands_no_secret_to_the_command(
    authority: Authority, header: str, framing: str
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got = (await reader.readuntil(b"\r\n\r\n")).splitlines()[2]  # the first after Host
        names = {"chunked": b"Transfer-Encoding: chunked", "as a whole": b"Content-Length: %d" % len(got)}
        writer.write(b"HTTP/1.1 200 OK\r\n%s\r\n" % got)
        writer.write(names.get(framing, b"Connection: close") + b"\r\n\r\n")
        for at in range(len(got)):
            piece = got[at : at + 1]
            writer.write(b"1\r\n%s\r\n" % piece if framing == "chunked" else piece)
            await writer.drain()
        writer.write(b"0\r\nX-Trailer: %s\r\n\r\n" % VALUE.encode() if framing == "chunked" else b"")

    async with (
        a_raw_server(authority, serve) as port,
        a_proxy(port, authority) as client,
        client.connect() as stream,
    ):
        request = f"TRACE / HTTP/1.1\r\n{header}\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"
        await stream.write(request.encode())
        answer = await read_all(stream)

        known = header if PLACEHOLDER in header else header.replace(LOGIN, "*" * len(LOGIN))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert known.encode() in head
        assert known.encode() in (b"".join(body.split(b"\r\n")[1::2]) if b"chunked" in head else body)
        assert VALUE.encode() not in answer
        assert client.proxy.used_secrets == (f"TOKEN for {HOST}",)


async def test_a_program_that_speaks_the_first_http_breaks_off_what_that_cannot_say(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-T: 1\r\n\r\n")

    async with (
        a_raw_server(authority, serve) as port,
        a_proxy(port, authority) as client,
        client.connect() as stream,
    ):
        await stream.write(f"GET / HTTP/1.0\r\nHost: {HOST}\r\n\r\n".encode())
        with suppress(OSError):
            await read_all(stream)

        assert "does not speak HTTP/1.1" in client.proxy.asked[-1].refusal
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("headers", "path", "host", "said"),
    [
        (["X: other-bogus-0002"], "/", HOST, "what stands for OTHER was sent where it is not put in"),
        ([], f"/?key={PLACEHOLDER}", HOST, "what stands for TOKEN was sent where it is not put in"),
        ([f"X: {PLACEHOLDER}"], "/", "other.example", "the header Host of a request names another one"),
        ([f"X: {PLACEHOLDER}"], f"https://{HOST}/", HOST, "a request asks for another address"),
    ],
)
async def test_a_request_that_would_take_a_placeholder_elsewhere_goes_nowhere_and_is_said(
    authority: Authority, headers: list[str], path: str, host: str, said: str
) -> None:
    async with a_server(authority) as server, a_proxy(server.port, authority) as client:
        answer = await client.ask(*headers, path=path, host=host)

        assert answer.startswith(b"HTTP/1.1 403 ")
        assert said.encode() in answer
        assert said in client.proxy.asked[-1].refusal
        assert server.asked == []


@pytest.mark.parametrize("header", [f"X: {PLACEHOLDER}", f"Authorization: Basic {LOGIN}"])
async def test_a_plain_request_with_a_placeholder_is_refused(authority: Authority, header: str) -> None:
    async with a_server(authority) as server, a_proxy(server.port, authority) as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", client._port)
        writer.write(f"GET http://plain.example/ HTTP/1.1\r\n{header}\r\n\r\n".encode())

        assert (await reader.read()).startswith(b"HTTP/1.1 403 ")
        writer.close()
        assert server.asked == []


@pytest.mark.parametrize("flaw", ["another name", "another authority", "outdated"])
async def test_a_server_that_is_not_the_host_gets_nothing(
    authority: Authority, tmp_path: Path, flaw: str
) -> None:
    (tmp_path / "evil").mkdir()
    signer = Authority(tmp_path / "evil") if flaw == "another authority" else authority
    name = "evil.example" if flaw == "another name" else HOST
    context = signer.server_context(name, days_valid=-1 if flaw == "outdated" else 1)
    async with RecordingServer(context=context) as server, a_proxy(server.port, authority) as client:
        answer = await client.ask(f"Authorization: {PLACEHOLDER}")

        assert b"its certificate is not valid" in answer
        assert "its certificate is not valid" in client.proxy.asked[-1].refusal
        assert server.asked == []


async def test_a_program_that_does_not_trust_the_session_is_told_how_it_could(authority: Authority) -> None:
    async with a_server(authority) as server, a_proxy(server.port, authority) as client:
        client.context = ssl.create_default_context(cafile=str(authority.file))

        with pytest.raises(ssl.SSLCertVerificationError):
            await client.ask()
        assert "SSL_CERT_FILE" in client.proxy.asked[-1].refusal


async def test_one_connection_serves_many_requests(authority: Authority) -> None:
    answers = [Answer(pieces=[b"first"]), Answer(pieces=[b"second"])]
    async with a_server(authority, *answers) as server, a_proxy(server.port, authority) as client:
        async with client.connect() as stream:
            answered = b""
            for number in range(2):
                await stream.write(f"GET /{number} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
                answered = b""
                while not answered.endswith(b"0\r\n\r\n"):
                    answered += await stream.read()

        assert b"second" in answered
        assert [each.target for each in server.asked] == ["/0", "/1"]


async def test_a_large_upload_passes_piece_by_piece_and_is_answered(authority: Authority) -> None:
    size = 5_000_000
    async with (
        a_server(authority, Answer(pieces=[b"ok"])) as server,
        a_proxy(server.port, authority) as client,
        client.connect() as stream,
    ):
        head = f"PUT / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n"
        await stream.write(head.encode())
        for _ in range(50):
            await stream.write(b"x" * (size // 50))

        assert (await read_all(stream)).startswith(b"HTTP/1.1 200 ")
        assert len(server.asked[0].body) == size


async def test_a_web_socket_passes_both_ways_once_the_server_agreed(authority: Authority) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert VALUE.encode() in head
        writer.write(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nearly")
        writer.write((await reader.readexactly(4)).upper())

    async with (
        a_raw_server(authority, serve) as port,
        a_proxy(port, authority) as client,
        client.connect() as stream,
    ):
        lines = ["GET / HTTP/1.1", f"Host: {HOST}", "Upgrade: websocket", "Connection: Upgrade"]
        await stream.write("\r\n".join([*lines, f"Authorization: {PLACEHOLDER}", "", ""]).encode())
        answered = b""
        while not answered.endswith(b"early"):
            answered += await stream.read()
        await stream.write(b"ping")

        assert answered.startswith(b"HTTP/1.1 101 ")
        assert await stream.read() == b"PING"


async def test_a_server_that_refuses_early_is_heard_before_the_body_has_ended(authority: Authority) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        await writer.drain()
        await reader.read()

    async with (
        a_raw_server(authority, serve) as port,
        a_proxy(port, authority) as client,
        client.connect() as stream,
    ):
        await stream.write(f"PUT / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 9\r\n\r\nab".encode())

        assert (await read_all(stream)).endswith(b"no")


async def test_an_answer_that_is_cut_does_not_look_whole(authority: Authority) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab")

    async with a_raw_server(authority, serve) as port, a_proxy(port, authority) as client:
        with pytest.raises(OSError):
            await client.ask()


@pytest.mark.parametrize("hangs", [False, True])
async def test_a_server_without_tls_is_said(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, hangs: bool
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if hangs:
            with suppress(OSError):
                await reader.read()
                await reader.read()
        writer.close()

    if hangs:
        monkeypatch.setattr(host_proxy, "_HEAD_SECS", 0.2)
    async with (
        await asyncio.start_server(serve, "127.0.0.1", 0) as server,
        a_proxy(server.sockets[0].getsockname()[1], authority) as client,
    ):
        answer = await client.ask()

        refusal = client.proxy.asked[-1].refusal
        assert refusal.encode() in answer
        assert refusal.startswith("its TLS did not begin in time" if hangs else "its ")


async def test_a_server_that_speaks_another_protocol_is_named_as_such(authority: Authority) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 smtp.example.org ready\r\n\r\n")
        await reader.read()

    async with a_raw_server(authority, serve) as port, a_proxy(port, authority) as client:
        with pytest.raises(OSError):
            await client.ask()
        assert "does not speak HTTP/1.1" in client.proxy.asked[-1].refusal


async def test_a_client_learns_of_a_server_that_ends_before_it_asks_once_more(authority: Authority) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await writer.drain()

    async with (
        a_raw_server(authority, serve) as port,
        a_proxy(port, authority) as client,
        client.connect() as stream,
    ):
        await stream.write(f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        async with asyncio.timeout(60):
            answer = await read_all(stream)

    assert answer.endswith(b"\r\n\r\nok")


@pytest.mark.parametrize("says_so", [False, True], ids=["silently", "with its last word"])
async def test_a_client_that_goes_before_its_answer_leaves_no_connection(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, *, says_so: bool
) -> None:
    monkeypatch.setattr(host_proxy, "_HALF_CLOSED_SECS", 0.01)
    asked, is_left = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await reader.read()
        is_left.set()

    async with a_raw_server(authority, serve) as port, a_proxy(port, authority) as client:
        async with client.connect() as stream:
            await stream.write(f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
            await asked.wait()
            if says_so:
                await stream.write_eof()
        async with asyncio.timeout(60):
            await is_left.wait()


async def test_a_client_that_sends_on_reads_its_answer_afterwards(authority: Authority) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\nConnection: close\r\n\r\nlarge")
        await reader.read()

    async with (
        a_raw_server(authority, serve) as port,
        a_proxy(port, authority) as client,
        client.connect() as stream,
    ):
        await stream.write(f"POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {1 << 30}\r\n\r\n".encode())
        with suppress(OSError):
            for _ in range(64):
                await stream.write(bytes(65536))
        answer = await read_all(stream)

    assert answer.endswith(b"large")


async def test_a_client_that_speaks_another_protocol_to_a_host_that_is_refused_is_named(
    authority: Authority, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    async with (
        a_server(authority) as server,
        a_proxy(server.port, Authority(tmp_path / "other")) as client,
        client.connect() as stream,
    ):
        await stream.write(b"EHLO mail.example.org\r\n\r\n")
        with pytest.raises(OSError):
            await read_all(stream)

        assert "does not speak HTTP/1.1" in client.proxy.asked[-1].refusal
