"""TLS over a connection of which some bytes may have been read already, which asyncio can begin nowhere."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress

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
