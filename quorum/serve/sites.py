"""What a server shows: the app in a page with a terminal, the page of pending reviews, or both.

Each open page with a terminal has an app of its own, behind a websocket.

A packet is a kind (D: what a terminal would get, M: a JSON object), four bytes of length, and a payload.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from pathlib import Path
from typing import TypeAlias

from aiohttp import WSCloseCode, WSMsgType, web

from quorum.command_line.options import SessionOptions
from quorum.domain.errors import ConfigError
from quorum.domain.text.printable import make_printable
from quorum.errors import complain
from quorum.infrastructure.execution.program import open_program
from quorum.infrastructure.files.swept_folder import SERVE_PREFIX, open_swept_folder
from quorum.infrastructure.web_push.browsers import Browser, PushBrowsers, open_push_browsers
from quorum.serve.access import get_session
from quorum.serve.approvals.page import ApprovalsPage, InboxQuestions, check_form
from quorum.serve.approvals.pending import RemoteApp
from quorum.serve.html import escape_line, read_form, render_page
from quorum.serve.server import Site
from quorum.session_store import open_recorded_inbox

GREETING = b"__GANGLION__\n"
DRIVER = "textual.drivers.web_driver:WebDriver"

_MOST_PACKET_BYTES = 64 << 20
_MOST_REPORTED_BYTES = 8 << 10
_CLOSING_SECS = 15.0  # the app cuts itself off after twelve
_OF_OTHER_TERMINALS = frozenset(
    {"COLUMNS", "LINES", "ROWS", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "STY"}
)


def build_app_environment(inherited: Mapping[str, str], size: tuple[int, int]) -> dict[str, str]:
    """The environment of an app in a browser: nothing in it is about the terminal that the server runs in."""
    kept = {name: value for name, value in inherited.items() if name not in _OF_OTHER_TERMINALS}
    return {
        **kept,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "TEXTUAL_DRIVER": DRIVER,
        "TEXTUAL_COLOR_SYSTEM": "truecolor",
        "COLUMNS": str(size[0]),
        "ROWS": str(size[1]),
    }


def build_app_command(arguments: Sequence[str]) -> tuple[str, ...]:
    """What starts a quorum like this one; the working directory brings no module of its own into it."""
    return (sys.executable, "-P", "-m", "quorum", *arguments)


class AppProcess:
    """A running app. `close` ends it as the end of a terminal does; when the server dies the app ends."""

    def __init__(self, process: asyncio.subprocess.Process, exits: AsyncExitStack) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process, self._exits = process, exits
        self._in, self._out = process.stdin, process.stdout
        self._reported = b""
        self._reporting = asyncio.create_task(self._collect(process.stderr), name="stderr of an app")

    @classmethod
    async def start(
        cls, command: Sequence[str], size: tuple[int, int], *, pass_fds: Sequence[int] = ()
    ) -> AppProcess:
        """Start it in a session of its own: Ctrl+C in the server's terminal is for the server."""
        async with AsyncExitStack() as started:
            process = await started.enter_async_context(
                open_program(
                    command,
                    environment=build_app_environment(os.environ, size),
                    stdin=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    pass_fds=pass_fds,
                )
            )
            return cls(process, started.pop_all())

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.returncode is not None

    async def stream_screen(self) -> AsyncIterator[bytes]:
        """What a terminal would get, until the app ends."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            if await self._out.readexactly(len(GREETING)) != GREETING:
                return
            while True:
                kind = await self._out.readexactly(1)
                size = int.from_bytes(await self._out.readexactly(4), "big")
                if size > _MOST_PACKET_BYTES:
                    return
                payload = await self._out.readexactly(size)
                # Files to download and pages to open are not asked for by this app, and not taken from it.
                if kind == b"D":
                    yield payload
                elif kind == b"M" and json.loads(payload).get("type") == "exit":
                    return

    async def type(self, text: str) -> None:
        """Press keys. Half a surrogate pair is not text and becomes a question mark."""
        await self._send(b"D", text.encode("utf-8", "replace"))

    async def resize(self, columns: int, lines: int) -> None:
        await self._tell({"type": "resize", "width": columns, "height": lines})

    async def focus(self, *, has_focus: bool) -> None:
        """The window has got or lost the focus."""
        await self._tell({"type": "focus" if has_focus else "blur"})

    async def read_report(self) -> str:
        """What it printed on stderr until it closed that."""
        await asyncio.wait([self._reporting])
        return make_printable(self._reported.decode("utf-8", "replace"), strip_ansi=True).strip()

    async def close(self) -> str:
        """End it, if it has not ended, and wait for that; returns what it printed on stderr."""
        self._in.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_SECS):
                # Its output is read to the end: an app that cannot write does not come to its end.
                while await self._out.read(1 << 16):
                    pass
                await self._process.wait()
        await self._exits.aclose()
        return await self.read_report()

    def kill(self) -> None:
        """End it at once; the supervisors of its commands end those."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def _tell(self, meta: Mapping[str, object]) -> None:
        await self._send(b"M", json.dumps(meta).encode())

    async def _send(self, kind: bytes, payload: bytes) -> None:
        with suppress(ConnectionError):  # it has ended; its output tells
            self._in.write(b"%b%b%b" % (kind, len(payload).to_bytes(4, "big"), payload))
            await self._in.drain()

    async def _collect(self, stderr: asyncio.StreamReader) -> None:
        while data := await stderr.read(1 << 12):
            self._reported = (self._reported + data)[-_MOST_REPORTED_BYTES:]


