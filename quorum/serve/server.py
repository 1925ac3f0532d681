"""The server: its routes, and its life from the printed link to the last app's end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

import textual_serve
from aiohttp import web

from quorum.errors import complain
from quorum.infrastructure.remote.peer import SocketAddress, identify_tcp_peer
from quorum.infrastructure.remote.server import find_objection
from quorum.serve.access import (
    BrowserSessions,
    FailedTries,
    FindObjection,
    PasswordHash,
    RequestChecks,
    SingleUseToken,
)
from quorum.serve.endpoint import WebEndpoint
from quorum.serve.html import escape, read_form, render_page

_ROOT = 0


class PeerCheck:
    """Finds the objection to whoever holds a connection, once for each connection.

    Where the other end cannot be found out nothing is objected: it has to show the token or the cookie anyway.
    Another user is objected to, but for root, who relays connections of containers and virtual machines.
    """

    def __init__(self) -> None:
        self._found: WeakKeyDictionary[asyncio.BaseTransport, str] = WeakKeyDictionary()

    async def __call__(self, request: web.Request) -> str:
        """Why the other end of this request is not served; empty where it is."""
        transport = request.transport
        if transport is None:
            return "the connection is gone"
        if transport not in self._found:
            ours, theirs = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
            self._found[transport] = await asyncio.to_thread(
                _find, SocketAddress(*ours[:2]), SocketAddress(*theirs[:2])
            )
        return self._found[transport]


def _find(ours: SocketAddress, theirs: SocketAddress) -> str:
    peer = identify_tcp_peer(ours, theirs)
    if peer is None or (peer.uid == _ROOT and os.geteuid() != _ROOT):
        return ""
    return find_objection(peer)


_STYLE = "page.css"


class Entrance:
    """Lets browsers in by the password if there is one, else by the token."""

    def __init__(self, checks: RequestChecks, token: SingleUseToken, password: PasswordHash | None) -> None:
        self._checks, self._token, self._password = checks, token, password
        self._tries = FailedTries()
        self._one_at_a_time = asyncio.Lock()  # each comparison of a password takes 32 MB

    def add_routes(self, app: web.Application) -> None:
        """Serve what browsers may ask for that are not admitted."""
        app.router.add_get("/enter", self._enter, allow_head=False)
        app.router.add_get("/login", self._show, allow_head=False)
        app.router.add_post("/login", self._log_in)

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        if self._password is not None:
            raise web.HTTPSeeOther("/login")
        if "Sec-Purpose" in request.headers or "Purpose" in request.headers:
            raise web.HTTPForbidden(text="this link is not for fetching ahead")  # it would be used up
        self._check_patience(request)
        if not self._token.redeem(request.query.get("token", "")):
            self._tries.note(request.remote or "")
            complain(["a browser came with a link that is wrong or was used; it was not admitted"])
            return self._explain(web.HTTPForbidden.status_code)
        complain(["a browser has used the link; it works no more"])
        # Not a redirection: after one the cookie would be withheld where the link was opened from another page.
        body = '<body class="page"><p><a href="/">Continue</a></p></body>'
        entered = render_page(
            "quorum", [body], style=_STYLE, head='<meta http-equiv="refresh" content="0;url=/">\n'
        )
        self._checks.let_in(entered)
        return entered

    async def _show(self, _request: web.Request) -> web.StreamResponse:
        return self._explain() if self._password is None else _render_form("")

    async def _log_in(self, request: web.Request) -> web.StreamResponse:
        if self._password is None:
            raise web.HTTPNotFound(text="there is no password")
        self._check_patience(request)
        given = (await read_form(request)).get("password", "")
        async with self._one_at_a_time:
            self._check_patience(request)  # those that waited for their turn count as well
            is_right = await asyncio.to_thread(self._password.matches, given)
            if not is_right:
                self._tries.note(request.remote or "")
        if not is_right:
            complain([f"a wrong password was given from {request.remote}"])
            return _render_form("This is not the password.", status=web.HTTPForbidden.status_code)
        complain([f"a browser at {request.remote} has logged in"])
        entered = web.Response(status=web.HTTPSeeOther.status_code, headers={"Location": "/"})
        self._checks.let_in(entered)
        return entered

    def _check_patience(self, request: web.Request) -> None:
        if secs := self._tries.wait_secs(request.remote or ""):
            raise web.HTTPTooManyRequests(
                text=f"too many failed tries; wait {secs} s", headers={"Retry-After": str(secs)}
            )

    def _explain(self, status: int = 200) -> web.Response:
        used = "has been used" if self._token.is_used else "has not been used yet"
        body = (
            '<body class="page"><h1>quorum</h1><p>This page opens by the link that <code>quorum serve</code> '
            f'printed. The link works once, and it {used}.</p><p>Are you admitted already: <a href="/">'
            "continue</a>. For another link, end <code>quorum serve</code> and start it again: "
            "sessions are kept.</p></body>"
        )
        response = render_page("quorum", [body], style=_STYLE)
        response.set_status(status)
        return response


def _render_form(problem: str, *, status: int = 200) -> web.Response:
    problem_text = f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else ""
    body = (
        '<body class="page"><h1>quorum</h1><form method="post" action="/login">'
        f'{problem_text}<label>Password <input type="password" name="password" autocomplete="current-password" '
        'required autofocus></label><button class="main">Log in</button></form></body>'
    )
    response = render_page("quorum", [body], style=_STYLE)
    response.set_status(status)
    return response


_MOST_BODY_BYTES = 64 << 10
_STOPPING_SECS = 20.0
_ASSETS = Path(__file__).parent / "assets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What is served: `add_routes` adds the pages, `kill_all` ends at once what they started."""

    add_routes: Callable[[web.Application], None]
    kill_all: Callable[[], None]


