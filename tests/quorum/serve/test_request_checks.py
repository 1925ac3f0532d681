"""What a browser, another site, another name and another machine get of the server."""

from __future__ import annotations

import aiohttp
import pytest

from quorum.serve.access import PasswordHash
from tests.support.served_site import ServedSite, serving

PASSWORD = "correct horse battery"


async def test_the_link_lets_one_browser_in_and_works_once(capsys: pytest.CaptureFixture[str]) -> None:
    async with serving() as site:
        assert (await site.get("/"))[0] == 303
        await site.enter()
        assert await site.get("/") == (200, "inside")

        site.browser.cookie_jar.clear()
        status, page = await site.get(f"/enter?token={site.token}")
        assert status == 403
        assert "it has been used" in page
        assert (await site.get("/"))[0] == 303
        told = capsys.readouterr()
        assert site.token not in told.out + told.err


async def test_the_cookie_is_for_this_site_alone_and_no_script_reads_it() -> None:
    async with (
        serving() as site,
        site.browser.get(f"{site.url}/enter?token={site.token}", headers={"Host": site.host}) as response,
    ):
        cookie = response.headers["Set-Cookie"]

    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Domain" not in cookie


@pytest.mark.parametrize("token", ["", "x", "%00", "%ff", "a" * 4000])
async def test_a_wrong_token_lets_nobody_in(token: str) -> None:
    async with serving() as site:
        assert (await site.get(f"/enter?token={token}"))[0] == 403
        await site.enter()


async def test_a_link_that_is_fetched_ahead_is_not_used_up() -> None:
    async with serving() as site:
        assert (await site.get(f"/enter?token={site.token}", Sec_Purpose="prefetch"))[0] == 403
        await site.enter()


async def test_tries_of_wrong_tokens_have_a_limit_that_holds_up_nobody_who_is_in() -> None:
    async with serving() as site:
        await site.enter()
        tried = [(await site.get("/enter?token=wrong"))[0] for _ in range(7)]

        assert tried == [403, 403, 403, 403, 403, 429, 429]
        assert (await site.get("/"))[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost", "quorum.localhost", "evil.example:80", ""]
)
async def test_a_request_by_another_name_gets_nothing(host: str) -> None:
    async with serving() as site:
        await site.enter()
        assert (await site.get("/", Host=host))[0] == 421
        assert (await site.get(f"/enter?token={site.token}", Host=host))[0] == 421
        with pytest.raises(aiohttp.WSServerHandshakeError, match="421"):
            async with site.connect("/ws", host=host or "x"):
                pass


async def test_an_explicit_loopback_address_is_known_by_its_number_and_as_localhost() -> None:
    async with serving(address="127.0.0.1") as site:
        await site.enter()
        port = site.endpoint.port
        found = [(await site.get("/", Host=f"{name}:{port}"))[0] for name in ("127.0.0.1", "localhost", "x")]

    assert found == [200, 200, 421]


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "http://127.0.0.1:1"])
async def test_another_origin_gets_nothing_with_the_cookie_either(origin: str) -> None:
    async with serving() as site:
        await site.enter()
        assert (await site.get("/", Origin=origin))[0] == 403
        assert (await site.post("/", {}, Origin=origin))[0] == 403
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            async with site.connect("/ws", origin=origin):
                pass


async def test_a_websocket_and_a_form_say_where_they_come_from() -> None:
    async with serving() as site:
        await site.enter()
        headers = {"Host": site.host}
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            async with site.browser.ws_connect(f"{site.url}/ws", headers=headers):
                pass
        async with site.browser.post(f"{site.url}/", headers=headers) as response:
            assert response.status == 403
        async with site.connect("/ws") as socket:
            assert (await socket.receive_str()) == "inside"


async def test_a_websocket_without_the_cookie_gets_nothing() -> None:
    async with serving() as site:
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            async with site.connect("/ws"):
                pass