StartApp: TypeAlias = Callable[[tuple[int, int], bool], Awaitable[AppProcess]]
"""Starts an app on a screen of so many columns and lines; the flag has it continue the latest session."""

MOST_APPS = 8
_MOST_TICKETS = 64
_MOST_MESSAGE_BYTES = 4 << 20
_HEARTBEAT_SECS = 20.0
_LEAST_SIDE, _MOST_SIDE = 2, 1000


class TerminalPage:
    """Serves the page, and one app for each time that it is open."""

    def __init__(self, start_app: StartApp, *, socket_origin: str) -> None:
        self._start_app, self._origin = start_app, socket_origin
        self._tickets: dict[str, bool] = {}
        self._sockets: set[web.WebSocketResponse] = set()
        self._apps: set[AppProcess] = set()
        self._open = 0  # apps, and those that are starting or ending

    def add_routes(self, app: web.Application) -> None:
        """Serve the page and its websocket."""
        app.router.add_get("/", self._show, allow_head=False)
        app.router.add_get("/ws/{ticket}", self._connect, allow_head=False)
        app.on_shutdown.append(self._close_all)

    def kill_all(self) -> None:
        """End all apps at once."""
        for app in tuple(self._apps):
            app.kill()

    async def _show(self, request: web.Request) -> web.Response:
        while len(self._tickets) >= _MOST_TICKETS:
            del self._tickets[next(iter(self._tickets))]
        ticket = secrets.token_urlsafe(16)
        self._tickets[ticket] = "continue" in request.query
        body = (
            '<body><div id="terminal" class="textual-terminal" data-font-size="15" '
            f'data-session-websocket-url="{self._origin}/ws/{ticket}"></div>'
            '<div class="ended here" role="status"><span>This session has ended.</span>'
            '<a class="main" href="/?continue=1">Continue it</a><a href="/">New session</a></div>'
            '<div class="ended gone" role="status"><span>The server does not answer. If it has ended, start '
            "<code>quorum serve --continue</code> and open its new link, or continue in a terminal with "
            "<code>quorum --continue</code>.</span></div></body>"
        )
        head = (
            '<link rel="stylesheet" href="/static/xterm.css">\n<script src="/static/textual.js"></script>\n'
            '<script src="/static/terminal.js"></script>\n'
        )
        return render_page("quorum", [body], style="terminal.css", head=head)

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        continues = self._tickets.pop(request.match_info["ticket"], None)
        if continues is None:
            raise web.HTTPForbidden(text="this page was used; load it again")
        if self._open >= MOST_APPS:
            raise web.HTTPServiceUnavailable(text=f"{MOST_APPS} apps are open; close one first")
        socket = web.WebSocketResponse(heartbeat=_HEARTBEAT_SECS, max_msg_size=_MOST_MESSAGE_BYTES)
        if not socket.can_prepare(request).ok:
            raise web.HTTPBadRequest(text="this is for websockets")
        self._open += 1  # before anything is waited for: pages may connect at the same moment
        self._sockets.add(socket)
        try:
            await self._serve(request, socket, continues=continues)
        finally:
            self._sockets.discard(socket)
            self._open -= 1
        return socket

    async def _serve(self, request: web.Request, socket: web.WebSocketResponse, *, continues: bool) -> None:
        """Have an app of its own behind the socket until one of both ends."""
        await socket.prepare(request)
        size = (_limit_side(request.query.get("width"), 80), _limit_side(request.query.get("height"), 24))
        try:
            app = await self._start_app(size, continues)
        except OSError as error:
            complain([f"no app could be started: {error.strerror or error}"])
            await socket.close(code=WSCloseCode.INTERNAL_ERROR)
            return
        self._apps.add(app)
        showing = asyncio.create_task(_show_screen(app, socket), name="screen of an app")
        try:
            await _take_messages(socket, app)
        finally:
            # To its end also where the connection was cut: the app closes its session.
            await asyncio.shield(self._end(app, showing))

    async def _end(self, app: AppProcess, showing: asyncio.Task[None]) -> None:
        showing.cancel()
        await asyncio.wait([showing])
        reported = await app.close()
        self._apps.discard(app)
        if reported:
            complain(line.removeprefix("quorum: ") for line in reported.splitlines())

    async def _close_all(self, _app: web.Application) -> None:
        closing = [
            socket.close(code=WSCloseCode.GOING_AWAY, message=b"quorum serve ends") for socket in self._sockets
        ]
        await asyncio.gather(*closing, return_exceptions=True)


