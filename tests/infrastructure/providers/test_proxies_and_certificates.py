from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.models.shared.failures import find_proxy
from tests.support.loopback_net import NET_VARIABLES, Answer, Authority, LoopbackProxy, RecordingServer
from tests.support.refusing_port import refusing_port
from tests.support.sse_server import Dialect, Say, scripted_events

DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai", "openai-chat")
HOST = "models.example"


@pytest.fixture(autouse=True)
def _no_net_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NET_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def context(authority: Authority) -> ssl.SSLContext:
    return authority.server_context(HOST, "localhost")


@asynccontextmanager
async def _gateway(
    dialect: Dialect, address: str = f"https://{HOST}", retries: int = 0
) -> AsyncIterator[ProviderRegistry]:
    settings = ProviderSettings(type=dialect, base_url=address, api_key_env="KEY", max_retries=retries)
    gateway = ProviderRegistry({"mine": settings}, environ={"KEY": "k"})
    try:
        yield gateway
    finally:
        await gateway.aclose()


async def _said(dialect: Dialect, address: str = f"https://{HOST}") -> str:
    async with _gateway(dialect, address) as gateway:
        return (await gateway.open_session("mine/m", Conversation(), "").send("hi")).text_content()


async def _failure(dialect: Dialect, address: str = f"https://{HOST}", retries: int = 0) -> ProviderError:
    async with _gateway(dialect, address, retries) as gateway:
        with pytest.raises(ProviderError) as caught:
            await gateway.open_session("mine/m", Conversation(), "").send("hi")
    return caught.value


def _ok(dialect: Dialect) -> Answer:
    return Answer(pieces=scripted_events(dialect, Say(pieces=("there",))))


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_request_goes_through_the_proxy_of_the_environment_to_a_server_of_an_own_authority(
    dialect: Dialect, authority: Authority, context: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        RecordingServer(_ok(dialect), context=context) as server,
        LoopbackProxy(server.port, password="bWU6c2VjcmV0") as proxy,
    ):
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//me:secret@"))
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        assert await _said(dialect) == "there"
    assert proxy.asked_for == [f"{HOST}:443"]
    assert "proxy-authorization" not in server.asked[0].headers


def _name_in_folder(certificate: Path) -> str:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here, which names the files of such a folder")
    ask = ["openssl", "x509", "-hash", "-noout", "-in", str(certificate)]
    return subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip() + ".0"


