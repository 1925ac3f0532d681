"""What a server shows: the app, with or without the page of pending reviews, or that page alone."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

from quorum.command_line.options import SessionOptions
from quorum.serve.approvals.page import ApprovalsPage
from quorum.serve.approvals.pending import RemoteApp
from quorum.serve.served_apps import ServedApps
from quorum.serve.server import Site
from quorum.serve.terminal_page import TerminalPage


def build_app_site(options: SessionOptions, root: Path, url: str, *, approvals: bool) -> Site:
    """The app in the browser, one for each page that is open."""
    apps = ServedApps(options, root, listens=approvals)
    page = TerminalPage(apps.start, socket_origin=f"ws{url.removeprefix('http').rstrip('/')}")

    async def clean_up(_app: web.Application) -> None:
        apps.close()

    def add_routes(app: web.Application) -> None:
        page.add_routes(app)
        if approvals:
            ApprovalsPage(apps.list_listening).add_routes(app)
        app.on_cleanup.append(clean_up)

    return Site(add_routes=add_routes, kill_all=page.kill_all)


def build_approvals_site(socket: Path, token: str | None) -> Site:
    """The pending reviews of the quorum that listens at this socket."""
    listening = RemoteApp(socket.name, socket, token)

    async def send_to_list(_request: web.Request) -> web.StreamResponse:
        raise web.HTTPSeeOther("/approvals")

    def add_routes(app: web.Application) -> None:
        app.router.add_get("/", send_to_list, allow_head=False)
        ApprovalsPage(lambda: (listening,)).add_routes(app)

    return Site(add_routes=add_routes, kill_all=lambda: None)
