"""What a server shows: the app, with or without the page of pending reviews, or that page alone."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from aiohttp import web

from quorum.command_line.options import SessionOptions
from quorum.serve.app_process import AppProcess, build_app_command
from quorum.serve.approvals.page import ApprovalsPage
from quorum.serve.approvals.pending import RemoteApp
from quorum.serve.server import Site
from quorum.serve.terminal_page import TerminalPage

_FLAGS = {
    "review.mode": "--mode",
    "agent.max_tool_turns": "--max-tool-turns",
    "agent.max_cost_usd": "--max-cost-usd",
    "agent.max_tokens": "--max-tokens",
}


def build_app_arguments(
    options: SessionOptions, root: Path, *, is_first: bool, continues: bool
) -> tuple[str, ...]:
    """The arguments of an app as the server's own say it. The session they name is for the first one."""
    words = ["--workdir", str(root)]
    if options.config_file is not None:
        words += ["--config", str(options.config_file)]
    for model in options.models:
        words += ["--model", model]
    for key, value in options.overrides.items():
        words += [_FLAGS[key], str(value)]
    if continues or (is_first and options.continues):
        words.append("--continue")
    elif is_first and options.resume is not None:
        words += ["--resume", options.resume]
    return tuple(words)


class ServedApps:
    """Starts apps. With `listens` each has a socket of its own, in a folder that nobody else may open."""

    def __init__(self, options: SessionOptions, root: Path, *, listens: bool) -> None:
        self._options, self._root = options, root
        self._count = 0
        self._listening: dict[AppProcess, RemoteApp] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="quorum-serve-") if listens else None

    async def start(self, size: tuple[int, int], continues: bool) -> AppProcess:
        """Start one, on a screen of so many columns and lines."""
        self._count += 1
        words = build_app_arguments(self._options, self._root, is_first=self._count == 1, continues=continues)
        if self._folder is None:
            return await AppProcess.start(build_app_command(words), size)
        socket = Path(self._folder.name, f"{self._count}.sock")
        reader, writer = os.pipe()
        try:
            command = build_app_command((*words, "--listen", str(socket), "--listen-approve", str(writer)))
            app = await AppProcess.start(command, size, pass_fds=(writer,))
        finally:
            os.close(writer)
        token = await asyncio.to_thread(_read_token, reader)
        if token:  # else it did not start, and says why
            self._listening[app] = RemoteApp(f"app {self._count}", socket, token)
        return app

    def list_listening(self) -> Iterable[RemoteApp]:
        """Those that run and can be asked."""
        for app in tuple(self._listening):
            if app.has_ended:
                del self._listening[app]
        return tuple(self._listening.values())

    def close(self) -> None:
        """Remove the folder of the sockets."""
        if self._folder is not None:
            self._folder.cleanup()


def _read_token(descriptor: int) -> str:
    with open(descriptor, "rb") as handed:
        return handed.readline().decode("ascii", "replace").strip()


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
