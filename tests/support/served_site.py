"""The server of `quorum serve` on loopback, in this process, and a browser's side of it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from aiohttp import web

from quorum.serve.access import PasswordHash, SingleUseToken
from quorum.serve.endpoint import EndpointOptions, WebEndpoint, open_endpoint
from quorum.serve.server import Site, make_application, object_to_nobody


@dataclass
class ServedSite:
    """A running server, its token, and one browser."""

    endpoint: WebEndpoint
    token: str
    browser: aiohttp.ClientSession

    @property
    def url(self) -> str:
        """Where it is, by its number: names of loopback are for browsers to resolve."""
        return f"http://127.0.0.1:{self.endpoint.port}"

    @property
    def origin(self) -> str:
        """The origin of its pages."""
        return self.endpoint.url.rstrip("/")

    @property
    def host(self) -> str:
        """The Host header of its pages."""
        return self.origin.removeprefix("http://")

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        """Status and body, as a browser asks. A header may be given by its name with underscores."""
        named = {"Host": self.host, **{name.replace("_", "-"): value for name, value in headers.items()}}
        async with self.browser.get(f"{self.url}{path}", headers=named, allow_redirects=False) as response:
            return response.status, await response.text()

    async def post(self, path: str, form: dict[str, str], **headers: str) -> tuple[int, str]:
        """Send a form, as a page of the server does."""
        named = {"Host": self.host, "Origin": self.origin}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.browser.post(
            f"{self.url}{path}", data=form, headers=named, allow_redirects=False
        ) as response:
            return response.status, await response.text()

    async def enter(self) -> None:
        """Use the link."""
        status, _ = await self.get(f"/enter?token={self.token}")
        assert status == 200

    def connect(
        self, path: str, origin: str | None = None, host: str | None = None
    ) -> aiohttp.client._WSRequestContextManager:
        """Open a websocket."""
        headers = {"Host": host or self.host, "Origin": self.origin if origin is None else origin}
        return self.browser.ws_connect(f"{self.url}{path}", headers=headers)


@asynccontextmanager
async def serving(
    site: Site | None = None, *, password: PasswordHash | None = None, address: str = ""
) -> AsyncIterator[ServedSite]:
    """Serve a site, by default one page that says "inside"."""
    endpoint = open_endpoint(EndpointOptions(port=0, address=address))
    token = SingleUseToken()
    app = make_application(endpoint, site or plain_site(), token, password, find_objection=object_to_nobody)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=5)
    await runner.setup()
    await web.SockSite(runner, endpoint.socket).start()
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        try:
            yield ServedSite(endpoint, token.issue(), browser)
        finally:
            await runner.cleanup()


def plain_site() -> Site:
    """A page and an echo behind the checks."""

    async def show(_request: web.Request) -> web.StreamResponse:
        return web.Response(text="inside")

    async def fail(_request: web.Request) -> web.StreamResponse:
        raise RuntimeError("it broke")

    async def echo(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str("inside")
        await socket.close()
        return socket

    def add_routes(app: web.Application) -> None:
        app.router.add_get("/", show, allow_head=False)
        app.router.add_post("/", show)
        app.router.add_get("/fail", fail)
        app.router.add_get("/ws", echo)

    return Site(add_routes=add_routes, kill_all=lambda: None)


def find_values(name: str, page: str) -> list[str]:
    """The values of the fields of this name in the forms of a page."""
    return re.findall(rf'name="{name}" value="([^"]*)"', page)
