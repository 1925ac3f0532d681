"""What every request has to pass before anything is done for it, and the headers that every response gets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from aiohttp import web

from quorum.errors import complain
from quorum.serve.access import BrowserSession, BrowserSessions
from quorum.serve.endpoint import WebEndpoint

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
FindObjection: TypeAlias = Callable[[web.Request], Awaitable[str]]
"""Why the process at the other end is not served, as a sentence; empty where it is."""

_SESSION = web.RequestKey("session", BrowserSession)
PUBLIC_PATHS = frozenset({"/login", "/enter"})
"""What a browser may ask for that is not admitted yet."""

_METHODS = frozenset({"GET", "POST"})


class RequestChecks:
    """Refuses requests by other names (DNS rebinding), from other origins (CSRF), and without a cookie."""

    def __init__(self, endpoint: WebEndpoint, sessions: BrowserSessions, find_objection: FindObjection) -> None:
        self._hosts, self._origins = endpoint.hosts, endpoint.origins
        self._sessions, self._find_objection = sessions, find_objection
        secure = endpoint.tls is not None
        # Without TLS the prefix __Host- is not to be had; the port keeps two servers of one name apart.
        self.cookie_name = "__Host-quorum" if secure else f"quorum-{endpoint.port}"
        self._secure = secure
        self._policy = _build_content_policy(endpoint)

    def install(self, app: web.Application) -> None:
        """Have all requests of this application checked."""
        app.middlewares.append(self.check)
        app.on_response_prepare.append(self.add_headers)

    def let_in(self, response: web.StreamResponse) -> None:
        """Give the browser that gets this response a cookie."""
        response.set_cookie(
            self.cookie_name,
            self._sessions.begin(),
            path="/",
            httponly=True,
            secure=self._secure,
            samesite="Strict",
        )

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Hand the request on if it passes. What is refused learns nothing but that."""
        self._check_source(request)
        if objection := await self._find_objection(request):
            raise web.HTTPForbidden(text=objection)
        session = self._sessions.find(request.cookies.get(self.cookie_name, ""))
        if session is not None:
            request[_SESSION] = session
        elif request.path not in PUBLIC_PATHS:
            return _send_to_entrance(request)
        try:
            return await handler(request)
        except (web.HTTPException, ConnectionError):
            raise
        except Exception as error:  # said in one line and without the address
            complain([f"a request of a browser failed: {type(error).__name__}: {error}"])
            raise web.HTTPInternalServerError(text="quorum could not answer; its terminal says why") from error

    def _check_source(self, request: web.Request) -> None:
        hosts = request.headers.getall("Host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            raise web.HTTPMisdirectedRequest(text="this server is not known by that name")
        if request.method not in _METHODS:
            raise web.HTTPMethodNotAllowed(request.method, sorted(_METHODS), text="not allowed")
        upgrades = "upgrade" in request.headers.get("Connection", "").lower() or "Upgrade" in request.headers
        origins = request.headers.getall("Origin", [])
        must_name_origin = request.method != "GET" or upgrades
        if (must_name_origin and not origins) or any(origin not in self._origins for origin in origins):
            raise web.HTTPForbidden(text="requests of other origins are refused")
        if request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"} and not (
            request.method == "GET" and request.headers.get("Sec-Fetch-Mode") == "navigate"
        ):
            raise web.HTTPForbidden(text="requests of other sites are refused")

    async def add_headers(self, request: web.Request, response: web.StreamResponse) -> None:
        """Have browsers keep nothing, send nothing elsewhere, and show no page of ours inside of another."""
        # With no-referrer browsers send forms of ours as from nowhere, and those are refused.
        has_form = request.path != "/enter"
        response.headers.update(
            {
                "Cache-Control": "no-store",
                "Content-Security-Policy": self._policy,
                "Cross-Origin-Opener-Policy": "same-origin",
                "Cross-Origin-Resource-Policy": "same-origin",
                "Permissions-Policy": "camera=(), clipboard-read=(), geolocation=(), microphone=()",
                "Referrer-Policy": "same-origin" if has_form else "no-referrer",
                "Server": "quorum",
                "X-Content-Type-Options": "nosniff",
                "X-Frame-Options": "DENY",
            }
        )


def get_session(request: web.Request) -> BrowserSession:
    """The browser that asks. For handlers of paths that are not public."""
    return request[_SESSION]


def _send_to_entrance(request: web.Request) -> web.StreamResponse:
    if request.method == "GET" and "Upgrade" not in request.headers and request.path in {"/", "/approvals"}:
        raise web.HTTPSeeOther("/login")
    raise web.HTTPForbidden(text="this browser is not admitted")


def _build_content_policy(endpoint: WebEndpoint) -> str:
    sockets = " ".join(sorted(f"{'wss' if endpoint.tls else 'ws'}://{host}" for host in endpoint.hosts))
    return (
        # The terminal in the page makes style elements; scripts come from files of ours alone.
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
        f"img-src 'self' data:; connect-src 'self' {sockets}; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
