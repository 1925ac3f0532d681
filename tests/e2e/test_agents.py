"""`quorum agent` as a process: interrupted, it ends the agent with all that this started."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from tests.support.agent_rig import PROGRAM
from tests.support.headless_run import configure, environment, run_quorum, start_quorum


def declare(home: Path, *flags: str) -> dict[str, str]:
    command = json.dumps([sys.executable, str(PROGRAM), *flags])
    configure(home, f"[agents.test]\ncommand = {command}\n")
    return environment(home)


async def interrupt(folder: Path, step: str) -> tuple[int, str, str]:
    """Have the agent do this step, and press Ctrl+C once it works and its command has ended."""
    (work := folder / "work").mkdir()
    process = await start_quorum(
        *("agent", "test", "--mode", "auto", "--output", "stream-json"),
        json.dumps([["run", "echo $PPID"], [step]]),
        cwd=work,
        env=declare(folder / "home"),
    )
    assert process.stdout is not None
    seen = ""
    while '"text":"working"' not in seen or '"type":"call_finished"' not in seen:
        line = (await process.stdout.readline()).decode()
        assert line, (await process.communicate())[1].decode()
        seen += line
    process.send_signal(signal.SIGINT)
    out, err = await asyncio.wait_for(process.communicate(), timeout=120)
    assert process.returncode is not None
    return process.returncode, seen + out.decode(), err.decode()


@pytest.mark.long
@pytest.mark.parametrize("step", ["hang", "ignore_cancel"])
async def test_an_interrupted_run_ends_the_agent(tmp_path: Path, step: str) -> None:
    code, out, _ = await interrupt(tmp_path, step)

    events = [json.loads(line) for line in out.splitlines()]
    (ran,) = [event for event in events if event["type"] == "call_finished"]
    assert code == 130
    assert events[-1]["type"] == "session_finished"
    assert events[-1]["status"] == "interrupted"
    with pytest.raises(ProcessLookupError):
        os.kill(int(ran["output"]), 0)


async def wait_until_gone(pid: int) -> None:
    """Or until the test's own time limit."""
    while True:
        state = Path(f"/proc/{pid}/stat")
        try:
            if (await asyncio.to_thread(state.read_text)).rpartition(")")[2].split()[0] == "Z":
                return
        except (ProcessLookupError, FileNotFoundError):
            return
        await asyncio.sleep(0.01)


async def kill_at_work(folder: Path, *steps: list[str]) -> tuple[dict[str, str], list[int]]:
    """Kill quorum once its agent is at work; its environment, and the ids of the processes that were told."""
    work, variables = folder / "work", declare(folder / "home", "--stays")
    work.mkdir()
    process = await start_quorum(
        *("agent", "test", "--mode", "auto", "--output", "stream-json", json.dumps(steps)),
        cwd=work,
        env=variables,
    )
    assert process.stdout is not None
    told = ""
    while "working" not in told:
        line = await process.stdout.readline()
        assert line
        event = json.loads(line)
        told += event["text"] if event["type"] == "text_delta" else ""
    process.kill()
    await process.communicate()
    return variables, [int(pid) for pid in re.findall("[0-9]+", told)]


@pytest.mark.long
async def test_nothing_of_the_agent_outlives_a_quorum_that_is_killed(tmp_path: Path) -> None:
    _, told = await kill_at_work(tmp_path, ["tell_pid"], ["say", " "], ["leave_a_child"], ["hang"])

    assert len(told) == 2
    for pid in told:
        await wait_until_gone(pid)


@pytest.mark.long
async def test_a_call_that_was_open_when_quorum_was_killed_is_not_known_to_have_ended(tmp_path: Path) -> None:
    variables, _ = await kill_at_work(tmp_path, ["run_and_hang", "touch made"])

    again = await run_quorum(
        *("agent", "test", "--continue", "--output", "stream-json", json.dumps([["say", "done"]])),
        cwd=tmp_path / "work",
        env=variables,
    )
    out = again.out

    events = [json.loads(line) for line in out.splitlines()]
    assert [event["outcome"] for event in events if event["type"] == "call_finished"] == ["unknown"]
    assert events[-1]["status"] == "completed"
