"""Commands that use a secret without having it: real programs, and a host with TLS of its own on loopback."""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from msgspec import Struct

from quorum.domain.shell.network_hosts import HostList, sort_entries
from quorum.infrastructure.execution.network.command_secrets import CommandSecrets
from quorum.infrastructure.execution.sandbox.session_tmp import SessionTmp
from tests.infrastructure.sandbox.sandbox_bench import Household, git, needs_bubblewrap
from tests.infrastructure.sandbox.test_network_by_host import NPM, a_package, a_wheel
from tests.support.loopback_net import Authority

pytestmark = needs_bubblewrap
_HOST = "api.example.org"
_VALUE = "ghp_realrealrealreal0001"
_REPOSITORY = "/project.git/"


class Table(Struct, frozen=True):
    hosts: tuple[str, ...]
    command: tuple[str, ...] = ()


class Host:
    """A web server with TLS that answers only who has the secret."""

    def __init__(self, context: ssl.SSLContext, folder: Path) -> None:
        self.pages: dict[str, bytes] = {}
        self.folder = folder
        self.sent: list[str] = []
        host = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                sent = self.headers.get("Authorization", "")
                host.sent.append(sent)
                login = sent.removeprefix("Basic ") if sent.startswith("Basic ") else ""
                if _VALUE not in sent + base64.b64decode(login).decode():
                    self._answer(401, b"who are you?", WWW_Authenticate='Basic realm="x"')
                elif (page := host.find_page(self.path)) is None:
                    self._answer(404, b"nothing here")
                else:
                    self._answer(200, page)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            def _answer(self, status: int, page: bytes, **headers: str) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Type", "application/json" if page[:1] == b"{" else "text/html")
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_words: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self.url = f"https://{_HOST}:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def find_page(self, path: str) -> bytes | None:
        file = self.folder / path.partition("?")[0].removeprefix("/")
        return self.pages.get(path) or (file.read_bytes() if file.is_file() else None)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    resolve = socket.getaddrinfo

    def resolve_to_host(name: object, *words: object, **named: object) -> object:
        is_name = isinstance(name, str) and name.endswith(".example.org")
        return resolve("127.0.0.1" if is_name else name, *words, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", resolve_to_host)
    (tmp_path / "files").mkdir()
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))  # whom the proxy trusts
    host = Host(authority.server_context(_HOST), tmp_path / "files")
    yield host
    host.close()


@pytest.fixture
def closed(household: Household, host: Host, tmp_path: Path) -> Iterator[Household]:
    names, ranges = sort_entries([f"*.example.org:{host.port}", "127.0.0.1"])
    household.network, household.hosts = False, HostList(allowed=names, ranges=ranges)
    household.secrets = CommandSecrets({"TOKEN": Table((f"{_HOST}:{host.port}",))}, {"TOKEN": _VALUE})
    household.tmp = SessionTmp(tmp_path / "tmp")
    yield household
    household.tmp.close()


async def test_curl_uses_a_secret_that_it_does_not_have(closed: Household, host: Host) -> None:
    host.pages["/user"] = b"it is you"
    curl = f'echo "$TOKEN"; curl -sS -H "Authorization: Bearer $TOKEN" {host.url}/user'

    output = await closed.run(curl)

    placeholder, *rest = output.splitlines()
    assert placeholder.startswith("ghp_")
    assert placeholder != _VALUE
    assert rest[0].startswith("it is you")
    assert f"secrets put in: TOKEN for {_HOST}" in output
    assert host.sent == [f"Bearer {_VALUE}"]


async def test_what_is_approved_names_the_secret_and_its_hosts(closed: Household, host: Host) -> None:
    seal = await closed.tool().seal({"command": "true"}, {})

    assert f"; TOKEN put in for {_HOST}:{host.port}" in (seal.sandbox or "")


@pytest.mark.parametrize("has_network", [True, False])
async def test_a_command_without_the_proxy_has_no_part_of_it_and_is_told_if_it_fails(
    closed: Household, has_network: bool
) -> None:
    closed.network, closed.hosts = has_network, None

    output = await closed.run('echo "<$TOKEN>"; false')

    assert output.startswith("<>")
    assert "TOKEN is not handed over: that takes the sandbox, and a list of hosts" in output
    assert "handed over" not in await closed.run("true")


async def test_commands_cannot_change_whom_later_ones_trust(closed: Household, host: Host) -> None:
    assert "Read-only file system" in await closed.run('echo x >> "$SSL_CERT_FILE"')


