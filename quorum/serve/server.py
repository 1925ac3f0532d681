"""The server: its routes, and its life from the printed link to the last app's end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import textual_serve
from aiohttp import web

from quorum.serve.access import BrowserSessions, SingleUseToken
from quorum.serve.endpoint import WebEndpoint
from quorum.serve.entrance import Entrance
from quorum.serve.password import PasswordHash
from quorum.serve.peer_check import PeerCheck
from quorum.serve.request_checks import FindObjection, RequestChecks

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
