"""`quorum run --leave-open`: a review outlives its process, and a kill loses nothing."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.support.headless_run import Ended, configure, environment, run, run_quorum, start
from tests.support.postgres_server import PostgresForTests

PROMPT = "run echo made >> made.txt"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


async def quorum(*arguments: str, cwd: Path, home: Path) -> Ended:
    return await run_quorum(*arguments, cwd=cwd, env=environment(home))


async def kill_at(event: str, *arguments: str, cwd: Path, home: Path) -> bool:
    """Kill the run with -9 once it has printed such an event; False where it ended before."""
    given = ("--leave-open", "--output", "stream-json", *arguments)
    process = await start(*given, cwd=cwd, env=environment(home))
    assert process.stdout is not None
    async for line in process.stdout:
        if json.loads(line)["type"] == event:
            process.send_signal(signal.SIGKILL)
            await process.communicate()
            return True
    await process.communicate()
    return False


async def test_without_a_prompt_it_needs_a_session(project: Path, tmp_path: Path) -> None:
    ended = await run("--leave-open", cwd=project, env=environment(tmp_path))

    assert ended.code == 2
    assert "required: PROMPT" in ended.err


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_a_session_that_is_killed_at_every_step_runs_its_command_once_after_the_answer(
    project: Path, tmp_path: Path, postgres: PostgresForTests, kind: str
) -> None:
    home = tmp_path / "home"
    configure(home, f'[storage]\nurl = "{postgres.new_database()}"\n' if kind == "postgresql" else "")
    resume = ("--resume", "latest")

    assert await kill_at("turn_started", PROMPT, cwd=project, home=home)
    left = await run("--leave-open", "--output", "json", *resume, cwd=project, env=environment(home))
    assert left.code == 3, left.err
    (digest,) = left.report["waiting"]
    assert await kill_at("review_requested", *resume, cwd=project, home=home)
    unanswered = await run("--leave-open", "--output", "json", *resume, cwd=project, env=environment(home))
    assert (unanswered.code, unanswered.report["waiting"]) == (3, [digest])
    assert not (project / "made.txt").exists()

    approved = await quorum("inbox", "approve", digest, cwd=project, home=home)
    assert approved.code == 0, approved.err
    assert await kill_at("call_finished", *resume, cwd=project, home=home)
    last = await run("--leave-open", "--output", "json", *resume, cwd=project, env=environment(home))

    # The kill may come when the turn has ended already.
    assert last.code == 0 or "has no turn that is not finished" in last.err, last.err
    assert (project / "made.txt").read_text() == "made\n"
    verified = await quorum("sessions", "verify", "--all", cwd=project, home=home)
    assert verified.code == 0, verified.out + verified.err
