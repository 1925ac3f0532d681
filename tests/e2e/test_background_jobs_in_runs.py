"""Background commands in whole runs of the program: they end with the run, however it ends."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from tests.e2e.test_stream_schema import WHOLE, problems
from tests.infrastructure.commands.command_bench import a_sleep, alive_with, eventually
from tests.support.headless_run import configure_for, environment, run, start
from tests.support.sse_server import Hang, Say, ScriptedCall, SseServer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def call(id_: str, tool: str, **arguments: object) -> ScriptedCall:
    return ScriptedCall(id_, tool, json.dumps(arguments))


def starts(sleep: str) -> Say:
    command = f"echo ready; exec sleep {sleep}"
    return Say(calls=[call("c1", "run_command", command=command, background=True)], stop="tool_use")


@pytest.mark.long
async def test_a_job_ends_with_the_answer_and_both_outputs_say_so(home: Path, project: Path) -> None:
    sleep = a_sleep()
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [
            starts(sleep),
            Say(calls=[call("c2", "jobs", action="read", job_id="job-1", offset=0)], stop="tool_use"),
            Say(pieces=["It is ready."]),
        ]

        ended = await run("go", "--mode", "auto", "--output", "json", cwd=project, env=environment(home))

    assert not alive_with(sleep)
    assert ended.code == 0, ended.err
    (job,) = ended.report["jobs"]
    assert job.pop("exit_code") in {-15, 143}  # the latter from a shell that was ended before it became `sleep`
    assert job == {
        "job_id": "job-1",
        "command": f"echo ready; exec sleep {sleep}",
        "status": "stopped",
        "stopper": "session",
    }
    assert "· job-1 runs in the background: echo ready" in ended.err
    assert "· job-1 was stopped at the end of the session after" in ended.err


async def test_without_approval_it_is_withheld_like_any_command(home: Path, project: Path) -> None:
    sleep = a_sleep()
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [starts(sleep), Say(pieces=["I could not."])]

        ended = await run("go", "--output", "json", cwd=project, env=environment(home))

    assert ended.code == 3
    assert "jobs" not in ended.report
    assert not alive_with(sleep)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
async def test_nothing_of_a_job_outlives_a_run_that_is_ended_by_a_signal(
    home: Path, project: Path, number: signal.Signals
) -> None:
    sleep = a_sleep()
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [starts(sleep), Hang("silent")]
        program = await start("go", "--mode", "auto", cwd=project, env=environment(home))
        await eventually(lambda: alive_with(sleep) and len(server.bodies) == 2)

        program.send_signal(number)
        await program.communicate()

    await eventually(lambda: not alive_with(sleep))


@pytest.mark.long
async def test_every_line_of_a_run_with_jobs_fits_the_schema(home: Path, project: Path) -> None:
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [
            Say(
                calls=[call("c1", "run_command", command="sleep 0.7; echo built", background=True)],
                stop="tool_use",
            ),
            Say(calls=[call("c2", "jobs", action="read", job_id="job-1", wait_secs=30)], stop="tool_use"),
            starts(a_sleep()),
            Say(pieces=["done"]),
        ]

        ended = await run("go", "--mode", "auto", "--output", "stream-json", cwd=project, env=environment(home))

    lines = ended.events
    assert [problem for line in lines for problem in problems(line)] == []
    assert all(WHOLE.is_valid(line) for line in lines)
    assert {"job_started", "job_ended"} <= {line["type"] for line in lines}
    assert [job["status"] for job in lines[-1]["jobs"]] == ["ended", "stopped"]
