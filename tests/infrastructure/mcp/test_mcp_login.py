"""Logging in to MCP servers over HTTP: the SDK's own authorisation server, and a keyring of our own."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx2
import keyring
import keyring.core
import pytest
from keyring.backends import fail
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from quorum.domain.errors import ConfigError, LoginError, ToolError
from quorum.domain.events.masking import SecretMask
from quorum.domain.mcp.offers import ServerState
from quorum.infrastructure.config.program_tables import McpServerTable
from quorum.infrastructure.mcp.oauth.login import require_safe_address, run_login, run_logout
from quorum.infrastructure.mcp.oauth.login_store import LoginStore
from tests.infrastructure.commands.command_bench import eventually
from tests.infrastructure.mcp.server_bench import ServerBench
from tests.infrastructure.secrets.keyrings import FileKeyring
from tests.support.oauth_mcp_server import Authority, browse, listening_app, oauth_server

ECHO = "mcp__issues__echo"


@pytest.fixture(autouse=True)
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a keyring that works."""
    file = tmp_path / "entries.json"
    monkeypatch.setenv("KEYRING_TEST_FILE", str(file))
    before = keyring.core._keyring_backend
    keyring.set_keyring(FileKeyring())
    yield file
    keyring.core._keyring_backend = before


async def log_in_to(url: str, show: object = browse, **settings: object) -> None:
    async def to(address: str) -> None:
        await show(address)  # type: ignore[operator]

    table = McpServerTable(url=url, **settings)  # type: ignore[arg-type]
    await run_login("issues", table, store=LoginStore(), show=to, environ={}, wait_secs=20)


def kept(entries: Path) -> Any:
    """The login in the keyring; None without one."""
    texts = list(json.loads(entries.read_text()).values()) if entries.exists() else []
    return json.loads(texts[0]) if texts else None


@pytest.mark.long
async def test_a_login_is_kept_and_a_session_uses_it_without_asking(tmp_path: Path, entries: Path) -> None:
    authority, shown = Authority(), []

    async def show(address: str) -> None:
        shown.append(address)
        assert (await browse(address)).text == "You are logged in. This page can be closed."

    async with oauth_server(authority) as url:
        await log_in_to(url, show)

        asked = parse_qs(urlsplit(shown[0]).query)
        assert (asked["code_challenge_method"], asked["resource"]) == (["S256"], [url])
        assert asked["redirect_uri"][0].startswith("http://127.0.0.1:")
        assert authority.resources == [url]
        async with ServerBench(tmp_path, issues=McpServerTable(url=url)) as bench:
            assert await bench.servers.settle() == ()
            assert await bench.call(ECHO, text="hello") == "hello"
    assert kept(entries)["url"] == url


@pytest.mark.long
async def test_without_a_login_the_session_says_how_to_log_in_and_the_others_run(tmp_path: Path) -> None:
    async with (
        oauth_server(Authority()) as url,
        ServerBench(tmp_path, issues=McpServerTable(url=url)) as bench,
    ):
        (notice,) = await bench.servers.settle()

        assert notice == (
            "the MCP server issues is not running: it wants you to log in (quorum mcp login issues, or "
            "/mcp login issues)"
        )
        assert bench.servers.list_statuses()[0].state is ServerState.NEEDS_LOGIN

        async def show(address: str) -> None:
            await browse(address)

        await bench.servers.log_in("issues", show)
        assert await bench.servers.settle() == ()
        assert await bench.call(ECHO, text="in") == "in"


@pytest.mark.long
@pytest.mark.parametrize("lives_secs", [1, 3_600])
async def test_a_token_that_expires_in_the_session_is_renewed_silently(
    lives_secs: int, tmp_path: Path, entries: Path
) -> None:
    authority = Authority()
    authority.lives_secs = lives_secs
    async with oauth_server(authority) as url:
        await log_in_to(url)
        before = kept(entries)["tokens"]
        async with ServerBench(tmp_path, issues=McpServerTable(url=url)) as bench:
            assert await bench.servers.settle() == ()
            if lives_secs > 1:  # it says that its tokens live long, and then they do not
                authority.expire()

            assert await bench.call(ECHO, text="goes on") == "goes on"
            assert authority.refreshed >= 1
            assert kept(entries)["tokens"] != before
            assert {token.resource for token in authority.access.values()} == {url}


