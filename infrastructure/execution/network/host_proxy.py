"""The proxy of one command: its only way to the network, which leads to the hosts of a list.

It listens in the network of the command and connects in ours. TLS passes unopened, but to hosts that secrets
are put in for: that it goes to the host which was asked for shows in the name that its first message bears.
What a server does behind that name, such as serving another one's pages, does not show.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from quorum.domain.shell.network_hosts import USUAL_PORTS, AskedHost, HostList
from quorum.infrastructure.address_guard import (
    Address,
    Resolver,
    explain_refusal,
    is_own_address,
    resolve_with_system,
)
from quorum.infrastructure.execution.network.command_secrets import NOTHING_HANDED, HandedSecrets
from quorum.infrastructure.execution.network.proxy_request import (
    LONGEST_HEAD,
    BadRequest,
    ProxyRequest,
    ProxyTarget,
    TlsStream,
    parse_request,
)

if TYPE_CHECKING:  # loaded with the first connection that is opened
    import h11

    from quorum.infrastructure.execution.network.opened_requests import AnswerFilter


_MOST_CONNECTIONS = 256
# Of the files that this process may open, one in so many for the clients of one proxy; as many go to servers.
_SHARE_OF_FILES = 8
_PAUSE_SECS = 0.2
_MOST_SEEN = 200
_HEAD_SECS = 30.0
_CONNECT_SECS = 15.0
# A client that is gone looks like one that has said all: without a limit each would keep two connections.
_HALF_CLOSED_SECS = 300.0
# How long a client that was answered already may go on to send, and how long it may be silent meanwhile.
_HEARD_OUT_SECS, _SILENT_SECS = 30.0, 5.0
_CHUNK = 65_536
_HTTPS_PORT = 443
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
Connect: TypeAlias = Callable[[str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
NOT_LISTED = "nothing allows it"


class Refused(Exception):
    """A host is not reached; the text is a clause that says why, `status` is what HTTP calls it."""

    def __init__(self, reason: str, status: str = "403 Forbidden") -> None:
        super().__init__(reason)
        self.status = status


class HostProxy:
    """Lets a command reach `hosts`. It has a thread of its own from the first connection on, so that what
    passes through it keeps nothing of ours waiting, and all of it ends with `end`, or with this process.

    `handed` are the secrets that it puts in; to servers that these are for it speaks TLS as `build_context`
    says. `resolve` finds the addresses of a name, `is_own` tells those of this machine, and `connect` reaches
    one.
    """

    def __init__(
        self,
        hosts: HostList,
        *,
        handed: HandedSecrets = NOTHING_HANDED,
        build_context: Callable[[], ssl.SSLContext] = ssl.create_default_context,
        resolve: Resolver = resolve_with_system,
        is_own: Callable[[Address], bool] = is_own_address,
        connect: Connect = asyncio.open_connection,
    ) -> None:
        self._hosts: Final = hosts
        self._handed: Final = handed
        self._build_context = build_context
        self._context: ssl.SSLContext | None = None
        self._resolve = resolve
        self._is_own = is_own
        self._open_connection = connect
        self._listener: socket.socket | None = None
        self._owner: asyncio.AbstractEventLoop | None = None
        self._work: _ProxyWork | None = None
        self._lock = threading.Lock()
        self._seen: dict[AskedHost, None] = {}
        self._more = 0
        self._used: dict[str, None] = {}
        self.failure = ""
        """Why the command has no way to any host, a clause; empty where it has."""

    # ---------------------------------------------------------------- for whoever runs the command

    def begin(self, listener: int) -> None:
        """Serve what connects to a listening socket, whose descriptor is the proxy's from now on."""
        self._listener = socket.socket(fileno=listener)
        self._listener.setblocking(False)
        self._owner = asyncio.get_running_loop()
        self._owner.add_reader(listener, self._start_work)

    def end(self) -> None:
        """Close all connections. Call it in the loop in which it began; a second time does nothing."""
        listener, self._listener = self._listener, None
        if self._work is not None:
            self._work.stop()  # which closes the listener, too
        elif listener is not None and self._owner is not None:
            self._owner.remove_reader(listener.fileno())
            listener.close()

    @property
    def asked(self) -> tuple[AskedHost, ...]:
        """The hosts that were asked for until now, in their order and each once, the first of them."""
        with self._lock:
            return tuple(self._seen)

    @property
    def more(self) -> int:
        """How many requests there were for hosts beyond them."""
        with self._lock:
            return self._more

    @property
    def used_secrets(self) -> tuple[str, ...]:
        """Which secrets were put in for which host, in words."""
        with self._lock:
            return tuple(self._used)

    def _start_work(self) -> None:
        if self._listener is not None and self._owner is not None and self._work is None:
            self._owner.remove_reader(self._listener.fileno())
            self._work = _ProxyWork(self._listener, self._serve)

    # ---------------------------------------------------------------- in the thread of the proxy

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_SECS)
            request = parse_request(head)
        except BadRequest as error:
            await _answer(reader, writer, error.status, f"the request was refused: {error}")
            return
        except asyncio.LimitOverrunError:
            reason = "the request was refused: too long"
            await _answer(reader, writer, "431 Request Header Fields Too Large", reason)
            return
        target = request.target
        try:
            if name := self._handed.find_held(request.head.splitlines()):
                raise Refused(_explain_misplaced(name))
            their_reader, their_writer = await self._connect(target)
        except Refused as refusal:
            self._note(target, str(refusal))
            reason = f"{target.authority} was not reached: {refusal}"
            await _answer(reader, writer, refusal.status, reason)
            return
        try:
            if request.is_tunnel and target.address is None and self._handed.list_for(target.host, target.port):
                await self._serve_opened(target, reader, writer, their_reader, their_writer)
            elif request.is_tunnel:
                await self._serve_tunnel(target, reader, writer, their_reader, their_writer)
            else:
                self._note(target)
                await _pass_on(request, reader, writer, their_reader, their_writer)
        finally:
            their_writer.close()

    async def _serve_tunnel(
        self,
        target: ProxyTarget,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        their_reader: asyncio.StreamReader,
        their_writer: asyncio.StreamWriter,
    ) -> None:
        writer.write(_ESTABLISHED)
        await writer.drain()
        pattern = self._hosts.find_pattern(target.host, target.port)
        is_raw = target.address is not None or (
            pattern is not None and pattern.port not in (None, *USUAL_PORTS)
        )

        async def send() -> None:
            their_writer.write(await self._read_first(target, reader, is_raw=is_raw))
            self._note(target)
            await _relay(reader, their_writer)

        try:  # some servers speak first
            await _run_both(send(), _relay(their_reader, writer))
        except Refused as refusal:
            self._note(target, str(refusal))

    async def _serve_opened(
        self,
        target: ProxyTarget,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        their_reader: asyncio.StreamReader,
        their_writer: asyncio.StreamWriter,
    ) -> None:
        """Take the part of the server, and that of its client, and put in what the command has not."""
        import h11

        from quorum.infrastructure.execution.network.opened_requests import (
            AnswerFilter,
            pass_requests,
            refuse_request,
            take_sides,
        )
        from quorum.infrastructure.execution.network.session_authority import HTTP_1

        writer.write(_ESTABLISHED)
        await writer.drain()
        authority, host = self._handed.authority, target.host
        assert authority is not None, "secrets come with it"
        try:
            hello = await self._read_first(target, reader, is_raw=False)
            client = TlsStream(reader, writer, authority.make_context(host), received=hello)
            await _shake_hands(client, "the program does not trust the certificates that SSL_CERT_FILE names")
            if self._context is None:
                self._context = self._build_context()
                self._context.set_alpn_protocols(HTTP_1)
            server = TlsStream(their_reader, their_writer, self._context, server_name=host)
            theirs, ours = take_sides(client, server)
            answers = AnswerFilter(self._handed.list_for(host, target.port))
            try:
                await _shake_hands(server, "its certificate is not valid")
                self._note(target)
                passing = partial(self._put_in, target, answers)
                await pass_requests(theirs, ours, passing, answers, half_closed_secs=_HALF_CLOSED_SECS)
                with contextlib.suppress(OSError):  # it ended first
                    await server.write_eof()
            except Refused as refusal:
                self._note(target, str(refusal))
                await refuse_request(theirs, f"{target.authority} was not reached: {refusal}")
            await client.write_eof()
            await _hear_out(reader, writer)
        except Refused as refusal:
            self._note(target, str(refusal))
        except h11.ProtocolError as error:
            self._note(target, f"one end does not speak HTTP/1.1: {error}")

    def _put_in(self, target: ProxyTarget, answers: AnswerFilter, request: h11.Request) -> h11.Request:
        """The request with the secrets of this host in its headers. Raises Refused."""
        import h11

        raw = [
            (name, value) for name, value in request.headers.raw_items() if name.lower() != b"proxy-connection"
        ]
        hosts = [value.decode("latin-1").lower() for name, value in raw if name.lower() == b"host"]
        usual = {target.host, f"{target.host}."} if target.port == _HTTPS_PORT else set()
        if len(hosts) != 1 or hosts[0] not in {target.authority, *usual}:
            raise Refused("the header Host of a request names another one")
        if not request.target.startswith(b"/") and request.target != b"*":
            raise Refused("a request asks for another address")
        headers, used = [], list[str]()
        for name, value in raw:
            new, names = self._handed.put_in(value, target.host, target.port)
            headers.append((name, new))
            used += names
            if names and new.lower().startswith(b"basic "):
                answers.hide(new[len(b"basic ") :].strip())
        if held := self._handed.find_held([request.target, *(value for _, value in headers)]):
            raise Refused(_explain_misplaced(held))
        with self._lock:
            self._used |= dict.fromkeys(f"{name} for {target.host}" for name in used)
        return h11.Request(method=request.method, target=request.target, headers=headers)

    async def _read_first(self, target: ProxyTarget, reader: asyncio.StreamReader, *, is_raw: bool) -> bytes:
        """What a client sends first, which has to be TLS to the very host. Where the person named the port it
        may be anything else. Raises Refused."""
        data = b""
        while True:
            try:
                more = await asyncio.wait_for(reader.read(_CHUNK), None if is_raw else _HEAD_SECS)
            except TimeoutError as error:
                raise Refused("it sent nothing") from error
            data += more
            if not data or (is_raw and data[0] != HANDSHAKE):
                return data
            if not more:
                raise Refused("its first message is cut")
            try:
                is_whole, name = find_server_name(data)
            except BadHello as error:
                raise Refused(str(error)) from error
            if is_whole:
                self._require_name(target, name)
                return data
            if len(data) > 2 * LONGEST_HELLO:
                raise Refused("its first message is too long")

    def _require_name(self, target: ProxyTarget, name: str | None) -> None:
        if target.address is not None:
            return
        if name is None:
            raise Refused("its first message names no server")
        if name.lower().removesuffix(".") != target.host:
            raise Refused(f"its first message names {name[:253]}")

    async def _connect(self, target: ProxyTarget) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to an address that was looked at: the name is never resolved again. Raises Refused."""
        addresses = await self._find_addresses(target)
        problem = "it has no address"
        for address in addresses:
            try:
                return await asyncio.wait_for(self._open_connection(str(address), target.port), _CONNECT_SECS)
            except TimeoutError:
                problem = "it does not answer"
            except OSError as error:
                problem = error.strerror or str(error)
        raise Refused(problem, "502 Bad Gateway")

    async def _find_addresses(self, target: ProxyTarget) -> Sequence[Address]:
        if target.address is not None:
            if not self._hosts.is_in_range(target.address):
                raise Refused("it is an address and not a name")
            return (target.address,)
        if self._hosts.find_pattern(target.host, target.port) is None:
            raise Refused(NOT_LISTED)
        from ipaddress import ip_address

        try:
            answers = await self._resolve(target.host, target.port)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise Refused(f"its name cannot be resolved: {reason}", "502 Bad Gateway") from error
        found = tuple(dict.fromkeys(map(ip_address, answers)))
        for address in found:
            if not self._hosts.is_in_range(address):
                kind = explain_refusal(address) or (
                    "an address of this machine" if self._is_own(address) else None
                )
                if kind is not None:
                    raise Refused(f"it leads to {address}, {kind}")
        return found

    def _note(self, target: ProxyTarget, refusal: str = "") -> None:
        host = AskedHost(target.host, target.port, refusal)
        with self._lock:
            if host in self._seen or len(self._seen) < _MOST_SEEN:
                self._seen[host] = None
            else:
                self._more += 1


class _ProxyWork:
    """A thread with a loop that serves a listener until it is stopped."""

    def __init__(
        self,
        listener: socket.socket,
        serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    ) -> None:
        self._listener = listener
        self._serve = serve
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self._clients: set[asyncio.Task[None]] = set()
        threading.Thread(target=self._run, name="host-proxy", daemon=True).start()

    def stop(self) -> None:
        with contextlib.suppress(RuntimeError):  # its loop has ended
            self._loop.call_soon_threadsafe(self._stopped.set)

    def _run(self) -> None:
        with contextlib.closing(self._loop):
            self._loop.run_until_complete(self._serve_all())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())

    async def _serve_all(self) -> None:
        accepting = asyncio.ensure_future(self._accept_all())
        await self._stopped.wait()
        accepting.cancel()
        await asyncio.wait((accepting,))
        self._listener.close()
        for task in self._clients:
            task.cancel()
        if self._clients:
            await asyncio.wait(self._clients)

    async def _accept_all(self) -> None:
        """Accept a client only where there is room for it: a command must not use up our descriptors."""
        room = asyncio.Semaphore(_count_room())
        while True:
            await room.acquire()
            try:
                connection, _ = await asyncio.get_running_loop().sock_accept(self._listener)
            except OSError:  # the client is gone, or there is no descriptor left
                room.release()
                await asyncio.sleep(_PAUSE_SECS)
                continue
            task = asyncio.ensure_future(self._serve_one(connection))
            self._clients.add(task)
            task.add_done_callback(self._clients.discard)
            task.add_done_callback(lambda _: room.release())

    async def _serve_one(self, connection: socket.socket) -> None:
        with contextlib.suppress(TimeoutError, OSError, EOFError):  # either end is gone
            reader, writer = await asyncio.open_connection(sock=connection, limit=LONGEST_HEAD)
            try:
                await self._serve(reader, writer)
            finally:
                writer.close()


def _count_room() -> int:
    """How many clients one proxy has at a time."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_CONNECTIONS if files < 0 else max(1, min(_MOST_CONNECTIONS, files // _SHARE_OF_FILES))


