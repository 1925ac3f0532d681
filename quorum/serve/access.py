"""Who may use the server: a link that works once, the cookie it is exchanged for, a limit to failed tries."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import math
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

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