async def test_a_kept_token_that_the_server_refuses_at_the_start_is_renewed_once(
    tmp_path: Path, entries: Path
) -> None:
    authority = Authority()
    async with oauth_server(authority) as url:
        await log_in_to(url)
        authority.expire()  # although it was said to live for an hour
        async with ServerBench(tmp_path, issues=McpServerTable(url=url)) as bench:
            assert await bench.servers.settle() == ()
            assert await bench.call(ECHO, text="goes on") == "goes on"
        assert authority.refreshed == 1


@pytest.mark.long
async def test_calls_side_by_side_renew_a_token_once(tmp_path: Path) -> None:
    authority = Authority()
    async with oauth_server(authority) as url:
        await log_in_to(url)
        async with ServerBench(tmp_path, issues=McpServerTable(url=url)) as bench:
            await bench.servers.settle()
            authority.expire()

            answers = await asyncio.gather(*(bench.call(ECHO, text=str(i)) for i in range(5)))

            assert answers == ["0", "1", "2", "3", "4"]
            assert authority.refreshed == 1


@pytest.mark.long
async def test_two_sessions_share_a_login_although_its_refresh_token_counts_once(tmp_path: Path) -> None:
    authority = Authority()
    async with oauth_server(authority) as url:
        await log_in_to(url)
        table = McpServerTable(url=url)
        async with ServerBench(tmp_path, issues=table) as one, ServerBench(tmp_path, issues=table) as other:
            await one.servers.settle()
            await other.servers.settle()
            authority.expire()

            assert await one.call(ECHO, text="one") == "one"
            assert await other.call(ECHO, text="other") == "other"
            assert authority.refreshed == 1


@pytest.mark.long
async def test_a_login_that_was_revoked_ends_the_connection_and_asks_for_another(tmp_path: Path) -> None:
    authority = Authority()
    async with oauth_server(authority) as url:
        await log_in_to(url)
        async with ServerBench(tmp_path, issues=McpServerTable(url=url)) as bench:
            await bench.servers.settle()
            authority.access.clear()
            authority.refresh.clear()

            with pytest.raises(ToolError, match=r"your login has expired \(quorum mcp login issues"):
                await bench.call(ECHO, text="x")
            await eventually(lambda: bench.servers.list_statuses()[0].state is ServerState.NEEDS_LOGIN)


async def test_an_answer_with_another_state_or_for_another_host_changes_nothing(entries: Path) -> None:
    async def show(address: str) -> None:
        query = dict(parse_qsl(urlsplit(address).query))
        back = query["redirect_uri"]
        async with httpx2.AsyncClient(trust_env=False) as http:
            for params in (
                {"code": "x", "state": "other"},
                {"code": "x"},
                {"error": "access_denied"},
                {"state": query["state"]},
            ):
                assert (await http.get(f"{back}?{urlencode(params)}")).status_code == 400
            forged = f"{back}?{urlencode({'code': 'x', 'state': query['state']})}"
            rebound = await http.get(forged, headers={"Host": "evil.example"})
            assert rebound.status_code == 400
            assert (await http.post(forged)).status_code == 400
            assert (await http.get(forged.replace("/callback", "/other"))).status_code == 400
        await browse(address)

    async with oauth_server(Authority()) as url:
        await log_in_to(url, show)

    assert kept(entries)["url"] == url


async def test_what_the_person_refuses_is_said_and_nothing_is_kept(entries: Path) -> None:
    authority = Authority()
    authority.denies = True
    async with oauth_server(authority) as url:
        with pytest.raises(LoginError, match=r"the login was refused: access_denied not today␛\[2J"):
            await log_in_to(url)
    assert kept(entries) is None


async def test_a_login_that_is_cancelled_keeps_nothing_and_frees_its_port(entries: Path) -> None:
    shown = asyncio.Event()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    async def show(_address: str) -> None:
        shown.set()

    async with oauth_server(Authority()) as url:
        login = asyncio.create_task(log_in_to(url, show, oauth_redirect_port=port))
        await shown.wait()
        login.cancel()
        with pytest.raises(asyncio.CancelledError):
            await login
    assert kept(entries) is None
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))


@pytest.mark.parametrize("resource", ["https://other.example/mcp", "http://127.0.0.1:1/mcp"])
async def test_a_server_that_asks_for_tokens_of_another_resource_gets_none(
    resource: str, entries: Path
) -> None:
    authority = Authority()
    async with oauth_server(authority, resource=resource) as url:
        with pytest.raises(LoginError, match="does not match"):
            await log_in_to(url)
    assert authority.clients == {}
    assert kept(entries) is None


