"""The login of a session to an MCP server over HTTP: tokens are sent and renewed, and nobody is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import httpx2
from mcp.shared._httpx_utils import RedirectAwareAuth

from quorum.domain.errors import ConfigError
from quorum.infrastructure.mcp.oauth.login_store import LoginStore, StoredLogin
from quorum.infrastructure.mcp.oauth.token_request import build_refresh_request, read_refreshed_login

_UNAUTHORIZED = 401
_REFUSALS = (400, 401, 403)


class SessionAuth(RedirectAwareAuth):
    """Sends the token of a stored login once the server has asked for one.

    The keyring is not read before, so that a server without a login unlocks nothing. A token that has expired,
    or that the server refuses, is renewed; where that cannot be done, `on_refusal` gets the reason, and the
    request its refusal. `on_notice` gets what else the person should know. A session opens no browser: the flow
    that asks the person is in `login.py`.
    """

    def __init__(
        self,
        server: str,
        url: str,
        store: LoginStore,
        *,
        on_refusal: Callable[[str], None],
        on_notice: Callable[[str], None],
    ) -> None:
        self._server = server
        self._url = url
        self._store = store
        self._on_refusal = on_refusal
        self._on_notice = on_notice
        self._login: StoredLogin | None = None
        self._changing = asyncio.Lock()

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        tried = self._login
        if tried is None or not tried.is_expired:
            _authorize(request, tried)
            response = yield request
            if response.status_code != _UNAUTHORIZED:
                return
        async with self._changing:
            if self._login is tried:
                login, reason = await self._load(tried)
                if login is not None and (login.is_expired or _is_same(login, tried)):
                    if login.tokens.refresh_token is None:
                        login, reason = None, "your login has expired"
                    else:
                        answer = yield build_refresh_request(login)
                        login, reason = await self._renew(login, answer)
                self._login = login
                if login is None:
                    self._on_refusal(reason)
        _authorize(request, self._login)
        response = yield request
        if response.status_code == _UNAUTHORIZED and self._login is not None:
            self._on_refusal("it refuses your login")

    async def _load(self, tried: StoredLogin | None) -> tuple[StoredLogin | None, str]:
        """The login of the keyring, which another process may have renewed; or why there is none."""
        try:
            login = await asyncio.to_thread(self._store.load, self._server, self._url)
        except ConfigError as error:
            return None, str(error)
        return (
            login,
            "" if login is not None else "it wants you to log in" if tried is None else "you logged out",
        )

    async def _renew(self, login: StoredLogin, answer: httpx2.Response) -> tuple[StoredLogin | None, str]:
        content = await answer.aread()
        if answer.status_code in _REFUSALS:
            # Another process may have used up the refresh token a moment ago.
            other, _ = await self._load(login)
            if other is not None and not _is_same(other, login) and not other.is_expired:
                return other, ""
            return None, "your login has expired"
        if answer.status_code != httpx2.codes.OK:
            return (
                None,
                f"your login could not be renewed (the authorisation server answered {answer.status_code})",
            )
        try:
            renewed = read_refreshed_login(login, content)
        except ValueError:
            return None, "your login could not be renewed (the authorisation server sent no token)"
        try:
            await asyncio.to_thread(self._store.save, self._server, renewed)
        except ConfigError as error:
            self._on_notice(f"your renewed login is kept for this session only: {error}")
        return renewed, ""


def _authorize(request: httpx2.Request, login: StoredLogin | None) -> None:
    request.headers.pop("Authorization", None)
    if login is not None:
        request.headers["Authorization"] = f"Bearer {login.tokens.access_token}"


def _is_same(login: StoredLogin, other: StoredLogin | None) -> bool:
    return other is not None and login.tokens.access_token == other.tokens.access_token
