"""`quorum acp` under a client that is no part of quorum: acpx, which drives agents from the command line."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.headless_run import QUORUM, Ended, configure_for, environment
from tests.support.quorum_rig import DONE, call, calling
from tests.support.sse_server import Say, SseServer

_PATIENCE_SECS = 120.0
_ENDING = "Queue owner is shutting down"
EDIT = calling(call("c1", "edit_file", path="a.txt", old_text="two", new_text="TWO"))

pytestmark = pytest.mark.skipif(
    shutil.which("acpx") is None, reason="acpx is not on the PATH: npm install -g acpx (it needs Node.js 22.13)"
)


@dataclass
class Machine:
    """A project, a model, and acpx with quorum as its agent."""

    project: Path
    home: Path
    model: SseServer

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        """Start acpx."""
        return await asyncio.create_subprocess_exec(
            "acpx",
            *("--agent", f"{QUORUM} acp", "--cwd", str(self.project), "--ttl", "1"),
            *arguments,
            cwd=self.project,
            env=environment(self.home, PATH=os.environ["PATH"]),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def acpx(self, *arguments: str) -> Ended:
        """Run acpx to its end, and again where it met a process of its own that was just ending."""
        async with asyncio.timeout(_PATIENCE_SECS):
            while _ENDING in (ended := await end(await self.start(*arguments))).out + ended.err:
                continue
        return ended


async def end(process: asyncio.subprocess.Process) -> Ended:
    """Wait for its end, and for what it printed."""
    out, err = await asyncio.wait_for(process.communicate(), _PATIENCE_SECS)
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    (project / "a.txt").write_text("one\ntwo\nthree\n")
    async with SseServer("anthropic") as model:
        configure_for(home, model)
        yield Machine(project, home, model)


@pytest.mark.long
@pytest.mark.parametrize(
    ("answer", "left", "said"),
    [
        ("--approve-all", "one\nTWO\nthree\n", "edit_file a.txt (completed)"),
        ("--deny-all", "one\ntwo\nthree\n", "rejected by the user"),
    ],
)
async def test_its_answer_to_a_permission_request_decides(
    machine: Machine, answer: str, left: str, said: str
) -> None:
    machine.model.script = [EDIT, DONE]
    ended = await machine.acpx(answer, "exec", "go")

    assert said in ended.out
    assert "[done] end_turn" in ended.out
    assert (machine.project / "a.txt").read_text() == left


@pytest.mark.long
async def test_a_session_is_continued_by_another_process_cancelled_and_listed(machine: Machine) -> None:
    begun = await machine.acpx("sessions", "new")
    session_id = begun.out.strip()
    machine.model.script = [calling(call("c1", "run_command", command="touch started && sleep 300")), DONE]
    running = await machine.start("--approve-all", "prompt", "run it")
    async with asyncio.timeout(_PATIENCE_SECS):
        while not (machine.project / "started").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.05)
    cancelled = await machine.acpx("cancel")
    ended = await end(running)

    machine.model.script = [Say(pieces=["all well"])]
    again = await machine.acpx("prompt", "and now?")
    mode = await machine.acpx("set-mode", "auto")
    listed = await machine.acpx("--format", "json", "sessions", "list")
    closed = await machine.acpx("sessions", "close")

    assert (cancelled.out.strip(), closed.code) == ("cancel requested", 0)
    assert "[done] cancelled" in ended.out
    assert "all well" in again.out
    sent = json.dumps(machine.model.bodies[-1]["messages"])
    assert "run it" in sent
    assert "interrupted while it ran" in sent
    assert mode.code == 1
    assert "auto is chosen when a session begins" in mode.err
    assert [each["sessionId"] for each in json.loads(listed.out)["sessions"]] == [session_id]


@pytest.mark.long
async def test_model_effort_and_mode_are_set_from_the_command_line(machine: Machine) -> None:
    machine.model.facts = {"/v1/models": {"data": [{"id": "small"}], "has_more": False}}
    await machine.acpx("sessions", "new")
    model = await machine.acpx("set", "model", "local/small")
    effort = await machine.acpx("set", "effort", "high")
    mode = await machine.acpx("set-mode", "read-only")
    machine.model.script = [EDIT, DONE]
    ended = await machine.acpx("--approve-all", "prompt", "go")

    assert (model.code, effort.code, mode.code) == (0, 0, 0), model.err + effort.err + mode.err
    assert (machine.model.bodies[-1]["model"], machine.model.bodies[-1]["output_config"]) == (
        "small",
        {"effort": "high"},
    )
    assert "the mode is read-only" in ended.out
    assert (machine.project / "a.txt").read_text() == "one\ntwo\nthree\n"
