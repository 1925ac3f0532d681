"""Logging in to an MCP server: the SDK's authorisation code flow with PKCE, up to a login in the keyring.

Addresses that a login leads to are checked, and a browser comes back from it to one on this machine.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.exceptions import OAuthFlowError, OAuthRegistrationError
from mcp.client.auth.utils import (
    build_protected_resource_metadata_discovery_urls,
    create_oauth_metadata_request,
    handle_protected_resource_response,
    union_scopes,
)
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl, PrivateAttr, ValidationError

from quorum.domain.errors import LoginError
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.config.program_tables import McpServerTable
from quorum.infrastructure.mcp.oauth.login_store import LoginStore, StoredLogin
from quorum.infrastructure.mcp.oauth.session_auth import NoTokens, build_revocation_request
from quorum.infrastructure.mcp.offer import describe_failure

_LONGEST = 8_000


def require_safe_address(address: str, server_url: str) -> None:
    """Raise LoginError unless the address is https, or http on the loopback of a server that is there, too.

    A server elsewhere may not lead to this machine or to the network it stands in: whoever runs it would have
    quorum, or the person's browser, ask there.
    """
    shown = make_printable(address, newlines=False)[:200]
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        host = ""
    if not host or not address.isascii() or not address.isprintable() or len(address) > _LONGEST:
        raise LoginError(f"the server names what is not a web address for the login: {shown}")
    if parts.username is not None or parts.password is not None:
        raise LoginError(f"the address for the login holds a user name, which hides where it leads: {shown}")
    is_here = is_local(host)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_here):
        raise LoginError(f"the address for the login is not https: {shown}")
    if is_here and not is_local(urlsplit(server_url).hostname or ""):
        raise LoginError(
            f"a server elsewhere names an address of this machine or network for the login: {shown}"
        )


def is_local(host: str) -> bool:
    """Whether a host is this machine, or an address that no public server has. Names are not looked up."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return not ipaddress.ip_address(name).is_global
    except ValueError:
        return name.isdigit() or name.startswith("0x")  # a form of an IPv4 address that browsers take


HOST = "127.0.0.1"
PATH = "/callback"
_HEADERS = (
    "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n"
    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
)
_LONGEST_LINE = 16_384
_READING_SECS = 10.0
_DONE = "You are logged in. This page can be closed."
_REFUSED = "The login was refused. This page can be closed."
_UNKNOWN = "This is not the answer that quorum waits for."


class LoopbackReceiver:
    """Waits for one answer of the authorisation server. Use it as a context; `port` 0 takes a free one.

    What does not carry the state of the login that is under way, or was sent to another host or path, is
    answered with an error and changes nothing: any page of the browser can send requests here.
    """

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self._state: str | None = None
        self._answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> LoopbackReceiver:
        try:
            self._server = await asyncio.start_server(self._serve, HOST, self._port, limit=_LONGEST_LINE)
        except OSError as error:
            raise LoginError(f"port {self._port} of {HOST} cannot be listened on: {error.strerror}") from error
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self._answer.cancel()

    @property
    def address(self) -> str:
        """Where the browser is to be sent."""
        return f"http://{HOST}:{self._port}{PATH}"

    def expect(self, authorization_url: str) -> None:
        """Take the answer to this request, and no other."""
        self._state = _take_first(parse_qs(urlsplit(authorization_url).query), "state")

    async def answer(self) -> AuthorizationCodeResult:
        """Wait for the answer. Raises LoginError where the person or the server refused."""
        return await self._answer

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Whoever sends rubbish, or goes away: the login waits on.
        try:
            with suppress(OSError, ValueError, TimeoutError):
                await self._reply(reader, writer)
        finally:
            writer.close()

    async def _reply(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_READING_SECS):
            request = await reader.readline()
            host = ""
            while line := (await reader.readline()).strip():
                name, _, value = line.decode("latin-1").partition(":")
                host = value.strip() if name.lower() == "host" else host
        status, text = self._judge(request.decode("latin-1"), host)
        body = text.encode()
        writer.write(_HEADERS.format(status=status, length=len(body)).encode() + body)
        await writer.drain()

    def _judge(self, request: str, host: str) -> tuple[str, str]:
        method, _, rest = request.partition(" ")
        target = urlsplit(rest.partition(" ")[0])
        given = parse_qs(target.query, max_num_fields=50)
        state = _take_first(given, "state")
        is_ours = method == "GET" and target.path == PATH and host == f"{HOST}:{self._port}"
        if not is_ours or not self._state or not secrets.compare_digest(state.encode(), self._state.encode()):
            return "400 Bad Request", _UNKNOWN
        if self._answer.done():
            return "400 Bad Request", _UNKNOWN
        if error := _take_first(given, "error"):
            why = " ".join(filter(None, (error, _take_first(given, "error_description"))))
            self._answer.set_exception(
                LoginError(f"the login was refused: {make_printable(why, newlines=False)[:300]}")
            )
            return "200 OK", _REFUSED
        code = _take_first(given, "code")
        if not code:
            return "400 Bad Request", _UNKNOWN
        self._answer.set_result(
            AuthorizationCodeResult(code=code, state=state, iss=_take_first(given, "iss") or None)
        )
        return "200 OK", _DONE


def _take_first(given: dict[str, list[str]], name: str) -> str:
    return given.get(name, [""])[0]


