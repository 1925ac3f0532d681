"""The login of a session to an MCP server over HTTP: tokens are sent and renewed, and nobody is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress

import httpx2
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.auth.utils import extract_field_from_www_auth, union_scopes
from mcp.shared._httpx_utils import RedirectAwareAuth
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from mcp.shared.auth_utils import calculate_token_expiry
from pydantic import AnyUrl

from quorum.domain.errors import ConfigError
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.mcp.oauth.login_store import LoginStore, StoredLogin

_LOOPBACK = "http://127.0.0.1/callback"


class NoTokens:
    """Implements the SDK's `TokenStorage`: what comes of a flow is kept by who runs it, all at once."""

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self._client = client

    async def get_tokens(self) -> OAuthToken | None:
        """None: each flow begins anew."""
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Nothing."""

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client that the settings name; None: the flow registers one."""
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Nothing."""


def build_refresh_request(login: StoredLogin) -> httpx2.Request:
    """The request for new tokens, for the same resource. Needs a refresh token."""
    form = {
        "grant_type": "refresh_token",
        "refresh_token": login.tokens.refresh_token or "",
        "client_id": login.client.client_id,
    }
    if login.resource:
        form["resource"] = login.resource
    return _build_form_request(login, login.token_endpoint, form)


def read_refreshed_login(login: StoredLogin, content: bytes) -> StoredLogin:
    """The login with the tokens of an answer. Raises ValueError for what is none."""
    tokens = OAuthToken.model_validate_json(content)
    if tokens.refresh_token is None or tokens.scope is None:  # RFC 6749: what is left out stays as it was
        tokens = tokens.model_copy(
            update={
                "refresh_token": tokens.refresh_token or login.tokens.refresh_token,
                "scope": tokens.scope or login.tokens.scope,
            }
        )
    return login.model_copy(update={"tokens": tokens, "expires_at": calculate_token_expiry(tokens.expires_in)})


def build_revocation_request(login: StoredLogin) -> httpx2.Request | None:
    """The request to end a login at its authorisation server; None where that offers no way."""
    if login.revocation_endpoint is None:
        return None
    form = {
        "token": login.tokens.refresh_token or login.tokens.access_token,
        "client_id": login.client.client_id,
        "client_secret": "",  # the same as none by RFC 6749, and servers made with the SDK want it
    }
    return _build_form_request(login, login.revocation_endpoint, form)


def _build_form_request(login: StoredLogin, address: str, form: dict[str, str]) -> httpx2.Request:
    context = OAuthContext(
        server_url=login.url,
        client_metadata=OAuthClientMetadata(redirect_uris=[AnyUrl(_LOOPBACK)]),
        storage=NoTokens(),
        redirect_handler=None,
        callback_handler=None,
        client_info=login.client,
    )
    form, headers = context.prepare_token_auth(form, {"Content-Type": "application/x-www-form-urlencoded"})
    return httpx2.Request("POST", address, data=form, headers=headers)


_LONGEST_SCOPE = 500
_SCOPE = r"[!#-\[\]-~]+(?: +[!#-\[\]-~]+)*"


def read_missed_scope(response: httpx2.Response) -> str | None:
    """The scope that a server wants of a token besides those it has; empty where it does not say which, None
    where that is not why it refused."""
    if response.status_code != httpx2.codes.FORBIDDEN:
        return None
    if extract_field_from_www_auth(response, "error") != "insufficient_scope":
        return None
    scope = extract_field_from_www_auth(response, "scope") or ""
    is_scope = len(scope) <= _LONGEST_SCOPE and compile_once(_SCOPE).fullmatch(scope) is not None
    return scope if is_scope else ""


_UNAUTHORIZED = 401
_REFUSALS = (400, 401, 403)
_REFUSED = "it refuses your login"


class SessionAuth(RedirectAwareAuth):
    """Sends the token of a stored login once the server has asked for one.

    The keyring is not read before, so that a server without a login unlocks nothing. A token that has expired,
    or that the server refuses, is renewed; where that cannot be done, `on_refusal` gets the reason, and the
    request its refusal. `on_notice` gets what else the person should know. A session opens no browser: the flow
    that asks the person is in `login.py`, and asks for a scope that is found missing here.
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
                if tried is not None and await self._gained_scope(response, tried):
                    _authorize(request, self._login)
                    yield request
                return
        is_renewed = False
        for _ in range(2):  # the keyring may hold a login that the server refuses, too
            async with self._changing:
                if self._login is tried:
                    login, reason = await self._load(tried)
                    if login is not None and (login.is_expired or _is_same(login, tried)):
                        if login.tokens.refresh_token is None:
                            reason = "your login has expired" if login.is_expired else _REFUSED
                            login = None
                        else:
                            answer = yield build_refresh_request(login)
                            login, reason = await self._renew(login, answer)
                            is_renewed = True
                    self._login = login
                    if login is None:
                        self._on_refusal(reason)
            tried = self._login
            _authorize(request, tried)
            response = yield request
            if tried is not None:
                await self._gained_scope(response, tried)
            if response.status_code != _UNAUTHORIZED or tried is None:
                return
            if is_renewed:
                break
        self._on_refusal(_REFUSED)

    async def _gained_scope(self, response: httpx2.Response, tried: StoredLogin) -> bool:
        """Whether the keyring holds another login than the one that lacks a scope; else it is noted there."""
        scope = read_missed_scope(response)
        if scope is None:
            return False
        async with self._changing:
            login, _ = await self._load(tried)
            if login is None:
                return False
            if not _is_same(login, tried):
                self._login = login
                return True
            missed = union_scopes(login.missed_scope, scope)
            if scope and missed != login.missed_scope and len(missed or "") <= _LONGEST_SCOPE:
                with suppress(ConfigError):
                    await asyncio.to_thread(
                        self._store.save, self._server, login.model_copy(update={"missed_scope": missed})
                    )
            return False

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
