"""Plans in the installed program: made, approved in the app, in force after a kill, and printed by a run."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from tests.support.headless_run import configure_for, environment, run
from tests.support.quorum_rig import DONE, call, calling
from tests.support.sse_server import Hang, Say, SseServer
from tests.support.terminal import Terminal

PLAN = call(
    "p1",
    "create_plan",
    objective="a parser",
    reasoning="it is asked for",
    tasks=[{"id": "parser", "description": "write the parser", "writes": ["src/**"]}],
)
SKETCH = ("--scope", "plan-only", "make a parser")


def writing(id_: str, path: str) -> Say:
    return calling(call(id_, "write_file", path=path, content="made", create_dirs=True))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def approved_and_killed(project: Path, rows: int, columns: int) -> None:
    with Terminal(project, project.parent / "home", rows=rows, columns=columns, arguments=[]) as terminal:
        terminal.wait_for("local/scripted")
        terminal.submit("/plan make a parser")
        terminal.wait_for("[x] parser")
        terminal.press_when_awake("y", "is approved")
        terminal.process.kill(signal.SIGKILL)
        assert terminal.has_ended(within=120)


@pytest.mark.long
@pytest.mark.parametrize(("rows", "columns"), [(24, 80), (15, 60)])
async def test_approved_in_the_app_and_killed_at_once_the_plan_holds_for_the_next_process(
    project: Path, rows: int, columns: int
) -> None:
    home = project.parent / "home"
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [calling(PLAN), Hang("silent")]
        await asyncio.to_thread(approved_and_killed, project, rows, columns)

        server.script = [writing("c1", "src/a"), DONE]
        within = await run("--continue", "go on", cwd=project, env=environment(home))
        server.script = [writing("c2", "other"), DONE]
        outside = await run("--continue", "go on", "--mode", "auto", cwd=project, env=environment(home))

    assert within.code == 0, within.err
    assert (project / "src" / "a").read_text() == "made"
    assert outside.code == 3, outside.err
    assert not (project / "other").exists()


@pytest.mark.long
async def test_a_run_that_is_only_to_plan_prints_the_plan_and_ends(project: Path) -> None:
    home = project.parent / "home"
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [calling(PLAN)]
        ended = await run(*SKETCH, cwd=project, env=environment(home))
        assert len(server.bodies) == 1

    assert ended.code == 0, ended.err
    assert "# Plan" in ended.out
    assert "### [x] parser" in ended.out
    assert "- writes: src/**" in ended.out


@pytest.mark.long
async def test_the_plan_of_a_run_is_in_its_report_and_in_the_stream(project: Path) -> None:
    home = project.parent / "home"
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [calling(PLAN)]
        report = (await run("--output", "json", *SKETCH, cwd=project, env=environment(home))).report
        server.script = [calling(PLAN)]
        events = (await run("--output", "stream-json", *SKETCH, cwd=project, env=environment(home))).events

    assert report["plan"]["tasks"][0]["writes"] == ["src/**"]
    proposed = next(event for event in events if event["type"] == "plan_proposed")
    assert proposed["digest"] == report["plan"]["digest"] == events[-1]["plan"]["digest"]
    assert not [event for event in events if event["type"] == "plan_approved"]
