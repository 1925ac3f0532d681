from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from quorum.domain.errors import ToolError
from quorum.infrastructure.tools.web.fetching import WebFetch
from quorum.infrastructure.tools.web.retrieval import Retrieval
from tests.infrastructure.tools.calling import a_context
from tests.infrastructure.tools.web.web_server import Answer, WebServer, a_guard, redirect


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for docs.site.net, signed by itself, and its key."""
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("no program openssl here to make a certificate with")
    folder = tmp_path_factory.mktemp("certificate")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "2", "-subj", "/CN=docs.site.net", "-addext", "subjectAltName=DNS:docs.site.net"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return certificate, key


def a_server(pages, certificate: tuple[Path, Path]) -> WebServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return WebServer(pages, context)


def a_fetch(trusted: Path | None) -> WebFetch:
    certificates = ssl.create_default_context(cafile=trusted) if trusted is not None else True
    return WebFetch(Retrieval(a_guard(), max_bytes=10_000, timeout_secs=30, certificates=certificates))


async def test_the_certificate_is_that_of_the_name_although_the_address_is_connected_to(certificate):
    async with a_server({"/": Answer(body=b"secret")}, certificate) as server:
        result = await a_fetch(certificate[0]).execute({"url": server.at("/")}, a_context())

    assert result.endswith("secret")
    assert server.asked[0].server_name == "docs.site.net"


async def test_a_name_with_a_trailing_dot_is_the_same_name_to_the_certificate(certificate):
    async with a_server({"/": Answer(body=b"secret")}, certificate) as server:
        url = server.at("/", "docs.site.net.")
        result = await a_fetch(certificate[0]).execute({"url": url}, a_context())

    assert result.endswith("secret")


async def test_a_certificate_that_nobody_vouches_for_is_refused(certificate):
    async with a_server({"/": Answer()}, certificate) as server:
        with pytest.raises(ToolError, match=r"the certificate of docs\.site\.net is not valid: self.signed"):
            await a_fetch(None).execute({"url": server.at("/")}, a_context())

    assert server.asked == []


async def test_a_certificate_of_another_name_is_refused_also_after_a_redirect(certificate):
    async with a_server({}, certificate) as server:
        server.pages["/"] = redirect(server.at("/", "other.site.net"))
        with pytest.raises(ToolError, match=r"the certificate of other\.site\.net is not valid: .*mismatch"):
            await a_fetch(certificate[0]).execute({"url": server.at("/")}, a_context())

    assert server.targets == ["/"]


async def test_a_server_that_speaks_no_tls_is_reported():
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 a mail server\r\n")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        url = f"https://docs.site.net:{server.sockets[0].getsockname()[1]}/"
        with pytest.raises(ToolError, match=r"no secure connection to docs\.site\.net: WRONG.VERSION"):
            await a_fetch(None).execute({"url": url}, a_context())
