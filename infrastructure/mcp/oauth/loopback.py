"""The address on this machine to which a browser comes back from a login."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

from mcp.shared.auth import AuthorizationCodeResult

from quorum.domain.errors import LoginError
from quorum.domain.text.printable import make_printable

HOST = "127.0.0.1"
PATH = "/callback"
_HEADERS = (
    "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n"
    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
)
_LONGEST_LINE = 16_384
_READING_SECS = 10.0
_DONE = "You are logged in. This page can be closed."
_REFUSED = "The login was refused. This page can be closed."
_UNKNOWN = "This is not the answer that quorum waits for."


class LoopbackReceiver:
    """Waits for one answer of the authorisation server. Use it as a context; `port` 0 takes a free one.

    What does not carry the state of the login that is under way, or was sent to another host or path, is
    answered with an error and changes nothing: any page of the browser can send requests here.
    """

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self._state: str | None = None
        self._answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> LoopbackReceiver:
        try:
            self._server = await asyncio.start_server(self._serve, HOST, self._port, limit=_LONGEST_LINE)
        except OSError as error:
            raise LoginError(f"port {self._port} of {HOST} cannot be listened on: {error.strerror}") from error
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self._answer.cancel()

    @property
    def address(self) -> str:
        """Where the browser is to be sent."""
        return f"http://{HOST}:{self._port}{PATH}"

    def expect(self, authorization_url: str) -> None:
        """Take the answer to this request, and no other."""
        self._state = _take_first(parse_qs(urlsplit(authorization_url).query), "state")

    async def answer(self) -> AuthorizationCodeResult:
        """Wait for the answer. Raises LoginError where the person or the server refused."""
        return await self._answer

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Whoever sends rubbish, or goes away: the login waits on.
        try:
            with suppress(OSError, ValueError, TimeoutError):
                await self._reply(reader, writer)
        finally:
            writer.close()

    async def _reply(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_READING_SECS):
            request = await reader.readline()
            host = ""
            while line := (await reader.readline()).strip():
                name, _, value = line.decode("latin-1").partition(":")
                host = value.strip() if name.lower() == "host" else host
        status, text = self._judge(request.decode("latin-1"), host)
        body = text.encode()
        writer.write(_HEADERS.format(status=status, length=len(body)).encode() + body)
        await writer.drain()

    def _judge(self, request: str, host: str) -> tuple[str, str]:
        method, _, rest = request.partition(" ")
        target = urlsplit(rest.partition(" ")[0])
        given = parse_qs(target.query, max_num_fields=50)
        state = _take_first(given, "state")
        is_ours = method == "GET" and target.path == PATH and host == f"{HOST}:{self._port}"
        if not is_ours or not self._state or not secrets.compare_digest(state.encode(), self._state.encode()):
            return "400 Bad Request", _UNKNOWN
        if self._answer.done():
            return "400 Bad Request", _UNKNOWN
        if error := _take_first(given, "error"):
            why = " ".join(filter(None, (error, _take_first(given, "error_description"))))
            self._answer.set_exception(
                LoginError(f"the login was refused: {make_printable(why, newlines=False)[:300]}")
            )
            return "200 OK", _REFUSED
        code = _take_first(given, "code")
        if not code:
            return "400 Bad Request", _UNKNOWN
        self._answer.set_result(
            AuthorizationCodeResult(code=code, state=state, iss=_take_first(given, "iss") or None)
        )
        return "200 OK", _DONE


def _take_first(given: dict[str, list[str]], name: str) -> str:
    return given.get(name, [""])[0]