async def test_another_site_may_link_here_and_nothing_else() -> None:
    async with serving() as site:
        await site.enter()
        linked = await site.get("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")
        embedded = await site.get("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")
        beside = await site.get("/", Sec_Fetch_Site="same-site", Sec_Fetch_Mode="cors")

    assert [linked[0], embedded[0], beside[0]] == [200, 403, 403]


@pytest.mark.parametrize("path", ["/", "/enter", "/login", "/nowhere", "/static/textual.js", "/fail"])
async def test_every_response_says_what_browsers_may_do_with_it(path: str) -> None:
    async with serving() as site:
        await site.enter()
        async with site.browser.get(f"{site.url}{path}", headers={"Host": site.host}) as response:
            headers = response.headers

    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == ("no-referrer" if path == "/enter" else "same-origin")
    assert "aiohttp" not in headers["Server"]


async def test_files_are_served_to_those_that_are_in_and_only_the_named_ones() -> None:
    async with serving() as site:
        assert (await site.get("/static/textual.js"))[0] == 403
        await site.enter()
        assert (await site.get("/static/textual.js"))[0] == 200
        for path in ("/static/", "/static/../server.py", "/static/%2e%2e/server.py", "/download/x"):
            assert (await site.get(path))[0] in {403, 404}


async def test_a_failure_inside_is_one_sentence_and_names_no_address(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with serving() as site:
        await site.enter()
        status, text = await site.get("/fail")

    assert status == 500
    assert "it broke" not in text
    assert "RuntimeError: it broke" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "HEAD"])
async def test_other_methods_are_refused(method: str) -> None:
    async with serving() as site:
        await site.enter()
        async with site.browser.request(method, f"{site.url}/", headers={"Host": site.host}) as response:
            assert response.status == 405


# -- with a password ------------------------------------------------------------------------------------------


async def log_in(site: ServedSite, password: str) -> int:
    return (await site.post("/login", {"password": password}))[0]


@pytest.mark.long
async def test_a_password_lets_browsers_in_and_no_link_does() -> None:
    async with serving(password=PasswordHash(PASSWORD)) as site:
        assert (await site.get(f"/enter?token={site.token}"))[0] == 303
        assert 'type="password"' in (await site.get("/login"))[1]
        assert await log_in(site, PASSWORD[:-1]) == 403
        assert (await site.get("/"))[0] == 303
        assert await log_in(site, PASSWORD) == 303
        assert await site.get("/") == (200, "inside")


@pytest.mark.long
async def test_wrong_passwords_have_a_limit_which_holds_for_the_right_one_too() -> None:
    async with serving(password=PasswordHash(PASSWORD)) as site:
        tried = [await log_in(site, wrong) for wrong in ("", "a", "b", "\u202e", "x" * 5000)]

        assert tried == [403] * 5
        assert await log_in(site, PASSWORD) == 429


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded", b"password=%ff\xff"),
        ("application/x-www-form-urlencoded; charset=nowhere", b"password=a"),
        ("multipart/form-data; boundary=x", b"--x\r\n"),
        ("text/plain", b"password=a"),
        ("application/x-www-form-urlencoded", b"password=" + b"a" * 100_000),
    ],
)
async def test_what_is_no_form_is_refused_and_the_server_goes_on(kind: str, body: bytes) -> None:
    async with serving(password=PasswordHash(PASSWORD)) as site:
        headers = {"Host": site.host, "Origin": site.origin, "Content-Type": kind}
        async with site.browser.post(f"{site.url}/login", data=body, headers=headers) as response:
            assert response.status in {400, 403, 413}
        assert await log_in(site, PASSWORD) == 303


async def test_the_form_of_another_site_logs_nobody_in() -> None:
    async with serving(password=PasswordHash(PASSWORD)) as site:
        form = {"password": PASSWORD}
        assert (await site.post("/login", form, Origin="https://evil.example"))[0] == 403
        assert (await site.get("/"))[0] == 303
