"""What was typed and not sent, where the app is killed: the next one brings it back."""

from __future__ import annotations

import os
import select
import signal
import time
from pathlib import Path

import pytest

from quorum.tui.widgets.layout import STARTING
from tests.support.terminal import ENTER, Terminal

UP = "\x1b[A"
RECOVERED = "an earlier quorum ended here before it had sent what you typed"


def again(folder: Path, *arguments: str, **variables: str) -> Terminal:
    project = folder / "project"
    project.mkdir(exist_ok=True)
    return Terminal(
        project, folder / "home", rows=40, columns=120, arguments=list(arguments), variables=variables
    )


def kill(terminal: Terminal) -> None:
    os.kill(int(terminal.process.pid or 0), signal.SIGKILL)
    terminal.process.wait()


def left_behind(folder: Path) -> list[Path]:
    return list((folder / "home/state/quorum/unsent").glob("*"))


def wait_for_file(folder: Path, terminal: Terminal) -> None:
    deadline = time.monotonic() + 120
    while not any(each.stat().st_size for each in left_behind(folder)):
        assert time.monotonic() < deadline, terminal.painted[-2000:]
        select.select([terminal.process.child_fd], [], [], 0.02)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("arguments", [[], ["--continue"]])
def test_a_prompt_that_is_sent_while_the_app_is_loaded_survives_a_kill(
    tmp_path: Path, arguments: list[str]
) -> None:
    slow = tmp_path / "slow" / "textual"
    slow.mkdir(parents=True)
    (slow / "__init__.py").write_text("import time; time.sleep(600)")
    with again(tmp_path, PYTHONPATH=str(slow.parent)) as terminal:
        terminal.wait_for(STARTING)
        terminal.type(f"list testz\x7fs{ENTER}")
        wait_for_file(tmp_path, terminal)
        kill(terminal)

    with again(tmp_path, *arguments) as terminal:
        terminal.wait_for(RECOVERED)
        with terminal.fresh():
            terminal.type(UP)
            terminal.wait_for("list tests")
        assert left_behind(tmp_path) == []


@pytest.mark.long
def test_a_draft_survives_a_kill_and_another_quorum_that_runs_keeps_its_own(tmp_path: Path) -> None:
    with again(tmp_path) as terminal:
        terminal.wait_until_ready()
        terminal.type("half a thought")
        wait_for_file(tmp_path, terminal)
        with again(tmp_path) as other:
            other.wait_until_ready()
            other.type(UP)
            assert RECOVERED not in other.painted
        assert len(left_behind(tmp_path)) == 1
        kill(terminal)

    with again(tmp_path) as terminal:
        terminal.wait_for(RECOVERED)
        with terminal.fresh():
            terminal.type(UP)
            terminal.wait_for("half a thought")
