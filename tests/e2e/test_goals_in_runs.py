"""`quorum run --goal`: attempts, a kill in the second of three, and what a script reads of it."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.infrastructure.commands.command_bench import eventually
from tests.support.headless_run import configure_for, environment, run, start
from tests.support.sse_server import Say, ScriptedCall, SseServer

CHECK = "sh check.sh"
# Passes once three lines are there, and waits in the second attempt for a file that only the test makes.
SCRIPT = """
n=$(wc -l < state.txt)
echo "lines: $n"
if [ "$n" = 2 ] && [ ! -e go ]; then touch waits; while [ ! -e go ]; do sleep 0.05; done; fi
[ "$n" -ge 3 ]
"""


def append(number: int) -> Say:
    command = json.dumps({"command": f"echo {number} >> state.txt"})
    return Say(calls=[ScriptedCall(f"c{number}", "run_command", command)], stop="tool_use")


@pytest.mark.long
async def test_a_goal_that_is_killed_in_its_second_attempt_resumes_and_ends(tmp_path: Path) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    (work / "check.sh").write_text(SCRIPT)
    (work / "state.txt").write_text("")
    words = ("--mode", "auto", "--output", "json")
    env = environment(home)
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [append(1), Say(pieces=["one"]), append(2), Say(pieces=["two"])]
        process = await start(*words, "--goal", "three lines", "--check", CHECK, cwd=work, env=env)
        await eventually(lambda: (work / "waits").exists())
        process.send_signal(signal.SIGKILL)
        await process.wait()
    (work / "go").touch()

    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [Say(pieces=["two again"]), append(3), Say(pieces=["three lines are there"])]
        ended = await run(*words, "--continue", cwd=work, env=env)

    assert ended.code == 0, ended.err
    goal = ended.report["goal"]
    assert (goal["text"], goal["reached"], goal["stale"], goal["attempts"]) == ("three lines", True, False, 3)
    assert goal["checks"] == [CHECK]
    assert [run["exit_code"] for run in goal["receipt"]["runs"]] == [0]
    assert {file["path"] for file in goal["receipt"]["changed"]} == {"state.txt", "waits", "go"}
    assert ended.report["text"] == "three lines are there"
    assert (work / "state.txt").read_text() == "1\n2\n3\n"
    assert "goal reached, attempt 3: `sh check.sh` passed" in ended.err


async def test_checks_without_a_goal_are_refused_before_anything_is_sent(tmp_path: Path) -> None:
    ended = await run("--check", "true", "go", cwd=tmp_path, env=environment(tmp_path / "home"))

    assert ended.code == 2
    assert "--check goes with --goal" in ended.err


@pytest.mark.long
async def test_proposed_checks_wait_for_a_person_who_names_them_with_the_next_run(tmp_path: Path) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    words = ("--mode", "auto", "--output", "json")
    env = environment(home)
    proposal = ScriptedCall("p", "propose_checks", json.dumps({"commands": ["test -e state.txt"]}))
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [Say(calls=[proposal], stop="tool_use")]
        asked = await run(*words, "--goal", "state.txt is there", cwd=work, env=env)
        server.script = [Say(pieces=["go on"]), append(1), Say(pieces=["there it is"])]
        reached = await run(*words, "--continue", "--check", "test -e state.txt", cwd=work, env=env)
        again = await run(*words, "--continue", cwd=work, env=env)

    assert (asked.code, asked.report["status"]) == (3, "needs_approval")
    assert (asked.report["goal"]["reached"], asked.report["goal"]["checks"]) == (False, [])
    assert reached.code == 0, reached.err
    assert (reached.report["goal"]["reached"], reached.report["goal"]["attempts"]) == (True, 2)
    assert again.code == 2
    assert "no goal that is open" in again.err
