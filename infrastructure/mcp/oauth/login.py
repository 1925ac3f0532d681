"""Logging in to an MCP server: the SDK's authorisation code flow with PKCE, up to a login in the keyring."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl

from quorum.domain.errors import LoginError
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.config.mcp_table import McpServerTable
from quorum.infrastructure.mcp.oauth.login_store import LoginStore, StoredLogin
from quorum.infrastructure.mcp.oauth.loopback import LoopbackReceiver
from quorum.infrastructure.mcp.oauth.safe_address import require_safe_address
from quorum.infrastructure.mcp.oauth.token_request import NoTokens, build_revocation_request
from quorum.infrastructure.mcp.offer import describe_failure

WAIT_SECS = 600.0
"""How long a login waits for the person in the browser."""

_REVOKE_SECS = 15.0
_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
_FIRST_MESSAGE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "quorum", "version": "1"},
    },
}

ShowAddress = Callable[[str], Awaitable[None]]
"""Shows the person the address to open. It has been checked."""


async def run_login(
    server: str,
    table: McpServerTable,
    *,
    store: LoginStore,
    show: ShowAddress,
    environ: Mapping[str, str],
    wait_secs: float = WAIT_SECS,
) -> None:
    """Log the person in to the server, and keep the login. Cancelled, nothing is kept.

    Raises LoginError where that cannot be done, and ConfigError where the keyring cannot keep it.
    """
    if problem := explain_no_login(server, table):
        raise LoginError(problem)
    await asyncio.to_thread(store.require)  # before the person logs in
    require_safe_address(table.url, table.url)
    client = _read_client(table, environ)
    try:
        async with asyncio.timeout(wait_secs), LoopbackReceiver(table.oauth_redirect_port) as receiver:
            flow = _LoginFlow(table.url, receiver, client, show)
            async with (
                create_mcp_http_client(auth=flow) as http,
                http.stream("POST", table.url, json=_FIRST_MESSAGE, headers=_HEADERS) as response,
            ):
                status = response.status_code
    except LoginError:
        raise
    except TimeoutError as error:
        raise LoginError(f"nobody logged in within {wait_secs:g} s") from error
    except OAuthFlowError as error:
        raise LoginError(f"the login failed: {make_printable(str(error), newlines=False)[:500]}") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        raise LoginError(f"the login failed: {describe_failure(error)}") from error
    login = flow.build_login()
    if login is None:
        raise LoginError(f"the server asks for no login (it answered {status})")
    if status == httpx2.codes.UNAUTHORIZED:
        raise LoginError("the server refuses the token that its authorisation server gave")
    await asyncio.to_thread(store.save, server, login)


async def run_logout(server: str, table: McpServerTable | None, *, store: LoginStore) -> str | None:
    """End the login at its authorisation server, where that offers a way, and take it out of the keyring.

    None where there was none; else what the person should know of it, or nothing. Raises ConfigError.
    """
    login = await asyncio.to_thread(store.load, server, table.url) if table is not None else None
    notice = ""
    if login is not None and (request := build_revocation_request(login)) is not None:
        try:
            require_safe_address(str(request.url), login.url)
            async with create_mcp_http_client(timeout=httpx2.Timeout(_REVOKE_SECS)) as http:
                answer = await http.send(request)
            if not answer.is_success:
                notice = f"the authorisation server did not revoke the token (it answered {answer.status_code})"
        except (LoginError, httpx2.HTTPError, OSError) as error:
            notice = f"the authorisation server could not be notified: {describe_failure(error)}"
    return notice if await asyncio.to_thread(store.remove, server) else None


def explain_no_login(server: str, table: McpServerTable) -> str:
    """Why there is nothing to log in to; empty where there is."""
    if not table.url:
        return f"the MCP server {server} is a program that is started here; it has no login"
    if table.bearer_token_env:
        return f"the MCP server {server} gets the token of {table.bearer_token_env}, which its settings name"
    return ""


class _LoginFlow(OAuthClientProvider):
    """The SDK's flow, which asks no address but those that `require_safe_address` lets pass."""

    def __init__(
        self,
        url: str,
        receiver: LoopbackReceiver,
        client: OAuthClientInformationFull | None,
        show: ShowAddress,
    ) -> None:
        redirect = AnyUrl(receiver.address)

        async def send_to(address: str) -> None:
            require_safe_address(address, url)
            receiver.expect(address)
            await show(address)

        async def wait() -> AuthorizationCodeResult:
            return await receiver.answer()

        super().__init__(
            url,
            OAuthClientMetadata(
                client_name="quorum", redirect_uris=[redirect], token_endpoint_auth_method="none"
            ),
            NoTokens(client),
            redirect_handler=send_to,
            callback_handler=wait,
        )

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = super()._auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                if outgoing is not request:
                    require_safe_address(str(outgoing.url), self.context.server_url)
                response = yield outgoing
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    def build_login(self) -> StoredLogin | None:
        """The login that came of it; None where the server asked for none."""
        context = self.context
        if context.current_tokens is None or context.client_info is None:
            return None
        metadata = context.oauth_metadata
        revocation = metadata.revocation_endpoint if metadata is not None else None
        return StoredLogin(
            url=context.server_url,
            tokens=context.current_tokens,
            client=context.client_info,
            token_endpoint=self._get_token_endpoint(),
            expires_at=context.token_expiry_time,
            revocation_endpoint=str(revocation) if revocation is not None else None,
            resource=context.get_resource_url(),
        )


def _read_client(table: McpServerTable, environ: Mapping[str, str]) -> OAuthClientInformationFull | None:
    if not table.oauth_client_id:
        return None
    secret = environ.get(table.oauth_client_secret_env) if table.oauth_client_secret_env else None
    if table.oauth_client_secret_env and not secret:
        raise LoginError(f"the environment variable {table.oauth_client_secret_env} is not set")
    return OAuthClientInformationFull(
        client_id=table.oauth_client_id,
        client_secret=secret,
        token_endpoint_auth_method="client_secret_post" if secret else "none",
    )
