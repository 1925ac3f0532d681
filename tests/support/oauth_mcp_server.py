"""An MCP server over HTTP that asks for a login, and its authorisation server, both made with the SDK."""

from __future__ import annotations

import asyncio
import secrets
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import httpx2
import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import JSONResponse, Response


class Authority(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Issues tokens, rotates those that refresh, and takes note of what was asked.

    `denies`: the person refuses. `lives_secs` is how long access tokens are said to live.
    """

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.resources: list[str | None] = []
        self.refreshed = 0
        self.denies = False
        self.lives_secs = 3_600

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self.resources.append(params.resource)
        if self.denies:
            raise AuthorizeError("access_denied", "not today\x1b[2J")
        code = AuthorizationCode(
            code=secrets.token_urlsafe(32),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._issue(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        self.refreshed += 1
        del self.refresh[refresh_token.token]
        return self._issue(client.client_id, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.clear()
        self.refresh.clear()

    def expire(self) -> None:
        """No access token counts any more; those that refresh do."""
        self.access.clear()

    def _issue(self, client_id: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access = AccessToken(
            token=f"access-{secrets.token_urlsafe(24)}", client_id=client_id, scopes=scopes, resource=resource
        )
        refresh = RefreshToken(
            token=f"refresh-{secrets.token_urlsafe(24)}", client_id=client_id, scopes=scopes, resource=resource
        )
        self.access[access.token] = access
        self.refresh[refresh.token] = refresh
        return OAuthToken(
            access_token=access.token, refresh_token=refresh.token, expires_in=self.lives_secs, scope="user"
        )


@asynccontextmanager
async def listening_app(app: Any, listening: socket.socket) -> AsyncIterator[None]:
    """The app on a socket that is bound already."""
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="critical", lifespan="on", timeout_graceful_shutdown=1)
    )
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield
    finally:
        server.should_exit = True
        server.force_exit = True
        await serving


@asynccontextmanager
async def oauth_server(
    authority: Authority,
    *,
    resource: str | None = None,
    instead: Mapping[str, Callable[[Request], Awaitable[Response]]] = MappingProxyType({}),
) -> AsyncIterator[str]:
    """The server with one tool, `echo`; its address. `resource` is what it says to be, if not that; `instead`
    answers at some paths."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        origin = f"http://127.0.0.1:{listening.getsockname()[1]}"
        server = MCPServer(
            "issues",
            auth_server_provider=authority,
            auth=AuthSettings(
                issuer_url=AnyHttpUrl(origin),
                resource_server_url=AnyHttpUrl(f"{origin}/mcp"),
                validate_token_resource=True,
                required_scopes=["user"],
                client_registration_options=ClientRegistrationOptions(
                    enabled=True, valid_scopes=["user", "admin"], default_scopes=["user"]
                ),
                revocation_options=RevocationOptions(enabled=True),
            ),
        )

        @server.tool()
        def echo(text: str) -> str:
            """Says it again."""
            return text

        app = server.streamable_http_app(json_response=True)
        if resource is not None:

            async def metadata(_request: Request) -> Response:
                return JSONResponse({"resource": resource, "authorization_servers": [origin]})

            app.add_route("/.well-known/oauth-protected-resource/mcp", metadata)
            app.router.routes.insert(0, app.router.routes.pop())
        for path, answer in instead.items():
            app.add_route(path, answer, methods=["POST"])
            app.router.routes.insert(0, app.router.routes.pop())
        async with listening_app(app, listening):
            yield f"{origin}/mcp"


async def browse(address: str) -> httpx2.Response:
    """What the person sees at the end of the login, in a browser that follows where it is sent."""
    async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as http:
        return await http.get(address)
