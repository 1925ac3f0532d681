"""What runs on though quorum and its supervisor were killed: found by whose call it was, and left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from quorum.application.identifiers import generate_id
from quorum.infrastructure.execution.commands import orphans
from quorum.infrastructure.execution.commands.orphans import OrphanFinder, kill_orphans
from tests.infrastructure.commands.command_bench import Daemon, alive_with, eventually
from tests.support.stopped_process import stop_child

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what a process carries is read from /proc")

# Plays quorum: runs one command as the call of a batch, until it is killed.
_QUORUM = """
import asyncio, os, sys
from pathlib import Path
from quorum.domain.replacing import replace
from tests.infrastructure.commands.command_bench import RecordingControls, context_with, tool_in
context = replace(context_with(RecordingControls()), batch_id=sys.argv[3])
asyncio.run(tool_in(Path(sys.argv[1])).execute({"command": sys.argv[2]}, context))
"""


def another_quorum(root: Path, command: str, batch: str) -> subprocess.Popen[bytes]:
    repository = str(Path(__file__).parents[3])
    return subprocess.Popen(
        [sys.executable, "-c", _QUORUM, str(root), command, batch],
        cwd=repository,
        env={**os.environ, "PYTHONPATH": repository},
    )


def supervisor_of(quorum: subprocess.Popen[bytes]) -> int:
    children = Path(f"/proc/{quorum.pid}/task/{quorum.pid}/children").read_text().split()
    (supervisor,) = map(int, children)
    return supervisor


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.mark.long
async def test_what_outlived_quorum_and_its_warden_is_named_and_lives_on(root: Path) -> None:
    daemon, batch = Daemon(root), generate_id()
    with another_quorum(root, f"{daemon.command}; exec sleep 600", batch) as quorum:
        await eventually(lambda: daemon.ready.exists())
        stop_child(quorum.pid)  # or it would end them as soon as their supervisor is gone
        os.kill(supervisor_of(quorum), signal.SIGKILL)
        quorum.kill()
        quorum.wait()

    finder = OrphanFinder(settle_secs=0)
    while len(found := await finder.find_by_batch(batch)) > 1:  # the shell is dying as well
        continue
    (orphan,) = found
    try:
        assert [orphan.pid] == alive_with(str(daemon.ready))
        assert orphan.command.startswith(f"{sys.executable} ")
        assert len(orphan.command) <= 80
        assert await finder.find_by_batch("another batch") == ()
        assert daemon.is_alive()
    finally:
        os.kill(orphan.pid, signal.SIGKILL)


async def test_what_the_warden_still_ends_is_waited_for_and_not_named(root: Path) -> None:
    daemon, batch = Daemon(root), generate_id()
    with another_quorum(root, f"{daemon.command}; exec sleep 600", batch) as quorum:
        await eventually(lambda: daemon.ready.exists())
        quorum.kill()
        quorum.wait()

    assert await OrphanFinder(settle_secs=30).find_by_batch(batch) == ()


def test_what_ends_between_being_found_and_being_killed_is_not_said_to_be_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    tables = iter([{gone.pid: (1, gone.pid)}, {}])
    monkeypatch.setattr(orphans, "list_processes", lambda: next(tables))

    assert kill_orphans("QUORUM_NOBODY", group=gone.pid) == (set(), set())