@pytest.mark.long
async def test_a_token_goes_to_the_address_it_was_given_for_and_to_no_other(tmp_path: Path) -> None:
    async with oauth_server(Authority()) as url:
        await log_in_to(url)
        async with oauth_server(Authority()) as other:
            async with ServerBench(tmp_path, issues=McpServerTable(url=other)) as bench:
                (notice,) = await bench.servers.settle()
            assert "it wants you to log in" in notice


async def test_every_token_reaches_the_mask(entries: Path) -> None:
    async with oauth_server(Authority()) as url:
        await log_in_to(url)
        mask = SecretMask()
        login = LoginStore(mask.learn).load("issues", url)

        assert login is not None
        assert login.tokens.access_token not in mask.mask_text(f"x {login.tokens.access_token}")
        assert str(login.tokens.refresh_token) not in mask.mask_text(f"x {login.tokens.refresh_token}")


async def test_logging_out_revokes_the_token_and_empties_the_keyring(entries: Path) -> None:
    authority = Authority()
    async with oauth_server(authority) as url:
        await log_in_to(url)
        table = McpServerTable(url=url)

        assert await run_logout("issues", table, store=LoginStore()) == ""

        assert (authority.access, authority.refresh) == ({}, {})
        assert kept(entries) is None
        assert await run_logout("issues", table, store=LoginStore()) is None


async def test_a_client_that_the_settings_name_is_used_and_none_is_registered() -> None:
    authority = Authority()
    with pytest.raises(LoginError, match="MISSING is not set"):
        await log_in_to("http://127.0.0.1:1/mcp", oauth_client_id="mine", oauth_client_secret_env="MISSING")
    async with oauth_server(authority) as url:
        seen: list[str] = []

        async def show(address: str) -> None:
            seen.append(parse_qs(urlsplit(address).query)["client_id"][0])
            raise asyncio.CancelledError

        with pytest.raises(asyncio.CancelledError):
            await log_in_to(url, show, oauth_client_id="mine")
    assert (seen, authority.clients) == (["mine"], {})


async def test_without_a_keyring_nobody_is_sent_to_a_browser() -> None:
    keyring.set_keyring(fail.Keyring())

    async def show(_address: str) -> None:
        raise AssertionError("nobody should see this")

    async with oauth_server(Authority()) as url:
        with pytest.raises(ConfigError, match=r"has no keyring that keeps keys; .* or set bearer_token_env in"):
            await log_in_to(url, show)


async def test_a_server_that_asks_for_no_login_says_so(tmp_path: Path) -> None:
    async def app(scope: dict[str, object], receive: object, send: object) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 202, "headers": []})  # type: ignore[operator]
            await send({"type": "http.response.body", "body": b""})  # type: ignore[operator]

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        async with listening_app(app, listening):
            with pytest.raises(LoginError, match="the server asks for no login"):
                await log_in_to(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp")


def serve_unless(refuse: Callable[[str, str], Response | None]) -> Callable[[Request], Awaitable[Response]]:
    """A server with the tool `echo`, where `refuse` says nothing of a method and a token."""

    async def serve(request: Request) -> Response:
        sent = await request.json()
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if (refused := refuse(sent["method"], token)) is not None:
            return refused
        if "id" not in sent:
            return Response(status_code=202)
        tool = {"name": "echo", "inputSchema": {"type": "object"}}
        version = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "issues", "version": "1"}}
        results: dict[str, object] = {
            "initialize": {**version, "capabilities": {"tools": {}}},
            "tools/list": {"tools": [tool]},
            "tools/call": {"content": [{"type": "text", "text": "fine"}]},
        }
        result = results.get(sent["method"])
        answer = {"error": {"code": -32601, "message": "unknown"}} if result is None else {"result": result}
        return JSONResponse({"jsonrpc": "2.0", "id": sent["id"], **answer})

    return serve


@pytest.mark.parametrize(
    ("challenge", "body", "said"),
    [
        (
            'Bearer error="insufficient_scope", scope="admin"',
            "",
            "HTTP 403 Forbidden; the token lacks the scope admin",
        ),
        (
            "Bearer scope=admin, error=insufficient_scope",
            '{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "too little"}}',
            "HTTP 403 Forbidden: too little; the token lacks the scope admin",
        ),
    ],
)
async def test_a_scope_that_a_call_lacks_is_told_and_asked_for_by_the_next_login(
    challenge: str, body: str, said: str, tmp_path: Path, entries: Path
) -> None:
    authority = Authority()

    def refuse(method: str, token: str) -> Response | None:
        if token not in authority.access:
            return Response(status_code=401)
        if method != "tools/call" or "admin" in authority.access[token].scopes:
            return None
        return Response(body, status_code=403, headers={"www-authenticate": challenge})

    async with oauth_server(authority, instead={"/mcp": serve_unless(refuse)}) as url:
        await log_in_to(url)
        async with ServerBench(tmp_path, issues=McpServerTable(url=url)) as bench:
            assert await bench.servers.settle() == ()
            for _ in range(2):
                with pytest.raises(ToolError) as refused:
                    await bench.call(ECHO)
                command = "(quorum mcp login issues, or /mcp login issues)"
                assert str(refused.value) == f"the MCP server issues refused the call: {said} {command}"

            await log_in_to(url)  # as another process does it

            assert await bench.call(ECHO) == "fine"
    (scopes,) = {tuple(token.scopes) for token in authority.access.values() if "admin" in token.scopes}
    assert scopes == ("user", "admin")


