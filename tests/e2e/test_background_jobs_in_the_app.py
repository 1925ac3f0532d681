"""Background commands in the installed app, in a pseudo-terminal: sent there, left, and survived by nothing."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests.infrastructure.commands.command_bench import a_sleep, alive_with
from tests.support.liveness import wait_until
from tests.support.terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")

QUIT, CTRL_B = "\x11", "\x02"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def app(project: Path, *arguments: str, rows: int = 40, columns: int = 120) -> Terminal:
    return Terminal(project, project.parent / "home", rows=rows, columns=columns, arguments=list(arguments))


def send_away(terminal: Terminal, sleep: str) -> None:
    terminal.wait_for("offline")
    terminal.submit(f"run `sleep {sleep}`")
    terminal.wait_until(lambda: alive_with(sleep), "the command runs")
    terminal.type(CTRL_B)
    terminal.wait_for("sent to the background")
    terminal.wait_for("as job-1")


@pytest.mark.long
def test_a_command_sent_to_the_background_dies_with_a_killed_app_and_resuming_says_so(project: Path) -> None:
    sleep = a_sleep()
    with app(project, "--mode", "auto") as terminal:
        send_away(terminal, sleep)
        assert alive_with(sleep)

        terminal.process.kill(signal.SIGKILL)
        assert terminal.has_ended(within=120)

    wait_until(lambda: not alive_with(sleep), "the end of the background command")
    with app(project, "--continue") as terminal:
        terminal.wait_for("background command ended with the process, not run again: job-1")
        assert not alive_with(sleep)
        terminal.type(QUIT)
        assert terminal.ended() == 0


@pytest.mark.long
def test_a_new_session_asks_first_and_ends_the_command_only_once_the_person_agrees(project: Path) -> None:
    sleep = a_sleep()
    with app(project, "--mode", "auto", rows=24, columns=80) as terminal:
        send_away(terminal, sleep)
        terminal.submit("/new")
        terminal.wait_for("1 background command runs and ends with this session.")
        terminal.press_when_awake("n", "/board and the tool jobs")  # the dialog covered it
        assert alive_with(sleep)

        terminal.submit("/new")
        terminal.wait_for("End the background commands?")
        terminal.press_when_awake("y", "1 background command ended with its session")
        terminal.wait_until(lambda: not alive_with(sleep), "the end of the background command")
        terminal.type(QUIT)
        assert terminal.ended() == 0


@pytest.mark.long
def test_quitting_ends_it_and_says_so_where_the_screen_was(project: Path) -> None:
    sleep = a_sleep()
    with app(project, "--mode", "auto") as terminal:
        send_away(terminal, sleep)
        terminal.type(QUIT)
        assert terminal.ended() == 0
        assert "1 background command ended with quorum" in str(terminal.process.before)

    assert not alive_with(sleep)