@pytest.mark.long
async def test_git_clones_with_a_login_that_it_does_not_have(closed: Household, host: Host) -> None:
    source = host.folder / "source"
    source.mkdir()
    (source / "a.txt").write_text("a\n")
    for words in (
        ["init", "--quiet"],
        ["add", "a.txt"],
        ["commit", "--quiet", "--message", "first"],
        ["clone", "--quiet", "--bare", ".", str(host.folder / "project.git")],
    ):
        git(source, *words)
    git(host.folder / "project.git", "update-server-info")
    url = host.url.replace("https://", "https://me:$TOKEN@")

    output = await closed.run(
        f'git clone --quiet "{url}{_REPOSITORY}" copy && cat copy/a.txt', was_asked=True, timeout_secs=120
    )

    assert output.splitlines()[0] == "a", output
    assert _VALUE not in (closed.root / "copy/.git/config").read_text()


@pytest.mark.long
async def test_pip_installs_with_a_login_that_it_does_not_have(closed: Household, host: Host) -> None:
    wheel = "greeter-1.0-py3-none-any.whl"
    host.pages |= {f"/files/{wheel}": a_wheel("greeter")}
    host.pages["/simple/greeter/"] = f'<a href="/files/{wheel}">{wheel}</a>'.encode()
    index = host.url.replace("https://", "https://me:$TOKEN@")

    output = await closed.run(
        "python3 -m pip install --disable-pip-version-check --no-cache-dir --retries 0 --target deps "
        f'--index-url "{index}/simple" greeter',
        timeout_secs=300,
    )

    assert "Successfully installed greeter-1.0" in output


@pytest.mark.long
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
async def test_npm_installs_with_a_token_that_it_does_not_have(closed: Household, host: Host) -> None:
    package = a_package({"package.json": '{"name": "greeter", "version": "1.0.0"}', "index.js": "1\n"})
    dist = {
        "tarball": f"{host.url}/greeter.tgz",
        "shasum": hashlib.sha1(package, usedforsecurity=False).hexdigest(),
    }
    version = {"name": "greeter", "version": "1.0.0", "dist": dist}
    listed = {"name": "greeter", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
    host.pages |= {"/greeter": json.dumps(listed).encode(), "/greeter.tgz": package}
    closed.readable = [NPM]
    address = host.url.removeprefix("https:")
    (closed.root / "npm.conf").write_text(f"registry={host.url}/\n{address}/:_authToken=${{TOKEN}}\n")

    output = await closed.run(
        "npm install --userconfig npm.conf --no-audit --no-fund --no-update-notifier --fetch-retries 0 greeter",
        timeout_secs=300,
    )

    assert "added 1 package" in output, output
    assert set(host.sent) == {f"Bearer {_VALUE}"}


_NODE = """
fetch(process.argv[1], {headers: {authorization: 'Bearer ' + process.env.TOKEN}})
    .then(answer => answer.text()).then(console.log)
"""
_HTTPX = """
import httpx, os, sys
print(httpx.get(sys.argv[1], headers={"authorization": "Bearer " + os.environ["TOKEN"]}).text)
"""


def _find_node() -> str | None:
    """One whose `fetch` knows proxies: 22.21, 24.5 and later."""
    if shutil.which("node") is None:
        return None
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    version = [int(each) for each in said.strip().removeprefix("v").split(".")[:2]]
    return "node" if version >= [24, 5] or (version[0] == 22 and version[1] >= 21) else None


def _find_folder(program: str) -> str:
    return str(Path(shutil.which(program) or program).resolve().parent)


@pytest.mark.long
@pytest.mark.parametrize(
    ("program", "option", "code"),
    [
        pytest.param(
            "node",
            "-e",
            _NODE,
            marks=pytest.mark.skipif(_find_node() is None, reason="no node that knows proxies"),
        ),
        (sys.executable, "-c", _HTTPX),
    ],
    ids=["node", "httpx"],
)
async def test_a_program_finds_the_proxy_and_trusts_it(
    closed: Household, host: Host, program: str, option: str, code: str
) -> None:
    host.pages["/user"] = b"it is you"
    closed.readable = [_find_folder(program)]

    output = await closed.run(shlex.join([program, option, code, f"{host.url}/user"]), timeout_secs=120)

    assert output.startswith("it is you"), output


@pytest.mark.long
async def test_a_large_upload_of_curl_arrives_whole(closed: Household, host: Host) -> None:
    host.pages["/upload"] = b"thanks"
    (closed.root / "large").write_bytes(b"x" * 30_000_000)

    output = await closed.run(
        f'curl -sS -H "Authorization: token $TOKEN" --data-binary @large {host.url}/upload', timeout_secs=120
    )

    assert output.startswith("thanks")


async def test_a_host_beside_it_is_not_opened(closed: Household, host: Host) -> None:
    """The certificate that the program sees is the server's own, which nobody in the sandbox trusts."""
    output = await closed.run(f"curl -sS https://other.example.org:{host.port}/")

    assert "exit code 60" in output
    assert host.sent == []
