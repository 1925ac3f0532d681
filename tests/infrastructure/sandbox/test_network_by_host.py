"""Commands without network that reach named hosts: real programs, and a server that all names lead to."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import shutil
import socket
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from quorum.domain.calls.summary import extract_text
from quorum.domain.errors import StaleSeal, ToolError
from quorum.domain.review.mode import Mode
from quorum.domain.shell.network_hosts import AskedHost, HostList, read_hosts, sort_entries
from tests.infrastructure.commands.command_bench import RecordingControls, alive_with, context_with
from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap
from tests.infrastructure.sandbox.test_mode_sandboxed import _Session

pytestmark = needs_bubblewrap
_SITE = "packages.example.org"
NPM = str(Path(shutil.which("npm") or "/").resolve().parent.parent)


class Site:
    """A web server on loopback, to which all names lead, and what was asked of it."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {"/": b"welcome"}
        self.asked: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(f"{self.headers['Host']}{self.path}")
                page = site.pages.get(self.path)
                self.send_response(200 if page is not None else 404)
                kind = "application/json" if (page or b"")[:1] == b"{" else "text/html"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(page or b"")))
                self.end_headers()
                self.wfile.write(page or b"")

            def log_message(self, *_words: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    resolve = socket.getaddrinfo

    def resolve_to_site(host: object, *words: object, **named: object) -> object:
        is_name = isinstance(host, str) and host.endswith(".example.org")
        return resolve("127.0.0.1" if is_name else host, *words, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", resolve_to_site)
    site = Site()
    yield site
    site.close()


def a_list(site: Site, *hosts: str) -> HostList:
    """These hosts at the port of the site, and its address for all of them."""
    names, ranges = sort_entries([*(f"{host}:{site.port}" for host in hosts), "127.0.0.1"])
    return HostList(allowed=names, ranges=ranges)


@pytest.fixture
def closed(household: Household) -> Household:
    household.network = False
    return household


async def test_a_listed_host_is_reached_and_another_one_is_refused_and_said(
    closed: Household, site: Site
) -> None:
    closed.hosts = a_list(site, _SITE)
    curl = "curl -s http://{}.example.org:{}/; echo"
    controls = RecordingControls()

    command = curl.format("packages", site.port) + ";" + curl.format("evil", site.port)
    output = extract_text(await closed.tool().execute({"command": command}, context_with(controls)))

    assert output.splitlines()[0] == "welcome"
    assert f"hosts reached: {_SITE}:{site.port}" in output
    assert f"hosts not reached: evil.example.org:{site.port} (nothing allows it)" in output
    assert f'call run_command again with hosts = "evil.example.org:{site.port}"' in output
    assert site.asked == [f"{_SITE}:{site.port}/"]
    assert controls.hosts == [
        AskedHost(_SITE, site.port),
        AskedHost("evil.example.org", site.port, "nothing allows it"),
    ]


@pytest.mark.parametrize(
    "way",
    ["curl -sS --noproxy '*' -m 5 http://packages.example.org:{}/", "curl -sS --noproxy '*' 127.0.0.1:{}"],
)
async def test_there_is_no_way_around_the_proxy(closed: Household, site: Site, way: str) -> None:
    closed.hosts = a_list(site, _SITE)

    output = await closed.run(way.format(site.port))

    assert "welcome" not in output
    assert site.asked == []


async def test_a_host_that_the_person_approved_is_open_to_that_command_alone(
    closed: Household, site: Site
) -> None:
    closed.hosts = a_list(site)
    host, command = f"{_SITE}:{site.port}", f"curl -s http://{_SITE}:{site.port}/"

    assert (await closed.run(command, was_asked=True, hosts=host)).startswith("welcome")
    assert "welcome" not in await closed.run(command)
    with pytest.raises(ToolError, match="is opened only once the person was asked"):
        await closed.run(command, hosts=host)


async def test_a_host_that_is_withheld_stays_closed_though_a_call_is_approved(
    closed: Household, site: Site
) -> None:
    host = f"{_SITE}:{site.port}"
    closed.hosts = HostList(withheld=read_hosts(host), ranges=a_list(site).ranges)

    assert "welcome" not in await closed.run(f"curl -s http://{host}/", was_asked=True, hosts=host)


async def test_commands_with_and_without_hosts_say_so_in_what_is_approved(closed: Household) -> None:
    closed.hosts = HostList(allowed=read_hosts("pypi.org, *.example.org"))
    tool = closed.tool()

    usual = await tool.seal({"command": "true"}, {})
    asking = await tool.seal({"command": "true", "hosts": "PyPI.org, example.net"}, {})
    closed.hosts = HostList()
    none = await closed.tool().seal({"command": "true"}, {})

    assert (usual.sandbox or "").endswith("; network: *.example.org, pypi.org only")
    assert "; network: pypi.org, example.net, and hosts that settings and rules allow" in (asking.sandbox or "")
    assert (none.sandbox or "").endswith("; network off")


@pytest.mark.parametrize("hosts", ["https://pypi.org/", "10.0.0.1", "*", "pypi.org,,", 7])
async def test_what_names_no_hosts_is_refused_before_anything_runs(closed: Household, hosts: object) -> None:
    closed.hosts = HostList()

    with pytest.raises(ToolError, match="hosts"):
        await closed.run("true", was_asked=True, hosts=hosts)  # type: ignore[arg-type]


async def test_where_the_settings_turn_the_network_off_no_host_can_be_asked_for(closed: Household) -> None:
    assert "hosts" not in [each.name for each in closed.tool().definition.parameters]
    with pytest.raises(ToolError, match="reach no hosts; leave out hosts"):
        await closed.run("true", was_asked=True, hosts="pypi.org")


async def test_a_server_of_the_command_itself_is_reached_without_the_proxy(closed: Household) -> None:
    closed.hosts = HostList()
    serve = "python3 -S -m http.server -b 127.0.0.1 8000 >/dev/null 2>&1 &"

    output = await closed.run(f"{serve} curl -s --retry 9 --retry-connrefused --retry-delay 0 localhost:8000")

    assert "Directory listing" in output
    assert "hosts" not in output


async def test_nothing_of_the_proxy_is_left_when_a_command_has_ended(closed: Household, site: Site) -> None:
    closed.hosts = a_list(site, _SITE)
    before = set(os.listdir("/proc/self/fd"))

    await closed.run(f"curl -s http://{_SITE}:{site.port}/")
    for _ in range(200):  # the thread of the proxy ends on its own
        if not any(thread.name == "host-proxy" for thread in threading.enumerate()):
            break
        await asyncio.sleep(0.01)

    assert not any(thread.name == "host-proxy" for thread in threading.enumerate())
    assert len(set(os.listdir("/proc/self/fd")) - before) <= 1  # the listing itself
    assert alive_with(f"http://{_SITE}:{site.port}/") == []


@pytest.mark.parametrize(
    ("network", "hosts", "expected"),
    [
        ("auto", None, (True, (), ())),
        ("auto", "pypi.org", (True, (), ("pypi.org",))),
        (("pypi.org", "10.0.0.0/8"), "example.net", (True, ("10.0.0.0/8",), ("example.net",))),
    ],
)
async def test_the_verdict_on_a_command_names_the_hosts(
    household: Household, network: object, hosts: str | None, expected: tuple[object, ...]
) -> None:
    session = _Session(household, Mode.SANDBOXED, network=network)

    verdict = await session.tool.judge({"command": "make", **({} if hosts is None else {"hosts": hosts})})

    assert verdict is not None
    assert (verdict.is_confined, verdict.reached_hosts, verdict.asked_hosts) == expected


async def test_even_a_command_that_only_reads_is_asked_about_if_it_asks_for_a_host(
    household: Household,
) -> None:
    verdict = await _Session(household, Mode.SANDBOXED).tool.judge({"command": "ls", "hosts": "pypi.org"})

    assert verdict is not None
    assert verdict.asked_hosts == ("pypi.org",)


# ---------------------------------------------------------------- real package managers


def a_wheel(name: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        info = f"{name}-1.0.dist-info"
        archive.writestr(f"{name}.py", "greeting = 'hello'\n")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return content.getvalue()


def a_package(files: Mapping[str, str]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return content.getvalue()


@pytest.mark.long
async def test_pip_installs_from_its_listed_host_and_from_no_other(closed: Household, site: Site) -> None:
    wheel = "greeter-1.0-py3-none-any.whl"
    site.pages |= {f"/files/{wheel}": a_wheel("greeter")}
    site.pages["/simple/greeter/"] = f'<a href="/files/{wheel}">{wheel}</a>'.encode()
    closed.hosts = a_list(site, _SITE)
    install = (
        "python3 -m pip install --disable-pip-version-check --no-cache-dir --retries 0 --target deps "
        f"--trusted-host {{0}} --index-url http://{{0}}:{site.port}/simple greeter"
    )

    output = await closed.run(install.format(_SITE), timeout_secs=300)
    refused = await closed.run(install.format("evil.example.org"), timeout_secs=300)

    assert "Successfully installed greeter-1.0" in output
    assert (closed.root / "deps" / "greeter.py").read_text() == "greeting = 'hello'\n"
    assert "exit code 1" in refused
    assert f"hosts not reached: evil.example.org:{site.port} (nothing allows it)" in refused


@pytest.mark.long
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
async def test_npm_installs_from_its_listed_host_and_from_no_other(closed: Household, site: Site) -> None:
    package = a_package({"package.json": '{"name": "greeter", "version": "1.0.0"}', "index.js": "1\n"})
    version = {
        "name": "greeter",
        "version": "1.0.0",
        "dist": {
            "tarball": f"http://{_SITE}:{site.port}/greeter.tgz",
            "shasum": hashlib.sha1(package, usedforsecurity=False).hexdigest(),
        },
    }
    listed = {"name": "greeter", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
    site.pages |= {"/greeter": json.dumps(listed).encode(), "/greeter.tgz": package}
    closed.hosts = a_list(site, _SITE)
    closed.readable = [NPM]
    install = (
        "npm install --no-audit --no-fund --no-update-notifier --fetch-retries 0 "
        f"--registry http://{{}}:{site.port}/ greeter"
    )

    output = await closed.run(install.format(_SITE), timeout_secs=300)
    shutil.rmtree(closed.root / "node_modules")
    (closed.root / "package-lock.json").unlink()
    refused = await closed.run(install.format("evil.example.org"), timeout_secs=300)

    assert "added 1 package" in output
    assert "added" not in refused
    assert f"hosts not reached: evil.example.org:{site.port} (nothing allows it)" in refused


async def test_what_was_approved_for_a_host_runs_whether_or_not_a_rule_for_it_was_made(
    closed: Household, site: Site
) -> None:
    host = f"{_SITE}:{site.port}"
    given = {"command": f"curl -s http://{host}/", "hosts": host}
    closed.hosts = a_list(site)
    tool = closed.tool()
    seal = await tool.seal(given, {})

    once = extract_text(await tool.execute(given, context_with(RecordingControls(seal, was_asked=True))))
    closed.hosts = a_list(site, _SITE)
    with_rule = extract_text(await tool.execute(given, context_with(RecordingControls(seal, was_asked=True))))
    later = extract_text(await tool.execute(given, context_with(RecordingControls(seal))))

    assert [said[:7] for said in (once, with_rule, later)] == ["welcome"] * 3


async def test_an_approval_for_one_host_is_none_for_another(closed: Household, site: Site) -> None:
    closed.hosts = a_list(site)
    tool, command = closed.tool(), f"curl -s http://evil.example.org:{site.port}/"
    seal = await tool.seal({"command": command, "hosts": _SITE}, {})

    with pytest.raises(StaleSeal, match="sandbox"):
        await tool.execute(
            {"command": command, "hosts": "evil.example.org"},
            context_with(RecordingControls(seal, was_asked=True)),
        )
    assert site.asked == []