async def test_a_folder_of_certificates_is_trusted(
    authority: Authority, context: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / _name_in_folder(authority.file)).write_bytes(authority.file.read_bytes())
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    async with RecordingServer(_ok("openai"), context=context) as server:
        assert await _said("openai", f"https://localhost:{server.port}") == "there"


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
async def test_a_server_without_tls_is_asked_through_a_proxy_too(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with RecordingServer(_ok("openai-chat")) as server, LoopbackProxy(server.port) as proxy:
        monkeypatch.setenv(variable, proxy.url)
        assert await _said("openai-chat", f"http://{HOST}/v1") == "there"
    assert proxy.asked_for == [f"http://{HOST}/v1/chat/completions"]


async def test_a_host_that_no_proxy_names_is_asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    async with RecordingServer(_ok("anthropic")) as server, LoopbackProxy(server.port) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,.example")
        assert await _said("anthropic", server.url) == "there"
    assert proxy.asked_for == []


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_untrusted_certificate_is_one_error_that_names_the_variable_to_set(
    dialect: Dialect, context: ssl.SSLContext
) -> None:
    async with RecordingServer(context=context) as server:
        error = await _failure(dialect, f"https://localhost:{server.port}", retries=2)
    assert (error.kind, error.retryable) == (ProviderErrorKind.CONNECTION, False)
    assert f"the certificate of https://localhost:{server.port} is not trusted: " in str(error)
    assert "set SSL_CERT_FILE to the file with its certificate" in str(error)


@pytest.mark.parametrize(
    ("host", "days", "words"), [("other.example", 1, "Hostname mismatch"), ("localhost", -1, "has expired")]
)
async def test_a_certificate_that_is_at_fault_itself_asks_for_no_other_authority(
    host: str, days: int, words: str, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    async with RecordingServer(context=authority.server_context(host, days_valid=days)) as server:
        error = await _failure("openai", f"https://localhost:{server.port}", retries=2)
    assert words in str(error)
    assert "SSL_CERT_FILE" not in str(error)


@pytest.mark.parametrize("address", [f"https://{HOST}/v1", f"http://{HOST}/v1"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_proxy_that_wants_to_know_who_asks_says_how_to_tell_it(
    dialect: Dialect, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = "HTTPS_PROXY" if address.startswith("https") else "HTTP_PROXY"
    async with LoopbackProxy(1, password="the right one") as proxy:
        monkeypatch.setenv(variable, proxy.url.replace("//", "//me:hunter2@"))
        error = await _failure(dialect, address, retries=2)
    assert str(error) == (
        f"the proxy {proxy.url} wants to know who asks (407); write your name and password into {variable}, "
        "as http://NAME:PASSWORD@HOST:PORT"
    )
    assert len(proxy.asked_for) == 1


async def test_a_proxy_that_refuses_the_way_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with LoopbackProxy(1, status="403 Forbidden") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        error = await _failure("openai", retries=2)
    assert f"the proxy {proxy.url} does not lead to https://{HOST}: 403 Forbidden; check HTTPS_PROXY" in str(
        error
    )
    assert len(proxy.asked_for) == 1


async def test_a_proxy_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with refusing_port() as port:
        monkeypatch.setenv("ALL_PROXY", f"http://me:hunter2@127.0.0.1:{port}")
        error = await _failure("anthropic")
    assert str(error) == (
        f"cannot connect to https://{HOST} through the proxy http://127.0.0.1:{port} of ALL_PROXY: "
        "connection refused (does the server run?)"
    )
    assert error.retryable


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1080", "nonsense://h"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_proxy_of_a_kind_that_cannot_be_used_is_a_clear_error(
    dialect: Dialect, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    error = await _failure(dialect)
    assert error.kind is ProviderErrorKind.CONFIGURATION
    assert "ALL_PROXY" in str(error)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_such_a_proxy_is_no_obstacle_to_a_host_that_is_asked_without_it(
    dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5h://127.0.0.1:1080")
    monkeypatch.setenv("NO_PROXY", "127.0.0.0/8")
    async with RecordingServer(_ok(dialect)) as server:
        assert await _said(dialect, server.url) == "there"


def test_where_no_proxy_is_set_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_proxy(f"https://{HOST}") is None
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", HOST)
    assert find_proxy(f"https://{HOST}") is None
    elsewhere = find_proxy("https://other.example")
    assert elsewhere is not None
    assert elsewhere.address == "http://proxy.example:3128"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "entries", ["localhost,127.0.0.0/8,::1/128", "[::1],127.0.0.1", "no[where, fd00::/999, 127.0.0.1/8"]
)
async def test_networks_bypass_the_proxy_and_entries_that_cannot_be_read_are_passed_over(
    dialect: Dialect, entries: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:3128")
    monkeypatch.setenv("NO_PROXY", entries)
    async with RecordingServer(_ok(dialect)) as server:
        assert await _said(dialect, server.url) == "there"


@pytest.mark.parametrize("entries", ["fd00::/8,10.0.0.0/8", "[fd00::]/8, 10.1.2.3"])
def test_a_proxy_is_not_named_for_an_address_in_a_network_that_bypasses_it(
    entries: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", entries)
    assert find_proxy("https://[fd07::1]:8443/v1") is None
    assert find_proxy("https://10.1.2.3") is None
    assert find_proxy("https://11.1.2.3") is not None
