"""Words that are typed while a list is in front, whose letters would stop or remove something."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.screen import Screen

from quorum.domain.events.event import TurnStarted
from quorum.tui.keys.keyboard_guard import TYPING_PACE, WENT_TO_PROMPT
from quorum.tui.screens.board_screen import BoardScreen
from quorum.tui.screens.jobs_screen import JobsScreen
from quorum.tui.screens.permissions_screen import PermissionsScreen
from tests.support.app_stage import Clock, Stage, on_stage
from tests.support.fake_archive import a_session
from tests.support.past_sessions import records_of
from tests.tui.test_board import begin_job
from tests.tui.test_permissions_screen import OWN
from tests.tui.test_typing_at_questions import type_at


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def open_list(stage: Stage, command: str, screen: type[Screen[object]]) -> None:
    stage.prompt.replace_text(command)
    await stage.press_at("enter", 101.0)
    await stage.until(lambda: isinstance(stage.app.screen, screen) and stage.app.screen.is_mounted)
    await stage.pilot.pause()


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("command", "screen"), [("/board", BoardScreen), ("/jobs", JobsScreen)], ids=["board", "jobs"]
)
async def test_a_word_stops_no_background_command_and_its_letter_alone_does(tmp_path, command, screen):
    async with on_stage(tmp_path, clock=Clock(), pace=TYPING_PACE) as stage:
        begin_job(stage, "npm run dev")
        await stage.until(lambda: stage.app.chat.jobs.running)
        await open_list(stage, command, screen)
        if screen is BoardScreen:
            await stage.shows("● runs   job-1")
        await type_at(stage, "so as stays", 103.0)
        await stage.shows(WENT_TO_PROMPT)
        assert stage.agent.jobs.stopped == []
        assert stage.prompt.text == "so as stays"

        await stage.press_at("s", 110.0)
        await stage.until(lambda: stage.agent.jobs.stopped == ["job-1"])


@pytest.mark.long
async def test_a_word_removes_no_rule_and_its_letter_pressed_twice_does(tmp_path):
    async with on_stage(tmp_path, clock=Clock(), pace=TYPING_PACE) as stage:
        stage.agent.rules.held = [OWN]
        await open_list(stage, "/permissions", PermissionsScreen)
        await stage.shows("run_command(make")
        await type_at(stage, "oddly", 103.0)
        await stage.pilot.pause()
        assert stage.agent.rules.held == [OWN]

        await stage.press_at("d", 110.0)
        await stage.shows("d again removes")
        await stage.press_at("d", 112.0)
        await stage.until(lambda: stage.agent.rules.held == [])


@pytest.mark.long
async def test_a_word_does_not_confirm_that_another_process_is_asked_to_end(tmp_path):
    async with on_stage(tmp_path, clock=Clock(), pace=TYPING_PACE) as stage:
        archive = stage.agent.archive
        archive.listed = (a_session("one", "watch the deploy", open_in=43),)
        archive.records["one"] = records_of([TurnStarted(prompt="watch the deploy")])
        await open_list(stage, "/board", BoardScreen)
        await stage.shows("● runs   session      watch the deploy")
        await stage.press_at("s", 103.0)
        await stage.shows("y confirms")
        await type_at(stage, "yes", 105.0)
        await stage.pilot.pause()
        assert archive.ended == []

        await stage.press_at("y", 110.0)
        await stage.until(lambda: archive.ended == ["one"])
