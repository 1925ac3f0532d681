"""A decision that waits in one process is answered from another, by the digest of what would run."""

from __future__ import annotations

import asyncio
import json
import math
import signal
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage
from tests.support.headless_run import Ended, configure, environment, run_quorum_now
from tests.support.postgres_server import PostgresForTests
from tests.support.terminal import Terminal


def quorum(*arguments: str, cwd: Path, home: Path) -> Ended:
    return run_quorum_now(*arguments, cwd=cwd, env=environment(home))


def find_seen_age(home: Path, url: str, waiting: Mapping[str, str]) -> float:
    with closing(open_storage(StorageTable(url=url), environment(home))) as storage:
        return asyncio.run(storage.answers.find_seen_age_secs(waiting["session"], waiting["digest"]))


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

    assert board.out.count("nothing\n") == len(("waits", "open", "ended"))
    assert (listed.code, listed.out) == (0, "")
    assert "no decision waits in any session" in listed.err
    assert refused.code == 2
    assert "was ever put to review here; " in refused.err
    assert "quorum inbox lists those that wait" in refused.err


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_waiting_process_takes_an_answer_from_elsewhere_and_a_dead_one_leaves_it_to_the_next(
    project: Path, tmp_path: Path, postgres: PostgresForTests, kind: str
) -> None:
    home = tmp_path / "home"
    url = postgres.new_database() if kind == "postgresql" else ""
    configure(home, f'[storage]\nurl = "{url}"\n')

    with Terminal(project, home, rows=30, columns=120, arguments=[]) as terminal:
        terminal.wait_until_ready()
        terminal.submit("run echo made > made.txt")
        terminal.wait_for("y yes")
        (waiting,) = json.loads(quorum("inbox", "list", "--json", cwd=project, home=home).out)
        unseen = find_seen_age(home, url, waiting)
        board = json.loads(quorum("board", "--json", cwd=project, home=home).out)
        shown = quorum("inbox", "show", waiting["digest"][:16], cwd=project, home=home).out
        seen = find_seen_age(home, url, waiting)
        approved = quorum("inbox", "approve", waiting["digest"], cwd=project, home=home)
        terminal.wait_for("exit code 0")
        again = quorum("inbox", "reject", waiting["digest"], cwd=project, home=home)

        with terminal.fresh():
            terminal.submit("run echo other > other.txt; exit 3")
            terminal.wait_for("y yes")
        terminal.process.kill(signal.SIGKILL)
        terminal.process.wait()

    assert waiting["open_in"] is not None
    assert 0 <= seen < unseen == math.inf
    assert board == {"waiting": [waiting], "staged": [], "open": [], "ended": []}
    assert "echo made > made.txt" in shown
    assert waiting["digest"] in shown
    assert "has recorded: approved: in the inbox, by " in approved.out, approved.err
    assert (project / "made.txt").read_text() == "made\n"
    assert again.code == 2
    assert "does not wait any more: it was decided already: approved" in again.err

    (left,) = json.loads(quorum("inbox", "list", "--json", cwd=project, home=home).out)
    later = quorum("inbox", "approve", left["digest"], cwd=project, home=home)
    assert "the answer counts when the session is resumed" in later.out, later.err
    assert not (project / "other.txt").exists()
    with Terminal(project, home, rows=30, columns=120, arguments=["--continue"]) as terminal:
        terminal.wait_for("exit code 3")
    assert (project / "other.txt").read_text() == "other\n"
    assert quorum("sessions", "verify", "--all", cwd=project, home=home).code == 0
