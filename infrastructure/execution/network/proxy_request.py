"""The head of a request to the proxy. What two readers could read differently is refused and not mended."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Iterable
from contextlib import suppress

from msgspec import Struct

from quorum.domain.errors import ToolError
from quorum.domain.shell.network_hosts import BadHost, normalise_host
from quorum.infrastructure.address_guard import Address, parse_literal_address

LONGEST_HEAD = 32_768
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_AUTHORITY = re.compile(r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_ABSOLUTE = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<rest>[^#]*)")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_VISIBLE = re.compile(r"[\x21-\x7e]*")
_DIGITS = re.compile(r"[0-9]{1,18}")
_HTTP_PORT = 80
# They belong to this connection alone (RFC 9110, 7.6.1), or tell a server of the proxy.
_HOP = frozenset(
    {
        *("connection", "proxy-connection", "keep-alive", "proxy-authorization", "proxy-authenticate"),
        *("te", "trailer", "upgrade", "host", "content-length"),
    }
)


class BadRequest(ValueError):
    """The request is refused as it is; the message says why, `status` is what HTTP calls it."""

    def __init__(self, message: str, status: str = "400 Bad Request") -> None:
        super().__init__(message)
        self.status = status


class ProxyTarget(Struct, frozen=True):
    """A port of a host, whose name is normalised. `address` is what it is instead of a name."""

    host: str
    port: int
    address: Address | None = None

    @property
    def authority(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class ProxyRequest(Struct, frozen=True, kw_only=True):
    """What a client asks for: a tunnel, or with `head` that a plain request is passed on, whose body has
    `body_bytes`."""

    target: ProxyTarget
    head: bytes = b""
    body_bytes: int = 0

    @property
    def is_tunnel(self) -> bool:
        return not self.head


def parse_request(data: bytes) -> ProxyRequest:
    """Read a head that ends with an empty line. Raises BadRequest."""
    text = data.decode("latin-1")
    lines = text.removesuffix("\r\n\r\n").split("\r\n")
    if any(character in line for line in lines for character in "\r\n\0"):
        raise BadRequest("its lines do not end as lines of HTTP do")
    method, target, version = _split_first(lines[0])
    headers = [_parse_header(line) for line in lines[1:]]
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise BadRequest("it is not HTTP/1", "505 HTTP Version Not Supported")
    if method == "CONNECT":
        return ProxyRequest(target=_parse_authority(target, None))
    return _parse_plain(method, target, headers)


def _split_first(line: str) -> tuple[str, str, str]:
    parts = line.split(" ")
    if len(parts) != 3 or not _TOKEN.fullmatch(parts[0]) or not _VISIBLE.fullmatch(parts[1]):
        raise BadRequest("its first line is no request")
    return parts[0], parts[1], parts[2]


def _parse_header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
        raise BadRequest("one of its lines is no header")
    return name, value.strip(" \t")


def _parse_authority(text: str, usual_port: int | None) -> ProxyTarget:
    found = _AUTHORITY.fullmatch(text)
    port = int(found["port"]) if found is not None and found["port"] else usual_port
    if found is None or port is None or not 0 < port < 1 << 16:
        raise BadRequest("it names no host and port")
    host = found["host"].strip("[]")
    try:
        address = parse_literal_address(host)
    except ToolError as error:
        raise BadRequest(str(error)) from error
    if address is not None:
        return ProxyTarget(str(address), port, address)
    try:
        return ProxyTarget(normalise_host(host), port)
    except BadHost as error:
        raise BadRequest(str(error)) from error


def _parse_plain(method: str, target: str, headers: list[tuple[str, str]]) -> ProxyRequest:
    found = _ABSOLUTE.fullmatch(target)
    if found is None:
        raise BadRequest("it names no host: this is a proxy, not a server")
    if found["scheme"].lower() != "http":
        raise BadRequest(f"{found['scheme']} goes through a tunnel (CONNECT)")
    wanted = _parse_authority(found["authority"], _HTTP_PORT)
    hosts = _list_values(headers, "host")
    if len(hosts) > 1 or any(_parse_authority(each, _HTTP_PORT) != wanted for each in hosts):
        raise BadRequest("its address and its header Host name different hosts")
    if _list_values(headers, "transfer-encoding"):
        raise BadRequest("the length of its body must be given", "411 Length Required")
    lengths = _list_values(headers, "content-length")
    if len(lengths) > 1 or not all(map(_DIGITS.fullmatch, lengths)):
        raise BadRequest("the length of its body is not clear")
    dropped = _HOP.union(*(_split_list(each) for each in _list_values(headers, "connection")))
    rest = found["rest"] if found["rest"].startswith("/") else f"/{found['rest']}"
    host = wanted.host if wanted.port == _HTTP_PORT and wanted.address is None else wanted.authority
    lines = [f"{method} {rest} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in headers if name.lower() not in dropped]
    lines += [f"Content-Length: {each}" for each in lengths]
    lines += ["Connection: close", "", ""]
    return ProxyRequest(
        target=wanted,
        head="\r\n".join(lines).encode("latin-1"),
        body_bytes=int(lengths[0]) if lengths else 0,
    )


def _list_values(headers: Iterable[tuple[str, str]], name: str) -> list[str]:
    return [value for each, value in headers if each.lower() == name]


def _split_list(value: str) -> set[str]:
    return {each.strip(" \t").lower() for each in value.split(",")}


_CHUNK = 65_536


class TlsStream:
    """One end of a TLS connection: that of a client with `server_name`, otherwise that of a server.

    `received` is what was read of it. One task may read while another one writes.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        context: ssl.SSLContext,
        *,
        server_name: str | None = None,
        received: bytes = b"",
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._incoming.write(received)
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_side=server_name is None, server_hostname=server_name
        )

    async def shake_hands(self) -> None:
        """Raises ssl.SSLError where the two cannot agree, and OSError."""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                await self._flush()
                await self._fill()
            except ssl.SSLError:
                await self._flush()  # tells the other end why
                raise
            else:
                await self._flush()
                return

    async def read(self) -> bytes:
        """What comes next, and nothing once the other end has said that this is all.

        Raises OSError where it is cut.
        """
        while True:
            try:
                return self._tls.read(_CHUNK)
            except ssl.SSLZeroReturnError:
                return b""
            except ssl.SSLWantReadError:
                await self._flush()
                await self._fill()

    async def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._tls.write(rest) :]
        await self._flush()

    async def write_eof(self) -> None:
        """Say that this is all."""
        with suppress(ssl.SSLError):  # the other end has not said so yet
            self._tls.unwrap()
        await self._flush()

    async def _flush(self) -> None:
        if data := self._outgoing.read():
            self._writer.write(data)
            await self._writer.drain()

    async def _fill(self) -> None:
        if data := await self._reader.read(_CHUNK):
            self._incoming.write(data)
        else:
            self._incoming.write_eof()