async def _show_screen(app: AppProcess, socket: web.WebSocketResponse) -> None:
    """Show it until it ends; of one that ends before it draws anything, why."""
    has_drawn = False
    try:
        async for data in app.stream_screen():
            has_drawn = True
            await socket.send_bytes(data)
        if not has_drawn:
            await socket.send_bytes("\r\n".join((await app.read_report()).splitlines()).encode())
    except ConnectionError:  # the browser is gone, which whoever reads from it notices as well
        return
    await socket.close()


async def _take_messages(socket: web.WebSocketResponse, app: AppProcess) -> None:
    """Do what the page says until it is closed; one that says what it cannot say is closed."""
    async for message in socket:
        if message.type is not WSMsgType.TEXT:
            break
        try:
            what, *more = json.loads(message.data)
            match what, more:
                case "stdin", [str(text)]:
                    await app.type(text)
                case "resize", [{"width": int(columns), "height": int(lines)}]:
                    await app.resize(_limit_side(columns, 80), _limit_side(lines, 24))
                case "focus" | "blur", []:
                    await app.focus(has_focus=what == "focus")
                case "ping", [str(stamp)] if len(stamp) <= _MOST_SIDE:
                    await socket.send_json(["pong", stamp])
                case _:
                    raise ValueError("no message of the page")
        except (ValueError, TypeError, RecursionError):
            await socket.close(code=WSCloseCode.POLICY_VIOLATION)
            return


def _limit_side(given: str | int | None, usual: int) -> int:
    """Columns or lines, as far as they make a screen."""
    try:
        return min(max(int(given or usual), _LEAST_SIDE), _MOST_SIDE)
    except ValueError:
        return usual


_FLAGS = {
    "review.mode": "--mode",
    "agent.max_tool_turns": "--max-tool-turns",
    "agent.max_cost_usd": "--max-cost-usd",
    "agent.max_tokens": "--max-tokens",
    "agent.max_time_secs": "--max-time",
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
        self._keeping = ExitStack()
        self._folder = self._make_folder() if listens else None

    def _make_folder(self) -> Path:
        """The folder of their sockets, which apps lock in turn: the outer one is locked by this process."""
        folder = self._keeping.enter_context(open_swept_folder(SERVE_PREFIX)) / "apps"
        folder.mkdir(mode=0o700)
        return folder

    async def start(self, size: tuple[int, int], continues: bool) -> AppProcess:
        """Start one, on a screen of so many columns and lines."""
        self._count += 1
        words = build_app_arguments(self._options, self._root, is_first=self._count == 1, continues=continues)
        if self._folder is None:
            return await AppProcess.start(build_app_command(words), size)
        socket = self._folder / f"{self._count}.sock"
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
        self._keeping.close()


def _read_token(descriptor: int) -> str:
    with open(descriptor, "rb") as handed:
        return handed.readline().decode("ascii", "replace").strip()


def build_app_site(options: SessionOptions, root: Path, url: str, *, approvals: bool) -> Site:
    """The app in the browser, one for each page that is open. `approvals`: also what waits in them and in the
    inbox. Raises ConfigError and LedgerError where that cannot be opened."""
    opened = open_recorded_inbox(options, root, is_on_terminal=False) if approvals else None
    apps = ServedApps(options, root, listens=approvals)
    page = TerminalPage(apps.start, socket_origin=f"ws{url.removeprefix('http').rstrip('/')}")

    async def clean_up(_app: web.Application) -> None:
        apps.close()
        if opened is not None:
            await asyncio.to_thread(opened.close)

    def add_routes(app: web.Application) -> None:
        page.add_routes(app)
        if opened is not None:
            inbox = InboxQuestions(opened.inbox, opened.build_mask)
            _add_approvals(app, apps.list_listening, url, inbox)
        app.on_cleanup.append(clean_up)

    return Site(add_routes=add_routes, kill_all=page.kill_all)


def build_approvals_site(socket: Path, token: str | None, url: str) -> Site:
    """The pending reviews of the quorum that listens at this socket."""
    listening = RemoteApp(socket.name, socket, token)

    async def send_to_list(_request: web.Request) -> web.StreamResponse:
        raise web.HTTPSeeOther("/approvals")

    def add_routes(app: web.Application) -> None:
        app.router.add_get("/", send_to_list, allow_head=False)
        _add_approvals(app, lambda: (listening,), url)

    return Site(add_routes=add_routes, kill_all=lambda: None)


def _add_approvals(
    app: web.Application,
    list_apps: Callable[[], Iterable[RemoteApp]],
    url: str,
    inbox: InboxQuestions | None = None,
) -> None:
    if (browsers := open_push_browsers(os.environ)) is not None:
        NotifyPage(browsers, url.rstrip("/")).add_routes(app)
    ApprovalsPage(list_apps, inbox).add_routes(app)


_STYLE = "page.css"
_WORKER = Path(__file__).parent / "assets" / "push-worker.js"


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
