"""A net of its own on the loopback interface: a server that keeps what it is asked, a proxy, an authority."""

from __future__ import annotations

import asyncio
import datetime
import json
import os
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAMAGED_RECORD = b"\x17\x03\x03\x00\x40" + bytes(64)  # application data, of no key
NET_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it arrived."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, where it is JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response; the pieces of its body are sent one by one. `is_damaged`: a record of no key follows them."""

    pieces: Sequence[bytes]
    status: int = 200
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict)
    is_damaged: bool = False


class _Listener:
    """Listens on a free port while it is entered, and takes each connection in a task of its own."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._context = context
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Any:
        self._server = await asyncio.start_server(
            self._connected, "127.0.0.1", 0, ssl=self._context, limit=2**24
        )
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()  # with TLS it would wait for the other end
        await asyncio.sleep(0)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        self._tasks.add(asyncio.get_running_loop().create_task(self._take(reader, writer)))

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            return  # the other side hung up
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError


class RecordingServer(_Listener):
    """Answers each request with the next answer of its script; with a context, over TLS."""

    def __init__(self, *script: Answer, context: ssl.SSLContext | None = None) -> None:
        super().__init__(context)
        self.script = list(script)
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        """Its address."""
        return f"http{'s' if self._context else ''}://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            line, headers, _ = await _read_head(reader)
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            method, target, _ = line.split(" ")
            self.asked.append(Asked(method, target, headers, body))
            answer = self.script.pop(0)
            lines = [f"HTTP/1.1 {answer.status} Scripted", f"content-type: {answer.content_type}"]
            lines += [f"{name}: {value}" for name, value in answer.headers.items()]
            writer.write("\r\n".join([*lines, "transfer-encoding: chunked", "", ""]).encode())
            for piece in answer.pieces:
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await writer.drain()
            if answer.is_damaged:
                os.write(writer.get_extra_info("socket").fileno(), _DAMAGED_RECORD)
                await reader.read()
                return
            writer.write(b"0\r\n\r\n")


class TricklingServer(_Listener):
    """Answers with a beginning, and then with the same again and again, until the other side hangs up."""

    def __init__(self, beginning: bytes, again: bytes) -> None:
        super().__init__()
        self._beginning, self._again = beginning, again

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _read_head(reader)
        writer.write(self._beginning)
        while True:
            writer.write(self._again)
            await writer.drain()
            await asyncio.sleep(0.01)


class LoopbackProxy(_Listener):
    """A proxy that leads every connection to one port, whatever host was asked for, and keeps the hosts.

    `status` other than 200 turns everybody away; `password` is what `proxy-authorization` must hold.
    """

    def __init__(self, leads_to: int, *, status: str = "200 OK", password: str | None = None) -> None:
        super().__init__()
        self._leads_to = leads_to
        self._status = status
        self._password = password
        self.asked_for: list[str] = []

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line, headers, head = await _read_head(reader)
        method, target, _ = line.split(" ")
        self.asked_for.append(target)
        status = self._status
        if self._password is not None and self._password not in headers.get("proxy-authorization", ""):
            status = "407 Proxy Authentication Required"
        if status != "200 OK":
            writer.write(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode())
            await writer.drain()
            return
        onward, back = await asyncio.open_connection("127.0.0.1", self._leads_to)
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            back.write(head)
        try:
            await asyncio.gather(_pass_on(reader, back), _pass_on(onward, writer))
        finally:
            back.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65536):
        writer.write(piece)
        await writer.drain()
    writer.close()


async def _read_head(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    line, *rest = head.decode("latin-1").split("\r\n")
    fields = (line.partition(":") for line in rest if line)
    return line, {name.lower(): value.strip() for name, _, value in fields}, head


_SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


class Authority:
    """An authority that signs certificates, kept as PEM files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Loopback authority")])
        self.file = folder / "authority.pem"
        self.file.write_bytes(self._signed(self._name, self._key.public_key(), None))

    def server_context(self, *hosts: str, days_valid: int = 1) -> ssl.SSLContext:
        """The context of a server that is these hosts."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0][:60])])
        chain = self._folder / f"{hosts[0]}.pem"
        chain.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + self._signed(subject, key.public_key(), hosts, days_valid)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        return context

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        hosts: Sequence[str] | None,
        days_valid: int = 1,
    ) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=30))
            .not_valid_after(now + datetime.timedelta(days=days_valid))
            .add_extension(x509.BasicConstraints(ca=hosts is None, path_length=None), critical=True)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )
        if hosts is None:  # without it Python 3.13 and newer refuse an authority
            builder = builder.add_extension(_SIGNS_CERTIFICATES, critical=True)
        else:
            names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
