"""Who may use the server: a link that works once, the cookie it is exchanged for, a password, limited tries.

Every request passes the checks here before anything is done for it, and every response gets the same headers.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import math
import os
import secrets
import stat
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from getpass import getpass
from pathlib import Path
from typing import TypeAlias

from aiohttp import web

from quorum.errors import UsageError, complain
from quorum.infrastructure.secrets.key_ring import KeyRing
from quorum.serve.endpoint import WebEndpoint

VARIABLE = "QUORUM_SERVE_PASSWORD"
KEYRING_ENTRY = "serve-password"
FEWEST_CHARACTERS = 12
MOST_CHARACTERS = 1024

# 32 MB and about a tenth of a second for each try, of which there are few.
_N, _R, _P = 1 << 15, 8, 1
_MEMORY_BYTES = 64 << 20
_REMEDY = (
    f"give it with --password-file FILE, in the environment as {VARIABLE}, in the keyring as the entry "
    f"{KEYRING_ENTRY!r} of the service 'quorum', or at a prompt on a terminal"
)


class PasswordHash:
    """A password as its scrypt hash; the text is not kept."""

    def __init__(self, password: str) -> None:
        self._salt = secrets.token_bytes(16)
        self._hash = self._derive(password)

    def matches(self, password: str) -> bool:
        """Whether this is the password, in time that does not depend on how much of it is right. It blocks."""
        if len(password) > MOST_CHARACTERS:
            return False
        return hmac.compare_digest(self._hash, self._derive(password))

    def _derive(self, password: str) -> bytes:
        text = password.encode("utf-8", "surrogatepass")
        return hashlib.scrypt(text, salt=self._salt, n=_N, r=_R, p=_P, maxmem=_MEMORY_BYTES)


def find_password(file: Path | None, environment: Mapping[str, str]) -> PasswordHash:
    """The password from its file, the environment, the keyring or a prompt, the first that has one.

    Raises UsageError.
    """
    if file is not None:
        password = _read(file)
    else:
        password = environment.get(VARIABLE) or KeyRing().get_key(KEYRING_ENTRY) or _ask()
    if not FEWEST_CHARACTERS <= len(password) <= MOST_CHARACTERS:
        raise UsageError(
            f"the password needs {FEWEST_CHARACTERS} to {MOST_CHARACTERS} characters, because the server can "
            f"be reached from other machines; {_REMEDY}"
        )
    return PasswordHash(password)


def forget_password(environment: MutableMapping[str, str]) -> None:
    """Take the password out of the environment, also where it is not asked for: children inherit it."""
    environment.pop(VARIABLE, None)


def _read(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            if stat.S_ISREG(mode) and mode & 0o077:
                raise UsageError(f"other users may open {file}; take that away: chmod 600 {file}")
            return opened.readline(MOST_CHARACTERS + 2).rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the password cannot be read from {file}: {error}") from error


def _ask() -> str:
    if not (sys.stdin and sys.stdin.isatty()):
        raise UsageError(f"a server that other machines can reach needs a password; {_REMEDY}")
    try:
        return getpass("Password for this server (not shown): ", stream=sys.stderr)
    except EOFError:
        return ""


TOKEN_BYTES = 32
SESSION_SECS = 12 * 60 * 60
MOST_SESSIONS = 32

_WINDOW_SECS = 60.0
_TRIES_OF_ONE = 5
_TRIES_OF_ALL = 50
_MOST_CLIENTS = 4096


def make_secret() -> str:
    """A new secret for a URL or a cookie."""
    return secrets.token_urlsafe(TOKEN_BYTES)


class SingleUseToken:
    """The token of the link that is printed at the start. What is compared is kept as a hash only."""

    def __init__(self) -> None:
        self._hash: bytes | None = None

    def issue(self) -> str:
        """Make the token, in place of one before it."""
        token = make_secret()
        self._hash = _hash(token)
        return token

    @property
    def is_used(self) -> bool:
        """Whether nobody can come in with it any more."""
        return self._hash is None

    def redeem(self, token: str) -> bool:
        """Use it up; False where it is wrong or was used."""
        if self._hash is None or not hmac.compare_digest(self._hash, _hash(token)):
            return False
        self._hash = None
        return True


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """An admitted browser. `csrf` stands in each form that it gets."""

    csrf: str
    began_at: float


class BrowserSessions:
    """The admitted browsers, by the hash of their cookie. The oldest gives way to a new one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._by_hash: dict[bytes, BrowserSession] = {}

    def begin(self) -> str:
        """Let a browser in; returns its cookie."""
        cookie = make_secret()
        while len(self._by_hash) >= MOST_SESSIONS:
            del self._by_hash[next(iter(self._by_hash))]
        self._by_hash[_hash(cookie)] = BrowserSession(make_secret(), self._clock())
        return cookie

    def find(self, cookie: str) -> BrowserSession | None:
        """Whose cookie this is; None where it is nobody's, or too old."""
        session = self._by_hash.get(_hash(cookie))
        if session is None or self._clock() - session.began_at > SESSION_SECS:
            return None
        return session


@dataclass(slots=True)
class FailedTries:
    """Counts failed tries of one client and of all within a minute. Those admitted already are not delayed."""

    clock: Callable[[], float] = time.monotonic
    _of_all: deque[float] = field(default_factory=deque)
    _by_client: dict[str, deque[float]] = field(default_factory=dict)

    def wait_secs(self, client: str) -> int:
        """How long this client has to wait before it may try again; 0: not at all."""
        now = self.clock()
        waits = [_wait(self._of_all, _TRIES_OF_ALL, now)]
        if (tries := self._by_client.get(_group(client))) is not None:
            waits.append(_wait(tries, _TRIES_OF_ONE, now))
        return max(waits)

    def note(self, client: str) -> None:
        now, group = self.clock(), _group(client)
        self._of_all.append(now)
        while len(self._of_all) > _TRIES_OF_ALL:
            self._of_all.popleft()
        tries = self._by_client.pop(group, None) or deque()
        tries.append(now)
        while len(tries) > _TRIES_OF_ONE:
            tries.popleft()
        self._by_client[group] = tries
        while len(self._by_client) > _MOST_CLIENTS:
            del self._by_client[next(iter(self._by_client))]


def _wait(tries: deque[float], most: int, now: float) -> int:
    if len(tries) < most:
        return 0
    return max(0, math.ceil(tries[0] + _WINDOW_SECS - now))


def _group(client: str) -> str:
    """A client's address; of IPv6 the network, because one machine has many addresses in it."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return client
    return client if address.version == 4 else str(ipaddress.ip_network((address, 64), strict=False))


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


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
