"""The installed `quorum serve` as a process: a browser's side, and a command of the model that wants in."""

from __future__ import annotations

import asyncio
import re
import signal
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from tests.support.headless_run import QUORUM, configure, environment
from tests.support.served_site import find_values

PASSWORD = "correct horse battery"
_PATIENCE_SECS = 60.0
_SEQUENCES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")

# What a command of a model tries: the page, by its name and with the cookie, had it got hold of both.
ATTACK = """
import http.client, os, sys
host, port, cookie = sys.argv[1:4]
connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)
connection.request("GET", "/", headers={"Host": f"{host}:{port}", "Cookie": cookie})
response = connection.getresponse()
open("found", "w").write(f"{response.status} {response.read().decode()}")
os.rename("found", "found.txt")
"""


@dataclass
class Serving:
    """A running server as its terminal shows it, and a browser."""

    process: asyncio.subprocess.Process
    link: str
    browser: aiohttp.ClientSession

    @property
    def host(self) -> str:
        """The Host header."""
        return self.link.split("/")[2]

    @property
    def base(self) -> str:
        """The address by number."""
        return f"http://127.0.0.1:{self.host.partition(':')[2]}"

    @property
    def headers(self) -> dict[str, str]:
        """What a browser sends with a form or a websocket."""
        return {"Host": self.host, "Origin": f"http://{self.host}"}

    async def get(self, path: str) -> tuple[int, str]:
        """Status and body."""
        headers = {"Host": self.host}
        async with self.browser.get(f"{self.base}{path}", headers=headers, allow_redirects=False) as response:
            return response.status, await response.text()

    async def ended(self) -> tuple[int, str]:
        """Exit code and stderr."""
        _, err = await asyncio.wait_for(self.process.communicate(), _PATIENCE_SECS)
        assert self.process.returncode is not None
        return self.process.returncode, err.decode()


