"""An MCP server that is reached over streamable HTTP."""

from __future__ import annotations

import asyncio
from types import TracebackType

import httpx2
from mcp.client._transport import Transport, TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client


class HttpTransport:
    """Implements the SDK's `Transport`; a token goes to this address only, along no redirect to another."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url = url
        self._token = token
        self.problem = ""
        self.ended = asyncio.Event()  # there is no end to see: a request that fails tells

    def transport(self) -> Transport:
        """Itself."""
        return self

    async def __aenter__(self) -> TransportStreams:
        """Get ready; the first request connects."""
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else None
        self._http: httpx2.AsyncClient = create_mcp_http_client(headers=headers)
        await self._http.__aenter__()
        self._streams = streamable_http_client(self._url, http_client=self._http)
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