def run_server(
    endpoint: WebEndpoint, site: Site, password: PasswordHash | None, announce: Sequence[str]
) -> int:
    """Serve until a signal ends it; the exit code is the signal's. `announce` is printed with the link."""
    return asyncio.run(_run(endpoint, site, password, announce))


async def _run(
    endpoint: WebEndpoint, site: Site, password: PasswordHash | None, announce: Sequence[str]
) -> int:
    token = SingleUseToken()
    runner = web.AppRunner(
        make_application(
            endpoint,
            site,
            token,
            password,
            find_objection=PeerCheck() if endpoint.is_loopback else object_to_nobody,
        ),
        access_log=None,  # it would hold the token
        handle_signals=False,
        shutdown_timeout=_STOPPING_SECS,
    )
    await runner.setup()
    ended = _end_on_signals(site)
    try:
        await web.SockSite(runner, endpoint.socket, ssl_context=endpoint.tls).start()
        link = endpoint.url if password is not None else f"{endpoint.url}enter?token={token.issue()}"
        for line in (f"Open this link in a browser{'' if password else '; it works once'}:", f"  {link}"):
            print(line)
        print(*announce, sep="\n", flush=True)
        return 128 + await ended
    finally:
        await runner.cleanup()


def make_application(
    endpoint: WebEndpoint,
    site: Site,
    token: SingleUseToken,
    password: PasswordHash | None,
    *,
    find_objection: FindObjection,
) -> web.Application:
    """All that is served, behind all checks."""
    app = web.Application(client_max_size=_MOST_BODY_BYTES)
    checks = RequestChecks(endpoint, BrowserSessions(), find_objection)
    checks.install(app)
    Entrance(checks, token, password).add_routes(app)
    for name, path in _find_static_files().items():
        app.router.add_get(f"/static/{name}", _send_file(path), allow_head=False)
    site.add_routes(app)
    return app


def _end_on_signals(site: Site) -> asyncio.Future[int]:
    """The first signal that asks for the end. A second one does not wait for sessions to be closed."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def handle(number: int) -> None:
        if ended.done():
            site.kill_all()
        else:
            ended.set_result(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, handle, number)
    return ended


async def object_to_nobody(_request: web.Request) -> str:
    """Serve other machines too: they show the password."""
    return ""


def _find_static_files() -> dict[str, Path]:
    """The files by name. Of textual-serve only these are used: neither its server nor its page, which loads a
    font from another site, lists its files and hands the app's command to a shell."""
    theirs = Path(textual_serve.__path__[0]) / "static"
    return {
        "textual.js": theirs / "js" / "textual.js",
        "xterm.css": theirs / "css" / "xterm.css",
        "RobotoMono.ttf": theirs / "fonts" / "RobotoMono-VariableFont_wght.ttf",
        **{path.name: path for path in sorted(_ASSETS.iterdir()) if path.suffix in {".css", ".js"}},
    }


def _send_file(path: Path) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def send(_request: web.Request) -> web.StreamResponse:
        return web.FileResponse(path)

    return send
