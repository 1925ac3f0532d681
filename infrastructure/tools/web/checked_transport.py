"""Connections that go to a checked address and nowhere else."""

from __future__ import annotations

import ssl

import httpx2

from infrastructure.tools.web.address_guard import AddressGuard
from infrastructure.tools.web.addressing import host_of, port_of

_MOST_ADDRESSES = 4
_NO_REUSE = httpx2.Limits(max_keepalive_connections=0)


class CheckedTransport(httpx2.AsyncBaseTransport):
    """Resolves and checks the host of each request, then connects to the checked address by its number.

    The name stays in the Host header, in SNI and in the check of the certificate. No connection is kept for
    another request, since two names may share an address. Proxies are not used: one would resolve the name
    anew, out of our sight.
    """

    def __init__(self, guard: AddressGuard, certificates: ssl.SSLContext | bool = True) -> None:
        """`certificates` says which certificates are trusted; True: those of this machine."""
        self._guard = guard
        self._inner = httpx2.AsyncHTTPTransport(verify=certificates, limits=_NO_REUSE)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response of the first checked address that takes the connection. Raises ToolError."""
        host = host_of(request.url)
        addresses = await self._guard.addresses(host, port_of(request.url))
        *others, last = addresses[:_MOST_ADDRESSES]
        for address in others:
            try:
                return await self._inner.handle_async_request(_aimed(request, host, str(address)))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue  # the next address may answer; the last one's failure is the one told
        return await self._inner.handle_async_request(_aimed(request, host, str(last)))

    async def aclose(self) -> None:
        """Close what is open."""
        await self._inner.aclose()


def _aimed(request: httpx2.Request, host: str, address: str) -> httpx2.Request:
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host.removesuffix(".")},
    )
