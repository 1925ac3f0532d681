"""`quorum run` with subagents: what a stream shows of them, and what survives a killed process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from quorum.headless.stream_schema import build_stream_schema
from tests.support.discussion_rig import DiscussionRig, discussion_rig
from tests.support.quorum_rig import DONE, call, calling
from tests.support.sse_server import Hang, Refuse, Say
from tests.support.terminal import ENTER, ESCAPE, Terminal

SCHEMA = Draft202012Validator(build_stream_schema())
TASK = calling(call("c1", "task", prompt="find alpha in a.txt"))
TWO_TASKS = calling(call("c1", "task", prompt="one"), call("c2", "task", prompt="two"))
ALT_UP = "\x1b[1;3A"
READ = calling(call("x1", "read_file", path="a.txt"))
FOUND = Say(pieces=["alpha is in ", "line 1"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n", encoding="utf-8")
    return folder


@pytest.mark.long
async def test_the_stream_has_what_a_subagent_does_in_lines_of_its_own(tmp_path: Path, project: Path) -> None:
    async with discussion_rig(tmp_path / "home", {"mod": [TASK, READ, FOUND, DONE]}) as rig:
        ended = await rig.run(project, "run", "--output", "stream-json", "go")
        shown = await rig.run(project, "sessions", "show", "latest")
        listed = await rig.run(project, "sessions", "list", "--json")
    assert ended.code == 0, ended.err
    lines = [json.loads(line) for line in ended.out.splitlines()]
    for line in lines:
        SCHEMA.validate(line)
    (started,) = (line for line in lines if line["type"] == "subagent_started")
    inner = [line["event"] for line in lines if line["type"] == "subagent_progressed"]
    for event in inner:
        SCHEMA.validate(event)
    assert (inner[-1]["type"], inner[-1]["text"]) == ("session_finished", "alpha is in line 1")
    assert inner[-1]["session_id"] == started["subagent_id"]
    assert {line["subagent_id"] for line in lines if "subagent_id" in line} == {started["subagent_id"]}
    assert "".join(e["text"] for e in inner if e["type"] == "text_delta") == "alpha is in line 1"
    assert [line["text"] for line in lines if line["type"] == "text_delta"] == ["done"], (
        "its text is not the answer"
    )
    assert lines[-1]["usage"]["output"] == 4 * 11, "all four requests are counted"
    assert f"Its tasks:         {started['subagent_id']}" in shown.out
    assert [session["id"] for session in json.loads(listed.out)] == [lines[0]["session_id"]]


@pytest.mark.long
async def test_after_kill_9_a_task_that_had_ended_gives_its_text_and_none_is_asked_again(
    tmp_path: Path, project: Path
) -> None:
    async with discussion_rig(tmp_path / "home", {"mod": [TWO_TASKS, FOUND, Hang("silent")]}) as rig:
        process = await rig.start(project, "run", "--output", "stream-json", "go")
        assert process.stdout is not None
        async with asyncio.timeout(120):
            while json.loads(await process.stdout.readline())["type"] != "subagent_finished":
                continue
            while len(rig.servers["mod"].bodies) < 3:  # noqa: ASYNC110 - the other may ask later than this one ends
                await asyncio.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        await process.communicate()
        before = rig.requests["mod"]
        rig.servers["mod"].script = [DONE]
        ended = await rig.run(project, "run", "--continue", "--output", "json", "go on")
        assert ended.code == 0, ended.err
        assert rig.requests["mod"] == before + 1, "no subagent is asked again"
        results = [m["content"] for m in rig.servers["mod"].bodies[-1]["messages"] if m["role"] == "tool"]
    assert len(results) == 2
    assert "alpha is in line 1" in results
    (cut,) = (result for result in results if result != "alpha is in line 1")
    assert "the task was interrupted when the process ended" in cut


@pytest.mark.long
async def test_after_kill_9_a_task_that_had_ended_on_its_own_record_alone_gives_its_text_and_is_not_asked_again(
    tmp_path: Path, project: Path
) -> None:
    text = "alpha " * 2_000
    async with discussion_rig(tmp_path / "home", {"mod": [TASK, Say(pieces=[text])]}) as rig:
        process, output = rig.start_into_full_pipe(project, "run", "--output", "stream-json", "go")
        try:
            # Its end is on its own record before the line that tells of it, which does not fit into the pipe:
            # so the process waits there, and the end is not on the record of its owner.
            seen = await asyncio.wait_for(
                asyncio.to_thread(_read_until, output, b'"event":{"type":"session_f'), 120
            )
            assert b"subagent_finished" not in seen
        finally:
            process.kill()
            await asyncio.to_thread(process.wait)
            os.close(output)
        before = rig.requests["mod"]
        rig.servers["mod"].script = [DONE]
        ended = await rig.run(project, "run", "--continue", "--output", "stream-json", "go on")
        assert ended.code == 0, ended.err
        assert rig.requests["mod"] == before + 1, "the subagent is not asked again"
        results = [m["content"] for m in rig.servers["mod"].bodies[-1]["messages"] if m["role"] == "tool"]
    assert results == [text.strip()]
    assert [json.loads(line)["type"] for line in ended.out.splitlines()].count("subagent_finished") == 1


@pytest.mark.long
async def test_in_the_app_a_task_is_looked_at_another_fails_esc_ends_both_and_kill_9_leaves_them_readable(
    tmp_path: Path, project: Path
) -> None:
    hangs, down = Hang("silent"), Refuse(status=500, message="the model is down")
    script = [TWO_TASKS, down, hangs, TWO_TASKS, hangs, hangs]
    async with discussion_rig(tmp_path / "home", {"mod": script}) as rig:
        await asyncio.to_thread(_look_interrupt_and_kill, rig, project)
        await asyncio.to_thread(_resume, rig.home, project)
        assert rig.requests["mod"] == len(script), "no subagent is asked again"


def _look_interrupt_and_kill(rig: DiscussionRig, project: Path) -> None:
    with Terminal(project, rig.home, rows=40, columns=120, arguments=[]) as terminal:
        terminal.wait_for("mod/scripted")
        terminal.submit("go")
        terminal.wait_for("the model is down")
        terminal.type(ALT_UP)
        terminal.wait_for("its transcript")
        with terminal.fresh():
            terminal.type(ENTER)
            terminal.wait_for("read-only")
        with terminal.fresh():
            terminal.type(ESCAPE)
            terminal.wait_for("its transcript")
        terminal.type(ESCAPE)  # back to the prompt
        with terminal.fresh():
            terminal.type(ESCAPE)
            terminal.wait_for("interrupted")
        terminal.submit("again")
        deadline = time.monotonic() + 120
        while rig.requests["mod"] < 6:
            assert time.monotonic() < deadline, terminal.painted[-2_000:]
            time.sleep(0.01)
        os.kill(terminal.process.pid, signal.SIGKILL)
        assert terminal.has_ended(within=120)


def _resume(home: Path, project: Path) -> None:
    with Terminal(project, home, rows=40, columns=120, arguments=["--continue"]) as terminal:
        terminal.wait_for("effect unknown: task, task")
        terminal.type(ALT_UP)
        terminal.wait_for("its transcript")
        terminal.type(ENTER)
        terminal.wait_for("read-only")
        terminal.wait_for("the process ended")


def _read_until(output: int, mark: bytes) -> bytes:
    """What was written up to and with the `mark`, and little more."""
    seen = b""
    while mark not in seen:
        piece = os.read(output, 1024)
        assert piece, seen[-2_000:]
        seen += piece
    return seen


@pytest.mark.long
async def test_a_provider_that_is_down_fails_the_task_and_not_the_turn(tmp_path: Path, project: Path) -> None:
    down = Refuse(status=500, message="down")
    async with discussion_rig(tmp_path / "home", {"mod": [TASK, down, DONE]}) as rig:
        ended = await rig.run(project, "run", "--output", "json", "go")
    assert (ended.code, ended.report["text"]) == (0, "done")
    assert [call["outcome"] for call in ended.report["calls"]] == ["error"]


@pytest.mark.long
async def test_a_call_of_a_subagent_that_nobody_can_approve_ends_the_run_as_one_of_its_owner_does(
    tmp_path: Path, project: Path
) -> None:
    (project / ".env").write_text("KEY=1\n", encoding="utf-8")
    asks = calling(call("x1", "read_file", path=".env"))
    async with discussion_rig(tmp_path / "home", {"mod": [TASK, asks, FOUND, DONE]}) as rig:
        ended = await rig.run(project, "run", "--output", "json", "go")
    assert ended.code == 3, ended.err
    assert (ended.report["status"], ended.report["text"]) == ("needs_approval", "done")
