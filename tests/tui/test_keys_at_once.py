"""Keys that come faster than screens open and close."""

import random

import pytest
from textual import events
from textual.command import CommandPalette

from domain.review import Approve
from tests.support.app_stage import on_stage
from tests.support.fake_agent import a_command, a_request, review
from tui.help_screen import HelpScreen

CONTROL = ("ctrl+p", "up", "down", "escape", "escape", "f1", "tab", "shift+tab", "ctrl+o", "pagedown")
MAKE = a_command("make all")


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def palette_on(stage):
    stage.hit("ctrl+p")
    await stage.shows("Search for commands")
    await stage.until(lambda: isinstance(stage.app.screen, CommandPalette) and stage.app.screen.is_mounted)
    return stage.app.screen


@pytest.mark.parametrize("key", ["escape", "enter"])
async def test_a_key_that_closes_the_palette_closes_nothing_else_when_it_comes_thrice(tmp_path, key):
    async with on_stage(tmp_path) as stage:
        await palette_on(stage)
        for pressed in ("down", "down", key, key, key):
            stage.hit(pressed)
        await stage.until(lambda: not isinstance(stage.app.screen, CommandPalette))
        stage.hit("x")
        await stage.until(lambda: stage.app.screen is not stage.app.chat or stage.prompt.text == "x")

        assert stage.app.chat in stage.app.screen_stack


async def test_a_palette_that_is_covered_does_not_close_what_covers_it(tmp_path):
    async with on_stage(tmp_path) as stage:
        palette = await palette_on(stage)
        await stage.app.push_screen(HelpScreen())
        await palette.dismiss()
        assert isinstance(stage.app.screen, HelpScreen)

        stage.hit("escape")
        await stage.until(lambda: stage.app.screen is palette)
        stage.hit("escape")
        await stage.unasked()


async def test_a_key_pressed_before_a_question_appeared_does_not_answer_it(tmp_path):
    async with on_stage(tmp_path, review(a_request(MAKE))) as stage:
        await stage.send("go")
        await stage.asked()
        key = events.Key("y", "y")
        key._set_forwarded()  # some widget of the screen below had it and no use for it
        stage.app.post_message(key)
        await stage.pilot.pause()
        assert stage.agent.answers == []

        stage.hit("y")
        await stage.until(lambda: stage.agent.answers)
        assert stage.agent.answers == [Approve(MAKE.digest)]


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
async def test_a_storm_of_control_keys_does_not_end_the_app(tmp_path, seed):
    chance = random.Random(seed)
    async with on_stage(tmp_path) as stage:
        for _ in range(40):
            for key in chance.choices(CONTROL, k=chance.choice([1, 3, 6, 9])):
                stage.hit(key)
            await stage.pilot.pause()

        assert stage.app.is_running