async def _pass_on(
    request: ProxyRequest,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    their_reader: asyncio.StreamReader,
    their_writer: asyncio.StreamWriter,
) -> None:
    """One request with its body and no byte more, and the answer until the server ends it."""

    async def send() -> None:
        await _relay_body(reader, their_writer, request.body_bytes)
        while await reader.read(_CHUNK):
            continue

    async def answer() -> None:
        await _relay(their_reader, writer)
        writer.close()

    their_writer.write(request.head)
    await _run_both(send(), answer())


async def _run_both(one: Coroutine[None, None, None], other: Coroutine[None, None, None]) -> None:
    """Both until they have ended, or one has failed, which ends the other. What is left once one has ended gets
    its time and no more."""
    tasks = (asyncio.ensure_future(one), asyncio.ensure_future(other))
    limit = None
    try:
        while waiting := [task for task in tasks if not task.done()]:
            done, _ = await asyncio.wait(waiting, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                return
            for task in done:
                task.result()
            limit = _HALF_CLOSED_SECS
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _relay_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, length: int) -> None:
    while length > 0:
        data = await reader.read(min(length, _CHUNK))
        if not data:
            raise EOFError
        length -= len(data)
        writer.write(data)
        await writer.drain()


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """All that comes, until its end, which is told as well."""
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _shake_hands(stream: TlsStream, why: str) -> None:
    try:
        async with asyncio.timeout(_HEAD_SECS):
            await stream.shake_hands()
    except ssl.SSLCertVerificationError as error:
        raise Refused(f"{why}: {error.verify_message}") from error
    except ssl.SSLError as error:
        raise Refused(f"{why}: {error.reason or error}") from error
    except TimeoutError as error:
        raise Refused("its TLS did not begin in time") from error
    except OSError as error:
        raise Refused(f"its TLS broke off: {error.strerror or error}") from error