async def test_a_missing_scope_that_is_no_scope_is_neither_shown_nor_asked_for(
    tmp_path: Path, entries: Path
) -> None:
    authority = Authority()

    def refuse(method: str, token: str) -> Response | None:
        if token not in authority.access:
            return Response(status_code=401)
        challenge = f'Bearer error="insufficient_scope", scope="{"a" * 4_000}"'
        return (
            Response(status_code=403, headers={"www-authenticate": challenge})
            if method == "tools/call"
            else None
        )

    async with oauth_server(authority, instead={"/mcp": serve_unless(refuse)}) as url:
        await log_in_to(url)
        async with ServerBench(tmp_path, issues=McpServerTable(url=url)) as bench:
            assert await bench.servers.settle() == ()
            with pytest.raises(ToolError, match=r"403 Forbidden; the token lacks a scope \(quorum mcp login"):
                await bench.call(ECHO)
    assert "missed_scope" not in kept(entries)


@pytest.mark.parametrize("is_open", [("initialize",), ("initialize", "tools/list")])
async def test_a_server_that_wants_a_login_for_its_tools_only_gets_one(
    is_open: tuple[str, ...], tmp_path: Path, entries: Path
) -> None:
    authority = Authority()

    def refuse(method: str, token: str) -> Response | None:
        return None if method in is_open or token in authority.access else Response(status_code=401)

    async with oauth_server(authority, instead={"/mcp": serve_unless(refuse)}) as url:
        await log_in_to(url)
        async with ServerBench(tmp_path, issues=McpServerTable(url=url)) as bench:
            assert await bench.servers.settle() == ()
            assert await bench.call(ECHO) == "fine"
    assert kept(entries)["url"] == url


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://login.example/authorize", "is not https"),
        ("javascript:alert(1)", "not a web address"),
        ("file:///etc/passwd", "not a web address"),
        ("https://login.example@evil.example/", "hides where it leads"),
        ("https://login.example/\u202e", "not a web address"),
        ("https://login.example/\x1b]52;", "not a web address"),
        ("https://" + "a" * 9_000 + ".example/", "not a web address"),
        ("http://127.0.0.1:80/", "of this machine or network"),
        ("https://localhost/", "of this machine or network"),
        ("https://169.254.169.254/latest", "of this machine or network"),
        ("https://[::1]/", "of this machine or network"),
        ("https://10.0.0.1/", "of this machine or network"),
        ("https://2130706433/", "of this machine or network"),
    ],
)
def test_an_address_that_is_not_safe_is_neither_asked_nor_opened(address: str, said: str) -> None:
    with pytest.raises(LoginError, match=said):
        require_safe_address(address, "https://mcp.example.com/mcp")


def test_https_elsewhere_and_this_machine_for_a_server_of_it_are_safe() -> None:
    require_safe_address("https://login.example/authorize?x=1", "https://mcp.example.com/mcp")
    require_safe_address("http://127.0.0.1:8080/authorize", "http://localhost:9000/mcp")


@pytest.mark.parametrize(
    ("path", "answer", "said"),
    [
        ("/token", Response("access_token=hidden-1&token_type=bearer"), "Invalid token response: Invalid JSON"),
        ("/token", JSONResponse({"access_token": {"it": "hidden-2"}}), "access_token: Input should be a valid"),
        ("/register", Response("not here", status_code=404), "404 not here; register a client there yourself"),
    ],
)
async def test_an_answer_that_cannot_be_read_is_told_without_its_values(
    path: str, answer: Response, said: str, entries: Path
) -> None:
    async def give(_request: Request) -> Response:
        return answer

    async with oauth_server(Authority(), instead={path: give}) as url:
        with pytest.raises(LoginError) as failed:
            await log_in_to(url)

    assert said in str(failed.value)
    assert "hidden" not in str(failed.value)
    assert kept(entries) is None
