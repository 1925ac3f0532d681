"""The spend question in the installed app, in a pseudo-terminal."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from tests.support.headless_run import configure, configure_for
from tests.support.sse_server import Say, SseServer
from tests.support.terminal import Terminal

QUIT = "\x11"


def app(tmp_path: Path, *arguments: str) -> Terminal:
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    return Terminal(project, tmp_path / "home", rows=24, columns=80, arguments=list(arguments))


def with_cap(home: Path, server: SseServer) -> None:
    home.mkdir()
    configure_for(home, server)
    written = (home / "config" / "quorum" / "quorum.toml").read_text(encoding="utf-8")
    configure(home, f"{written}\n[agent]\nmax_tokens = 10\n")


def killed_while_asked(tmp_path: Path) -> None:
    with app(tmp_path) as terminal:
        terminal.wait_for("local/scripted")
        terminal.submit("go")
        terminal.wait_for("Continue past the spend cap?")
        terminal.process.kill(signal.SIGKILL)
        assert terminal.has_ended(within=120)


def asked_again(tmp_path: Path, answer: str, expected: str) -> None:
    with app(tmp_path, "--continue") as terminal:
        terminal.wait_for("resumed with")
        terminal.submit("/retry")
        terminal.wait_for("Continue past the spend cap?")
        terminal.press_when_awake(answer, expected)
        terminal.type(QUIT)
        assert terminal.ended() == 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("answer", "expected", "requests"), [("n", "more than agent.max_tokens", 0), ("y", "all done", 1)]
)
async def test_killed_while_it_is_open_it_is_asked_again_and_nothing_is_spent_before(
    tmp_path: Path, answer: str, expected: str, requests: int
) -> None:
    async with SseServer("openai-chat") as server:
        with_cap(tmp_path / "home", server)
        server.script = [Say(pieces=["all done"])]

        await asyncio.to_thread(killed_while_asked, tmp_path)
        assert server.bodies == []
        await asyncio.to_thread(asked_again, tmp_path, answer, expected)

        assert len(server.bodies) == requests