def _explain_misplaced(name: str) -> str:
    return (
        f"what stands for {name} was sent where it is not put in: that is done in headers, through TLS, and to "
        "the hosts of tools.run_command.secrets"
    )


async def _hear_out(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Let a client that is still sending read its answer, which a connection takes along that is closed before
    all was read."""
    if writer.can_write_eof():
        writer.write_eof()
    async with asyncio.timeout(_HEARD_OUT_SECS):
        while await asyncio.wait_for(reader.read(_CHUNK), _SILENT_SECS):
            continue


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, status: str, reason: str) -> None:
    body = f"quorum: {reason}\n".encode("utf-8", "replace")
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode("latin-1") + body)
    await writer.drain()
    await _hear_out(reader, writer)


def describe_asked(asked: Sequence[AskedHost], more: int, used: Sequence[str] = ()) -> tuple[str, ...]:
    """What there is to say of the hosts that a command asked for, a sentence each."""
    reached = dict.fromkeys(each.name for each in asked if not each.refusal)
    refused = [f"{each.name} ({each.refusal})" for each in asked if each.refusal]
    said = []
    if reached:
        said.append(f"hosts reached: {', '.join(reached)}")
    if refused:
        said.append(f"hosts not reached: {', '.join(refused)}")
    if used:
        said.append(f"secrets put in: {', '.join(used)}")
    if more:
        said.append(f"it asked for more hosts, {more} times")
    return tuple(said)


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
