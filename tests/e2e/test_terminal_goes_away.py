"""The terminal is closed, at any moment, and whether or not its signal reaches the app."""

from __future__ import annotations

import asyncio
import os
import secrets
import select
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.infrastructure.commands.command_bench import alive_with
from tests.support.headless_run import configure_for
from tests.support.liveness import is_alive, wait_until
from tests.support.sse_server import Say, SseServer
from tests.support.terminal import CTRL_C, Terminal

CTRL_Q = "\x11"
KEEPS_SIGHUP = """
import signal, subprocess, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
usual = lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)
sys.exit(subprocess.call(sys.argv[1:], preexec_fn=usual))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("first = 1\n", encoding="utf-8")
    return folder


def app(project: Path, *arguments: str, keeps_sighup: bool = True) -> Terminal:
    return Terminal(
        project,
        project.parent / "home",
        rows=40,
        columns=120,
        arguments=list(arguments),
        parent=(sys.executable, "-c", KEEPS_SIGHUP) if keeps_sighup else (),
    )


def quorum_below(terminal: Terminal) -> int:
    """The process of the app itself, once its parent has started it."""
    parent = terminal.process.pid
    children = Path(f"/proc/{parent}/task/{parent}/children")
    wait_until(lambda: bool(children.read_text(encoding="ascii").strip()), what="the app's start")
    return int(children.read_text(encoding="ascii").split()[0])


def look_for(terminal: Terminal, secs: float) -> None:
    """Take what is painted for so long, as terminals do: this is the moment at which it is closed."""
    deadline = time.monotonic() + secs
    while (left := deadline - time.monotonic()) > 0:
        select.select([terminal.process.child_fd], [], [], min(left, 0.02))
        assert terminal.raw is not None


def hung_up(terminal: Terminal, *processes: int) -> None:
    """Close the terminal; all of these end."""
    terminal.hang_up()
    for each in processes:
        wait_until(lambda each=each: not is_alive(each), what=f"the end of {each}")  # type: ignore[misc]


@pytest.mark.long(after=1)
@pytest.mark.parametrize("secs", [0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.9])
def test_closed_while_the_app_starts(secs: float, project: Path) -> None:
    with app(project) as terminal:
        quorum = quorum_below(terminal)
        look_for(terminal, secs)

        hung_up(terminal, quorum)


@pytest.mark.long
def test_closed_as_soon_as_the_screen_is_taken(project: Path) -> None:
    with app(project) as terminal:
        quorum = quorum_below(terminal)
        terminal.wait_for("")
        wait_until(lambda: "\x1b[?1049h" in terminal.raw, what="the screen")

        hung_up(terminal, quorum)


@pytest.mark.long
@pytest.mark.parametrize("keeps_sighup", [True, False])
def test_closed_while_nothing_happens(keeps_sighup: bool, project: Path) -> None:
    with app(project, keeps_sighup=keeps_sighup) as terminal:
        terminal.wait_for("offline")

        hung_up(terminal, quorum_below(terminal) if keeps_sighup else int(terminal.process.pid or 0))


@pytest.mark.long
async def test_closed_while_an_answer_is_streamed(project: Path) -> None:
    def close() -> None:
        with app(project) as terminal:
            terminal.wait_for("scripted")
            terminal.submit("what can you do?")
            terminal.wait_for("I can stream")

            hung_up(terminal, quorum_below(terminal))

    async with SseServer("openai-chat") as server:
        configure_for(project.parent / "home", server)
        server.script = [Say(pieces=["I can stream"], ending="stall")]
        await asyncio.to_thread(close)


@pytest.mark.long
def test_closed_while_a_question_is_open(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        terminal.submit("replace first with primo in a.py")
        terminal.wait_for("y yes")

        hung_up(terminal, quorum_below(terminal))

    assert (project / "a.py").read_text(encoding="utf-8") == "first = 1\n"


@pytest.mark.long
def test_closed_while_a_command_runs_its_processes_end_too(project: Path) -> None:
    with app(project, "--mode", "auto") as terminal:
        terminal.wait_for("offline")
        daemon = f"{secrets.randbelow(9000) + 1000}.5"
        terminal.submit(f"run `sh -c 'setsid sleep {daemon} & sleep {daemon}'`")
        terminal.wait_until(lambda: len(alive_with(daemon)) >= 2, what="the command")

        hung_up(terminal, quorum_below(terminal))
        wait_until(lambda: not alive_with(daemon), what="the end of the command")


@pytest.mark.long
@pytest.mark.parametrize("secs", [0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9])
def test_closed_soon_after_the_app_was_asked_to_quit(secs: float, project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        quorum = quorum_below(terminal)
        terminal.type(CTRL_Q)
        look_for(terminal, secs)

        hung_up(terminal, quorum)


@pytest.mark.long
def test_closed_while_an_editor_has_the_terminal(project: Path) -> None:
    editor = project.parent / "editor"
    editor.write_text("#!/bin/sh\ntrap '' HUP\necho in-the-editor\nread line\n", encoding="utf-8")
    editor.chmod(0o755)
    terminal = Terminal(
        project,
        project.parent / "home",
        rows=40,
        columns=120,
        arguments=[],
        variables={"VISUAL": str(editor)},
        parent=(sys.executable, "-c", KEEPS_SIGHUP),
    )
    with terminal:
        terminal.wait_for("offline")
        terminal.type("\x07")
        terminal.wait_for("in-the-editor")

        hung_up(terminal, quorum_below(terminal))


@pytest.mark.long
def test_a_terminal_that_takes_nothing_more_does_not_keep_the_app_from_ending(project: Path) -> None:
    with app(project, keeps_sighup=False) as terminal:
        terminal.wait_for("offline")
        pid = int(terminal.process.pid or 0)
        for _ in range(30):  # nobody reads what this has it draw
            terminal.process.send("\x10\x1b")
        os.kill(pid, signal.SIGTERM)

        wait_until(lambda: not is_alive(pid), what="the end")


@pytest.mark.long
def test_enough_interruptions_at_once_leave_it_with_its_own_exit_code(project: Path) -> None:
    with app(project, keeps_sighup=False) as terminal:
        terminal.wait_for("offline")
        terminal.process.delaybeforesend = None
        for _ in range(40):
            terminal.type(CTRL_C)
            look_for(terminal, 0.02)
            if not is_alive(int(terminal.process.pid or 0)):
                break

        assert terminal.ended() in {0, 130}
