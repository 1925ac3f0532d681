from __future__ import annotations

import asyncio

import pytest

from quorum.domain.errors import QuorumError
from quorum.domain.text.json_value import JsonObject
from quorum.tui.chat import status_bar as status_line
from quorum.tui.chat.status_bar import StatusLine
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import say


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(status_line, "PAUSE_SECS", 0)


class Program:
    """Prints what it is told to, and keeps what it was given."""

    def __init__(self, *lines: str | QuorumError) -> None:
        self.lines = list(lines)
        self.given: list[JsonObject] = []

    async def __call__(self, session: JsonObject) -> str:
        self.given.append(session)
        line = self.lines.pop(0) if len(self.lines) > 1 else self.lines[0]
        if isinstance(line, QuorumError):
            raise line
        return line


def line_of(stage: Stage) -> StatusLine:
    return stage.app.chat.query_one(StatusLine)


async def start(stage: Stage, program: Program) -> None:
    stage.app.print_status_line = program
    stage.app.chat.refresh_state()
    await stage.until(lambda: program.given)


async def test_what_the_program_prints_stands_below_the_status_bar(tmp_path):
    async with on_stage(tmp_path) as stage:
        await start(stage, Program("\x1b[31mred\x1b[0m and plain\x1b]0;title\x07"))

        await stage.shows("red and plain")
        assert stage.text().rstrip().splitlines()[-1].strip() == "red and plain"


async def test_the_program_is_reported_model_folder_use_and_mode(tmp_path):
    async with on_stage(tmp_path, say("hello")) as stage:
        program = Program("x")
        await start(stage, program)
        await stage.pilot.press(*"hi", "enter")
        await stage.until(lambda: program.given[-1]["session_name"] == "hi")

        reported = program.given[-1]
        assert reported["model"] == {
            "id": "model-1",
            "display_name": "model-1",
            "provider": "fake",
            "effort": None,
        }
        assert reported["workspace"] == {"current_dir": str(tmp_path), "project_dir": str(tmp_path)}
        assert reported["review_mode"] == "ask"
        assert reported["session_id"] == stage.agent.session_id
        assert reported["vim"] is None


async def test_the_program_does_not_run_again_while_nothing_changes(tmp_path):
    async with on_stage(tmp_path) as stage:
        program = Program("x")
        await start(stage, program)
        await stage.shows("x")
        await stage.until(lambda: not any(run.group == "status line" for run in stage.app.workers))
        for _ in range(5):
            stage.app.chat.refresh_state()
            await stage.pilot.pause()

        assert len(program.given) == 1


async def test_changes_during_a_run_are_one_more_run(tmp_path):
    async with on_stage(tmp_path) as stage:
        going = asyncio.Event()
        given: list[JsonObject] = []

        async def slow(session: JsonObject) -> str:
            given.append(session)
            await going.wait()
            return str(len(given))

        stage.app.print_status_line = slow
        stage.app.chat.refresh_state()
        await stage.until(lambda: given)
        for mode in ("normal", "insert", "visual"):
            stage.app.chat.status.use_vim_mode(mode)
        going.set()
        await stage.until(lambda: len(given) == 2)

        assert given[-1]["vim"] == {"mode": "VISUAL"}


@pytest.mark.long
async def test_a_program_that_fails_is_reported_once_and_again_after_it_worked(tmp_path):
    async with on_stage(tmp_path) as stage:
        problem = QuorumError("line.sh exited with 3")
        program = Program(problem, problem, "works", problem)
        await start(stage, program)
        for count, mode in enumerate(("normal", "insert", "visual"), start=2):
            stage.app.chat.status.use_vim_mode(mode)
            await stage.until(lambda wanted=count: len(program.given) == wanted)
            await stage.pilot.pause()

        await stage.until(lambda: stage.text().count("tui.statusline: line.sh exited with 3") == 2)
        assert not line_of(stage).display


async def test_without_a_program_there_is_no_line(tmp_path):
    async with on_stage(tmp_path) as stage:
        assert not line_of(stage).display
