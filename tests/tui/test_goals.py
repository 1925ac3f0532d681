"""`/goal` in the app: set with checks, shown, refused, taken away."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.goal import Goal
from quorum.tui.keys.slash_commands import is_command
from quorum.tui.screens.accounts.goal_screen import GoalScreen
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import hold, say


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def goal_of(stage: Stage) -> Goal | None:
    found: Goal | None = stage.agent.goals.goal
    return found


async def ready(stage: Stage) -> None:
    await stage.until(lambda: stage.app.chat.current.session)


async def test_a_goal_is_set_with_its_checks_and_its_text_is_the_prompt(tmp_path: Path) -> None:
    async with on_stage(tmp_path, say("done")) as stage:
        await ready(stage)
        await stage.send("/goal all tests pass ! pytest -q")
        await stage.until(lambda: stage.agent.prompts == ["all tests pass"])

        goal = goal_of(stage)
        assert goal is not None
        assert [check.command for check in goal.checks] == ["pytest -q"]
        await stage.until(lambda: stage.app.chat.current.session.mode_label == "ask, goal")
        await stage.until(lambda: not stage.app.chat.turns.running)
        await stage.send("/goal off")
        await stage.until(lambda: goal_of(stage) is None)


@pytest.mark.long
async def test_what_is_refused_stays_in_the_prompt(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        await ready(stage)
        stage.agent.goals.refusal = "the check pytest cannot run"
        await stage.send("/goal pass ! pytest")
        await stage.shows("the check pytest cannot run")

        assert stage.app.chat.prompt.text == "/goal pass ! pytest"
        assert stage.agent.prompts == []


@pytest.mark.long
async def test_a_goal_is_not_set_while_a_turn_runs(tmp_path: Path) -> None:
    async with on_stage(tmp_path, hold()) as stage:
        await ready(stage)
        await stage.send("go")
        await stage.until(lambda: stage.app.chat.turns.running)
        await stage.send("/goal pass ! true")
        await stage.shows("a turn is running")

        assert goal_of(stage) is None
        assert stage.app.chat.prompt.text == "/goal pass ! true"


@pytest.mark.long
async def test_alone_it_shows_how_the_goal_stands(tmp_path: Path) -> None:
    async with on_stage(tmp_path, say("done")) as stage:
        await ready(stage)
        await stage.send("/goal")
        await stage.shows("No goal is set")
        await stage.pilot.press("escape")
        await stage.send("/goal pass ! true")
        await stage.until(lambda: not stage.app.chat.turns.running and stage.agent.prompts)
        await stage.send("/goal")
        await stage.until(lambda: isinstance(stage.app.screen, GoalScreen))
        await stage.shows("check: true")
        await stage.shows("not checked yet")


def test_a_goal_may_be_typed_on_several_lines_and_other_commands_may_not() -> None:
    assert is_command("/goal pass\n! pytest -q\n! ruff check .")
    assert not is_command("/plan a\nb")
    assert not is_command("/tmp/goal is\na path")
