"""The page that subscribes a browser to messages that a decision waits."""

from __future__ import annotations

import asyncio
from pathlib import Path

from aiohttp import web

from quorum.domain.errors import ConfigError
from quorum.errors import complain
from quorum.infrastructure.web_push.browsers import Browser, PushBrowsers
from quorum.serve.access import get_session
from quorum.serve.approvals.page import check_form
from quorum.serve.html import escape_line, read_form, render_page

_STYLE = "page.css"
_WORKER = Path(__file__).parents[1] / "assets" / "push-worker.js"


class NotifyPage:
    """Subscribes browsers at this origin."""

    def __init__(self, browsers: PushBrowsers, origin: str) -> None:
        self._browsers, self._origin = browsers, origin

    def add_routes(self, app: web.Application) -> None:
        """Serve the page, and the script that shows messages: of the whole site, as its place says."""
        app.router.add_get("/approvals/notify", self._show, allow_head=False)
        app.router.add_post("/approvals/notify", self._subscribe)
        app.router.add_get("/push-worker.js", _send_worker, allow_head=False)

    async def _show(self, request: web.Request) -> web.Response:
        try:
            key = (await asyncio.to_thread(self._browsers.find_key)).public
        except ConfigError as error:
            raise web.HTTPInternalServerError(text=str(error)) from error
        body = [
            '<body class="page"><p><a href="/approvals">All pending reviews</a></p>',
            "<h1>Notify this browser</h1><p>Its push service passes a sealed message on: the tool, the "
            "folder's last name and the digest. Sessions send one where the settings have "
            "<code>[[push]] browsers = true</code>.</p>",
            f'<button class="main" id="subscribe" data-key="{escape_line(key)}" '
            f'data-csrf="{get_session(request).csrf}">Tell this browser</button>'
            '<p class="said" id="said" role="status"></p></body>',
        ]
        head = '<script src="/static/push.js" defer></script>\n'
        return render_page("notify this browser", body, style=_STYLE, head=head)

    async def _subscribe(self, request: web.Request) -> web.Response:
        form = await read_form(request)
        check_form(form, get_session(request))
        named = {name: form.get(name, "") for name in ("endpoint", "p256dh", "auth")}
        try:
            await asyncio.to_thread(self._browsers.add, Browser(**named, origin=self._origin))
        except ConfigError as error:
            raise web.HTTPBadRequest(text=str(error)) from error
        complain(["a browser is told from now on when a decision waits"])
        return web.Response(text="subscribed")


async def _send_worker(_request: web.Request) -> web.FileResponse:
    return web.FileResponse(_WORKER)
