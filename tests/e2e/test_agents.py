"""`quorum agent` as a process: interrupted, it ends the agent with all that this started."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support.agent_rig import PROGRAM
from tests.support.headless_run import QUORUM, configure, environment


def declare(home: Path) -> dict[str, str]:
    command = json.dumps([sys.executable, str(PROGRAM)])
    configure(home, f"[agents.test]\ncommand = {command}\n")
    return environment(home)


async def interrupt(folder: Path, step: str) -> tuple[int, str, str]:
    """Have the agent do this step, and press Ctrl+C once it works and its command has ended."""
    (work := folder / "work").mkdir()
    process = await asyncio.create_subprocess_exec(
        QUORUM,
        *("agent", "test", "--mode", "auto", "--output", "stream-json"),
        json.dumps([["run", "echo $PPID"], [step]]),
        cwd=work,
        env=declare(folder / "home"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    seen = ""
    while '"text":"working"' not in seen or '"type":"call_finished"' not in seen:
        line = (await process.stdout.readline()).decode()
        assert line, (await process.communicate())[1].decode()
        seen += line
    process.send_signal(signal.SIGINT)
    out, err = await asyncio.wait_for(process.communicate(), timeout=60)
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