@asynccontextmanager
async def serving(project: Path, home: Path, *arguments: str) -> AsyncIterator[Serving]:
    process = await asyncio.create_subprocess_exec(
        QUORUM,
        "serve",
        "--port",
        "0",
        *arguments,
        cwd=project,
        env=environment(home, QUORUM_SERVE_PASSWORD=PASSWORD),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with (
            asyncio.timeout(_PATIENCE_SECS),
            aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
        ):
            await process.stdout.readline()
            link = (await process.stdout.readline()).decode().strip()
            yield Serving(process, link, browser)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


class Screen:
    """The websocket of a page."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket, self.painted = socket, b""

    async def shows(self, text: str) -> None:
        """Until this has been painted."""
        while text.encode() not in _SEQUENCES.sub(b"", self.painted):
            self.painted += await self.socket.receive_bytes()

    async def type(self, text: str) -> None:
        """Press keys."""
        await self.socket.send_json(["stdin", text])


@asynccontextmanager
async def opened(served: Serving) -> AsyncIterator[Screen]:
    assert (await served.get(served.link.partition(served.host)[2]))[0] == 200
    _, page = await served.get("/")
    found = re.search(r'data-session-websocket-url="ws://[^/]+([^"]+)"', page)
    assert found is not None
    url = f"{served.base}{found[1]}?width=100&height=30"
    async with served.browser.ws_connect(url, headers=served.headers) as socket:
        yield Screen(socket)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.02)


async def until_there(file: Path) -> None:
    """Wait for a file."""
    await until(file.exists)


def children_of(pid: int) -> list[int]:
    """The processes that this one started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("first = 1\n", encoding="utf-8")
    (folder / "attack.py").write_text(ATTACK, encoding="utf-8")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


async def test_it_prints_a_link_that_no_other_process_can_read_off(project: Path, home: Path) -> None:
    async with serving(project, home) as served:
        secret = served.link.partition("token=")[2]
        process = Path(f"/proc/{served.process.pid}")
        seen = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        assert len(secret) > 40
        assert secret.encode() not in seen
        assert (await served.get("/"))[0] == 303

        served.process.send_signal(signal.SIGTERM)
        code, err = await served.ended()

    assert code == 143
    assert secret not in err


@pytest.mark.long
async def test_a_review_is_answered_in_the_browser_and_the_session_can_be_resumed(
    project: Path, home: Path
) -> None:
    async with serving(project, home) as served:
        async with opened(served) as screen:
            await screen.shows("offline")
            await screen.type("replace first with primo in a.py\r")
            await screen.shows("y approve")
            while (project / "a.py").read_text(encoding="utf-8") == "first = 1\n":
                await screen.type("y")  # keys are dead at first, and while they keep coming
                await asyncio.sleep(1)
        served.process.send_signal(signal.SIGINT)
        code, err = await served.ended()

    assert code == 130
    assert "resume with: quorum --resume" in err
    assert (project / "a.py").read_text(encoding="utf-8") == "primo = 1\n"


@pytest.mark.long
async def test_a_review_of_the_app_in_the_browser_is_approved_on_the_page(project: Path, home: Path) -> None:
    async with serving(project, home, "--approvals") as served, opened(served) as screen:
        await screen.shows("offline")
        await screen.type("replace first with primo in a.py\r")
        await screen.shows("y approve")
        links: list[str] = []
        while not links:
            links = re.findall(r'class="card" href="([^"]+)"', (await served.get("/approvals"))[1])
        _, page = await served.get(links[0])
        form = {"csrf": find_values("csrf", page)[0], "digest": find_values("digest", page)[0]}
        async with served.browser.post(
            f"{served.base}{links[0]}", data={**form, "decision": "approve"}, headers=served.headers
        ) as response:
            assert response.status == 200
        await until(lambda: (project / "a.py").read_text(encoding="utf-8") == "primo = 1\n")


@pytest.mark.long
async def test_a_command_of_the_model_gets_nothing_even_with_the_cookie(project: Path, home: Path) -> None:
    configure(home, '[tools.run_command]\nsandbox = "off"\n')
    async with serving(project, home, "--mode", "auto") as served, opened(served) as screen:
        await screen.shows("offline")
        name, _, port = served.host.partition(":")
        (cookie,) = served.browser.cookie_jar
        command = f"python3 attack.py {name} {port} {cookie.key}={cookie.value}"
        await screen.type(f"run `{command}`\r")
        await until_there(project / "found.txt")
        found = (project / "found.txt").read_text(encoding="utf-8")

    assert found.startswith("403 what quorum itself started is not served")


@pytest.mark.long
async def test_commands_see_neither_the_password_nor_how_the_app_is_drawn(project: Path, home: Path) -> None:
    configure(home, '[tools.run_command]\nsandbox = "off"\n')
    async with serving(project, home, "--mode", "auto") as served, opened(served) as screen:
        await screen.shows("offline")
        await screen.type("run `env > seen.partial && mv seen.partial seen.txt`\r")
        await until_there(project / "seen.txt")
        seen = (project / "seen.txt").read_text(encoding="utf-8")

    assert PASSWORD not in seen
    assert not re.findall(r"^(TEXTUAL_\w+|COLUMNS|ROWS)=", seen, re.MULTILINE)


@pytest.mark.long
async def test_a_server_that_is_killed_takes_its_apps_with_it(project: Path, home: Path) -> None:
    async with serving(project, home) as served, opened(served) as screen:
        await screen.shows("offline")
        pids = children_of(served.process.pid)
        assert pids
        served.process.kill()
        await served.process.wait()
        await until(lambda: not any(is_running(pid) for pid in pids))


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--address", "0.0.0.0"], "--tls-cert"),
        (["--token-fd", "3"], "--token-fd goes with --socket"),
        (["--socket", "q"], "--socket goes with --approvals"),
        (["--approvals", "--socket", "q", "--token-fd", "77"], "cannot be read from descriptor 77"),
        (["--port", "65536"], "no port"),
        (["--workdir", "nowhere"], "cannot work in"),
        (["--password-file", "p"], "--password-file goes with --address"),
    ],
    ids=str,
)
async def test_what_cannot_be_served_ends_with_a_sentence(
    arguments: list[str], expected: str, project: Path, home: Path
) -> None:
    process = await asyncio.create_subprocess_exec(
        QUORUM,
        "serve",
        *arguments,
        cwd=project,
        env=environment(home),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), _PATIENCE_SECS)

    assert (process.returncode, out) == (2, b"")
    assert expected in err.decode()
    assert "Traceback" not in err.decode()


@pytest.mark.long
async def test_the_sockets_of_the_apps_are_in_a_folder_that_is_removed(project: Path, home: Path) -> None:
    scratch = home / "tmp"
    scratch.mkdir()
    process = await asyncio.create_subprocess_exec(
        QUORUM,
        "serve",
        "--port",
        "0",
        "--approvals",
        cwd=project,
        env=environment(home, TMPDIR=str(scratch)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    await process.stdout.readline()
    (folder,) = scratch.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    process.send_signal(signal.SIGTERM)
    await asyncio.wait_for(process.communicate(), _PATIENCE_SECS)

    assert not list(scratch.iterdir())
