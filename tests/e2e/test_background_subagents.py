"""Subagents in the background, in the app: the turn goes on, risky calls are asked about, and what became of
them is said, also after a kill."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.discussion_rig import DiscussionRig, discussion_rig
from tests.support.quorum_rig import DONE, call, calling
from tests.support.sse_server import Hang, Say
from tests.support.terminal import Terminal

AGENT = "---\nname: writer\ndescription: writes\ntools: Write\nmodel: sub/scripted\n---\nYou write.\n"
TASK = calling(call("c1", "task", prompt="write b.txt", agent="writer", background=True))
WRITE = calling(call("x1", "write_file", path="b.txt", content="beta"))
WROTE = Say(pieces=["b.txt is written"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    agents = tmp_path / "home" / ".agents" / "agents"
    agents.mkdir(parents=True)
    (agents / "writer.md").write_text(AGENT, encoding="utf-8")
    return folder


def _begin(terminal: Terminal) -> None:
    terminal.wait_for("trust it as it is now")
    terminal.press_when_awake("y", "mod/scripted")
    terminal.submit("go")


def _approve_between_turns(rig: DiscussionRig, project: Path) -> None:
    with Terminal(project, rig.home, rows=40, columns=120, arguments=[]) as terminal:
        _begin(terminal)
        terminal.wait_for("the turn is over")
        terminal.wait_for("Create b.txt")
        terminal.press_when_awake("y", "has reported")
        terminal.submit("next")
        terminal.wait_for("all done")


@pytest.mark.long
async def test_the_turn_goes_on_and_a_risky_call_of_the_subagent_is_asked_about_when_it_comes(
    tmp_path: Path, project: Path
) -> None:
    scripts = {
        "mod": [TASK, Say(pieces=["the turn is over"]), Say(pieces=["all done"])],
        "sub": [WRITE, WROTE],
    }
    async with discussion_rig(tmp_path / "home", scripts, besides=("mod", "sub")) as rig:
        await asyncio.to_thread(_approve_between_turns, rig, project)
        said = [str(message["content"]) for message in rig.servers["mod"].bodies[-1]["messages"]]

    assert (project / "b.txt").read_text(encoding="utf-8") == "beta"
    assert any("| b.txt is written" in text for text in said), said


def _kill(rig: DiscussionRig, project: Path) -> None:
    with Terminal(project, rig.home, rows=40, columns=120, arguments=[]) as terminal:
        _begin(terminal)
        terminal.wait_for("the turn is over")
        deadline = time.monotonic() + 120
        while not rig.requests["sub"]:
            assert time.monotonic() < deadline, terminal.painted[-2_000:]
            time.sleep(0.01)
        os.kill(terminal.process.pid, signal.SIGKILL)
        assert terminal.has_ended(within=120)


@pytest.mark.long
async def test_after_a_kill_the_person_and_the_model_learn_what_became_of_it(
    tmp_path: Path, project: Path
) -> None:
    scripts = {"mod": [TASK, Say(pieces=["the turn is over"]), DONE], "sub": [Hang("silent")]}
    async with discussion_rig(tmp_path / "home", scripts, besides=("mod", "sub")) as rig:
        await asyncio.to_thread(_kill, rig, project)
        ended = await rig.run(project, "run", "--continue", "go on")
        said = [str(message["content"]) for message in rig.servers["mod"].bodies[-1]["messages"]]

    assert "subagent ended with the process, not asked again: job-1" in ended.err
    assert any("job-1 was interrupted when the quorum that it worked in ended" in text for text in said), said
