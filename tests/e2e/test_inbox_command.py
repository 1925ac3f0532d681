"""A decision that waits in one process is answered from another, by the digest of what would run."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.headless_run import QUORUM, configure, environment
from tests.support.postgres_server import PostgresForTests
from tests.support.terminal import Terminal


def quorum(*arguments: str, cwd: Path, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [QUORUM, *arguments],
        cwd=cwd,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def test_an_empty_inbox_says_so_and_refuses_an_answer_to_nothing(project: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()

    listed = quorum("inbox", cwd=project, home=home)
    refused = quorum("inbox", "approve", "0" * 16, cwd=project, home=home)
    board = quorum("board", cwd=project, home=home)

    assert board.stdout.count("nothing\n") == len(("waits", "open", "ended"))
    assert (listed.returncode, listed.stdout) == (0, "")
    assert "no decision waits in any session" in listed.stderr
    assert refused.returncode == 2
    assert "was ever put to review here; " in refused.stderr
    assert "quorum inbox lists those that wait" in refused.stderr


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_waiting_process_takes_an_answer_from_elsewhere_and_a_dead_one_leaves_it_to_the_next(
    project: Path, tmp_path: Path, postgres: PostgresForTests, kind: str
) -> None:
    home = tmp_path / "home"
    configure(home, f'[storage]\nurl = "{postgres.new_database()}"\n' if kind == "postgresql" else "")

    with Terminal(project, home, rows=30, columns=120, arguments=[]) as terminal:
        terminal.wait_until_ready()
        terminal.submit("run echo made > made.txt")
        terminal.wait_for("y yes")
        (waiting,) = json.loads(quorum("inbox", "list", "--json", cwd=project, home=home).stdout)
        board = json.loads(quorum("board", "--json", cwd=project, home=home).stdout)
        shown = quorum("inbox", "show", waiting["digest"][:16], cwd=project, home=home).stdout
        approved = quorum("inbox", "approve", waiting["digest"], cwd=project, home=home)
        terminal.wait_for("exit code 0")
        again = quorum("inbox", "reject", waiting["digest"], cwd=project, home=home)

        with terminal.fresh():
            terminal.submit("run echo other > other.txt; exit 3")
            terminal.wait_for("y yes")
        terminal.process.kill(signal.SIGKILL)
        terminal.process.wait()

    assert waiting["open_in"] is not None
    assert board == {"waiting": [waiting], "open": [], "ended": []}
    assert "echo made > made.txt" in shown
    assert waiting["digest"] in shown
    assert "has recorded: approved: in the inbox, by " in approved.stdout, approved.stderr
    assert (project / "made.txt").read_text() == "made\n"
    assert again.returncode == 2
    assert "does not wait any more: it was decided already: approved" in again.stderr

    (left,) = json.loads(quorum("inbox", "list", "--json", cwd=project, home=home).stdout)
    later = quorum("inbox", "approve", left["digest"], cwd=project, home=home)
    assert "the answer counts when the session is resumed" in later.stdout, later.stderr
    assert not (project / "other.txt").exists()
    with Terminal(project, home, rows=30, columns=120, arguments=["--continue"]) as terminal:
        terminal.wait_for("exit code 3")
    assert (project / "other.txt").read_text() == "other\n"
    assert quorum("sessions", "verify", "--all", cwd=project, home=home).returncode == 0