WAIT_SECS = 600.0
"""How long a login waits for the person in the browser."""

_REVOKE_SECS = 15.0
_PAGE_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
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
_LATER_MESSAGES = (
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)
_SESSION = "mcp-session-id"

_LONGEST_FAULT = 500
_OWN_CLIENT = "register a client there yourself, and set oauth_client_id in the table of the server to its id"
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
    before = await asyncio.to_thread(store.load, server, table.url)
    missed = before.missed_scope if before is not None else None
    try:
        async with asyncio.timeout(wait_secs), LoopbackReceiver(table.oauth_redirect_port) as receiver:
            flow = _LoginFlow(table.url, receiver, client, show, missed)
            async with create_mcp_http_client(auth=flow) as http:
                status = await _ask_until_login(http, flow, table.url)
    except LoginError:
        raise
    except TimeoutError as error:
        raise LoginError(f"nobody logged in within {wait_secs:g} s") from error
    except OAuthFlowError as error:
        raise LoginError(f"the login failed: {_explain_fault(error)}") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        raise LoginError(f"the login failed: {describe_failure(error)}") from error
    login = flow.build_login()
    if login is None:
        raise LoginError(f"the server asks for no login (it answered {status})")
    if status == httpx2.codes.UNAUTHORIZED:
        raise LoginError("the server refuses the token that its authorisation server gave")
    await asyncio.to_thread(store.save, server, login)


async def _ask_until_login(http: httpx2.AsyncClient, flow: _LoginFlow, url: str) -> int:
    """The status of the answer after the login, or of the first one where none came of it.

    Some servers greet everyone, and want a login for what they offer, or only for its use.
    """
    headers = dict(_PAGE_HEADERS)

    async def send(message: Mapping[str, object]) -> httpx2.Response:
        async with http.stream("POST", url, json=message, headers=headers) as response:
            return response

    first = answer = await send(_FIRST_MESSAGE)
    if answer.is_success and (session := answer.headers.get(_SESSION)):
        headers[_SESSION] = session
    for message in _LATER_MESSAGES:
        if flow.has_tokens or not answer.is_success:
            break
        answer = await send(message)
    if not flow.has_tokens:
        flow.looks_first = True
        answer = await send(_FIRST_MESSAGE)
    return answer.status_code if flow.has_tokens else first.status_code


def _explain_fault(error: OAuthFlowError) -> str:
    """What failed, without values of an answer that is not as it should be: they may be tokens."""
    wrong = error.__context__
    if isinstance(wrong, ValidationError):
        faults = wrong.errors(include_url=False, include_context=False, include_input=False)
        told = "; ".join(": ".join((*map(str, fault["loc"]), fault["msg"])) for fault in faults)
        said = f"{str(error).partition(':')[0]}: {told}"
    else:
        said = str(error)
    said = make_printable(said, newlines=False)[:_LONGEST_FAULT]
    return f"{said}; {_OWN_CLIENT}" if isinstance(error, OAuthRegistrationError) else said


async def run_logout(server: str, table: McpServerTable | None, *, store: LoginStore) -> str | None:
    """End the login at its authorisation server, where that offers a way, and take it out of the keyring.

    None where there was none; else what the person should know of it, or nothing. Raises ConfigError.
    """
    login = await asyncio.to_thread(store.load, server, table.url) if table is not None else None
    notice = ""
    if login is not None and (request := build_revocation_request(login)) is not None:
        try:
            require_safe_address(str(request.url), login.url)
            async with asyncio.timeout(_REVOKE_SECS), create_mcp_http_client() as http:
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


class _Metadata(OAuthClientMetadata):
    """What is told of the client; the scope that the SDK chooses has `_missed` added."""

    _missed: str | None = PrivateAttr(None)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, union_scopes(value, self._missed) if name == "scope" else value)


class _LoginFlow(OAuthClientProvider):
    """The SDK's flow, which asks no address but those that `require_safe_address` lets pass.

    With `looks_first`, it begins where the server says in its metadata whom it trusts, unasked for a login.
    """

    def __init__(
        self,
        url: str,
        receiver: LoopbackReceiver,
        client: OAuthClientInformationFull | None,
        show: ShowAddress,
        missed_scope: str | None,
    ) -> None:
        self.looks_first = False
        self._missed_scope = missed_scope
        redirect = AnyUrl(receiver.address)

        async def send_to(address: str) -> None:
            require_safe_address(address, url)
            receiver.expect(address)
            await show(address)

        async def wait() -> AuthorizationCodeResult:
            return await receiver.answer()

        metadata = _Metadata(client_name="quorum", redirect_uris=[redirect], token_endpoint_auth_method="none")
        metadata._missed = missed_scope
        super().__init__(
            url,
            metadata,
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
                if outgoing is request and self.looks_first:
                    self.looks_first = is_wanted = False
                    for address in build_protected_resource_metadata_discovery_urls(
                        None, self.context.server_url
                    ):
                        found = yield create_oauth_metadata_request(address)
                        is_wanted = await handle_protected_resource_response(found) is not None
                        if is_wanted:
                            break
                    if not is_wanted:
                        return
                    response = httpx2.Response(httpx2.codes.UNAUTHORIZED, request=request)
                else:
                    response = yield outgoing
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    @property
    def has_tokens(self) -> bool:
        """Whether a login came of it."""
        return self.context.current_tokens is not None

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
            missed_scope=self._missed_scope,
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
