"""An MCP server that is reached over streamable HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType

from mcp.client._transport import Transport, TransportStreams
from mcp.client.streamable_http import streamable_http_client

from quorum.infrastructure.mcp.answers import ServerAnswers
from quorum.infrastructure.mcp.http_answers import LARGEST_ANSWER, AnswerClient
from quorum.infrastructure.mcp.oauth.login_store import LoginStore
from quorum.infrastructure.mcp.oauth.session_auth import SessionAuth


class HttpTransport:
    """Implements the SDK's `Transport`; what it sends goes to this address only, along no redirect to another.

    `headers` go with every request. Where none of them is `Authorization`, the login of `logins` is sent where
    the server asks for it.
    """

    def __init__(self, server: str, url: str, *, headers: Mapping[str, str], logins: LoginStore) -> None:
        self._server = server
        self._url = url
        self._headers = dict(headers)
        self._logins = logins
        self.problem = ""
        self.needs_login = False
        self.notice = ""
        self.is_forgotten = False
        self._answers = ServerAnswers(server)
        self.ended = asyncio.Event()  # there is no end to see: a request that fails tells

    @property
    def dropped(self) -> tuple[str, ...]:
        """What of the server's lists cannot be used."""
        return self._answers.dropped

    def get_transport(self) -> Transport:
        return self

    async def __aenter__(self) -> TransportStreams:
        """Get ready; the first request connects."""
        auth = None
        if not any(name.lower() == "authorization" for name in self._headers):
            auth = SessionAuth(
                self._server,
                self._url,
                self._logins,
                on_refusal=self._note_refusal,
                on_notice=self._note,
            )
        self._http = AnswerClient(
            self._answers, on_forgotten=self._note_forgotten, headers=self._headers, auth=auth
        )
        await self._http.__aenter__()
        self._streams = streamable_http_client(
            self._url, http_client=self._http, max_sse_event_size=LARGEST_ANSWER
        )
        try:
            return await self._streams.__aenter__()
        except BaseException:
            await self._http.__aexit__(None, None, None)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """End the session with the server."""
        try:
            return await self._streams.__aexit__(kind, error, trace)
        finally:
            await self._http.__aexit__(None, None, None)

    def _note_forgotten(self) -> None:
        self.is_forgotten = True

    def _note(self, notice: str) -> None:
        self.notice = notice

    def _note_refusal(self, reason: str) -> None:
        self.problem = f"{reason} (quorum mcp login {self._server}, or /mcp login {self._server})"
        self.needs_login = True
        self.ended.set()
