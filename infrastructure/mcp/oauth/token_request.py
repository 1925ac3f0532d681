"""The requests to an authorisation server that need no person: to renew a login, and to end it."""

from __future__ import annotations

import httpx2
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from mcp.shared.auth_utils import calculate_token_expiry
from pydantic import AnyUrl

from quorum.infrastructure.mcp.oauth.login_store import StoredLogin

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
