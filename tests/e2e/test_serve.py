"""The installed `quorum serve` as a process: a browser's side, and a command of the model that wants in."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import stat
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.support import headless_run
from tests.support.browser_client import ServedQuorum, serve_a_browser
from tests.support.headless_run import QUORUM, configure, environment

PASSWORD = "correct horse battery"
_PATIENCE_SECS = 120.0

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


def serving(project: Path, home: Path, *arguments: str) -> AbstractAsyncContextManager[ServedQuorum]:
    return serve_a_browser(project, environment(home, QUORUM_SERVE_PASSWORD=PASSWORD), *arguments)


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
    except (FileNotFoundError, ProcessLookupError):
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


@pytest.mark.long
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
        async with served.open() as screen:
            await screen.shows("offline")
            await screen.type("replace first with primo in a.py\r")
            await screen.shows("y yes")
            while (project / "a.py").read_text(encoding="utf-8") == "first = 1\n":
                await screen.type("y")  # keys are dead at first, and while they keep coming
                await asyncio.sleep(1)
        served.process.send_signal(signal.SIGINT)
        code, err = await served.ended()

    assert code == 130
    assert "quorum --resume" in err
    assert (project / "a.py").read_text(encoding="utf-8") == "primo = 1\n"


@pytest.mark.long
async def test_a_review_of_the_app_in_the_browser_is_approved_on_the_page(project: Path, home: Path) -> None:
    async with serving(project, home, "--approvals") as served, served.open() as screen:
        await screen.shows("offline")
        await screen.type("replace first with primo in a.py\r")
        await screen.shows("y yes")
        links: list[str] = []
        while not links:
            links = await served.find_reviews()
        assert await served.decide(links[0], "approve") == 200
        await until(lambda: (project / "a.py").read_text(encoding="utf-8") == "primo = 1\n")


@pytest.mark.long
async def test_a_command_of_the_model_gets_nothing_even_with_the_cookie(project: Path, home: Path) -> None:
    configure(home, '[tools.run_command]\nsandbox = "off"\n')
    async with serving(project, home, "--mode", "auto") as served, served.open() as screen:
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
    async with serving(project, home, "--mode", "auto") as served, served.open() as screen:
        await screen.shows("offline")
        await screen.type("run `env > seen.partial && mv seen.partial seen.txt`\r")
        await until_there(project / "seen.txt")
        seen = (project / "seen.txt").read_text(encoding="utf-8")

    assert PASSWORD not in seen
    assert not re.findall(r"^(TEXTUAL_\w+|COLUMNS|ROWS)=", seen, re.MULTILINE)


@pytest.mark.long
async def test_a_server_that_is_killed_takes_its_apps_with_it(project: Path, home: Path) -> None:
    async with serving(project, home) as served, served.open() as screen:
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
    ended = await headless_run.run_quorum("serve", *arguments, cwd=project, env=environment(home))

    assert (ended.code, ended.out) == (2, "")
    assert expected in ended.err
    assert "Traceback" not in ended.err


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


@pytest.mark.long
async def test_a_review_waits_for_the_page_that_is_opened_again_and_nothing_runs_meanwhile(
    project: Path, home: Path
) -> None:
    async with serving(project, home) as served:
        async with served.open() as screen:
            await screen.shows("offline")
            await screen.type("replace first with primo in a.py\r")
            await screen.shows("y yes")
        await until(lambda: not children_of(served.process.pid))
        async with served.open_terminal("/?continue=1") as screen:
            await screen.shows("y yes")
            assert (project / "a.py").read_text(encoding="utf-8") == "first = 1\n"
            while (project / "a.py").read_text(encoding="utf-8") == "first = 1\n":
                await screen.type("y")  # keys are dead at first, and while they keep coming
                await asyncio.sleep(1)
        served.process.send_signal(signal.SIGINT)
        _, err = await served.ended()

    assert "a review waits for your answer; " in err
    assert "quorum inbox lists it" in err
    assert (project / "a.py").read_text(encoding="utf-8") == "primo = 1\n"


@pytest.mark.long
async def test_a_review_of_a_closed_page_is_answered_in_the_inbox(project: Path, home: Path) -> None:
    async with serving(project, home) as served:
        async with served.open() as screen:
            await screen.shows("offline")
            await screen.type("replace first with primo in a.py\r")
            await screen.shows("y yes")
        await until(lambda: not children_of(served.process.pid))
        (waiting,) = json.loads(await run_quorum(home, project, "inbox", "--json"))
        await run_quorum(home, project, "inbox", "approve", waiting["digest"])
        assert (project / "a.py").read_text(encoding="utf-8") == "first = 1\n"
        async with served.open_terminal("/?continue=1") as screen:
            await until(lambda: (project / "a.py").read_text(encoding="utf-8") == "primo = 1\n")
            await screen.shows("a.py")


async def run_quorum(home: Path, project: Path, *words: str) -> str:
    """What a command of quorum prints."""
    return (await headless_run.run_quorum(*words, cwd=project, env=environment(home))).out
