"""Keys that come faster than screens open and close."""

import random

import pytest
from textual import events
from textual.command import CommandPalette
from textual.widgets import Input

from quorum.domain.replacing import replace
from quorum.domain.review.questions import Approve, ApproveAlways, ApproveRest, RulePreview
from quorum.tui.chat.controllers.views import ViewController
from quorum.tui.keys.keyboard_guard import mark_as_pasted
from quorum.tui.screens.accounts.offers_screens import AgentsScreen
from quorum.tui.screens.help import HelpScreen
from tests.support.app_stage import Clock, on_stage
from tests.support.fake_agent import a_command, a_request, review
from tests.support.review_contexts import a_review_context

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


@pytest.mark.long(after=1)
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


@pytest.mark.long
async def test_a_command_of_the_palette_runs_once_however_often_enter_comes(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(ViewController, "action_show_agents", lambda _self: ran.append("agents"))
    async with on_stage(tmp_path) as stage:
        await palette_on(stage)
        for pressed in ("down", "down", "enter", "enter", "enter"):
            stage.hit(pressed)
        await stage.until(lambda: not isinstance(stage.app.screen, CommandPalette))
        stage.hit("x")
        await stage.until(lambda: stage.prompt.text == "x")

    assert ran == ["agents"]


@pytest.mark.parametrize(
    ("screen", "shown"), [(HelpScreen, "Commands"), (lambda: AgentsScreen(()), "There are no agents")]
)
async def test_a_screen_may_be_told_its_size_while_nothing_is_in_it(tmp_path, screen, shown):
    async with on_stage(tmp_path) as stage:
        opened = screen()
        opened.on_resize()

        await stage.app.push_screen(opened)

        await stage.shows(shown)


@pytest.mark.long
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


@pytest.mark.long
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


def at_once(stage, moment, *keys):
    """Keys that all arrived at one moment of the stage's clock, before any of them was acted upon."""
    for key in keys:
        event = events.Key(key, key if len(key) == 1 else None)
        event.time = moment
        stage.app.post_message(event)


async def always_offered(agent):
    request = replace(a_request(MAKE), proposals=("run_command(make all)",))
    await agent.ask(request, a_review_context(preview=lambda _rule: RulePreview(covers_this=True)))


@pytest.mark.long
@pytest.mark.parametrize(
    ("scene", "keys", "shown", "answer"),
    [
        (always_offered, ("a", "enter"), "always let run", ApproveAlways),
        (
            review(a_request(MAKE, a_command("make more"))),
            ("A", "tab", "enter"),
            "yes to these 2",
            ApproveRest,
        ),
    ],
    ids=["a rule", "the rest"],
)
async def test_a_key_that_came_before_what_another_opened_was_seen_lets_nothing_run(
    tmp_path, scene, keys, shown, answer
):
    clock = Clock()
    async with on_stage(tmp_path, scene, clock=clock) as stage:
        await stage.send("go")
        await stage.asked()
        clock.now = 1.0  # long after the dialog has appeared
        at_once(stage, 1.0, *keys)
        await stage.shows(shown)
        await stage.pilot.pause()
        assert stage.agent.answers == []

        for key in keys[1:]:
            await stage.press_at(key, 2.0)
        await stage.until(lambda: stage.agent.answers)
        assert isinstance(stage.agent.answers[0], answer)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("key", ["y", "enter"])
async def test_a_letter_among_others_that_came_together_answers_nothing(tmp_path, key):
    async with on_stage(tmp_path, review(a_request(MAKE))) as stage:
        await stage.send("go")
        await stage.asked()
        stage.hit("left")  # to the choice that approves
        pasted = [events.Key(each, each if len(each) == 1 else "\r") for each in (key, "x")]
        mark_as_pasted(pasted)
        for each in pasted:
            stage.app.post_message(each)
        await stage.pilot.pause()

        assert stage.agent.answers == []


@pytest.mark.long
@pytest.mark.parametrize(("seed", "rounds"), [(5, 5), (1, 25), (2, 25), (3, 25), (4, 25)])
async def test_a_storm_of_control_keys_does_not_end_the_app(tmp_path, seed, rounds):
    chance = random.Random(seed)
    async with on_stage(tmp_path) as stage:
        for _ in range(rounds):
            for key in chance.choices(CONTROL, k=chance.choice([1, 3, 6, 9])):
                stage.hit(key)
            await stage.pilot.pause()

        assert stage.app.is_running


async def test_enter_sends_the_prompt_though_the_terminal_loses_the_focus_right_after(tmp_path):
    async with on_stage(tmp_path) as stage:
        for pressed in ("h", "i", "enter"):
            stage.hit(pressed)
        stage.app.post_message(events.AppBlur())
        await stage.until(lambda: stage.agent.prompts or "\n" in stage.prompt.text)

        assert stage.agent.prompts == ["hi"]
        assert not stage.app.app_focus


@pytest.mark.long
async def test_a_key_of_any_widget_acts_though_the_terminal_loses_the_focus_right_after(tmp_path):
    async with on_stage(tmp_path) as stage:
        palette = await palette_on(stage)
        field = palette.query_one(Input)
        for pressed in ("a", "b", "ctrl+u"):
            stage.hit(pressed)
        stage.app.post_message(events.AppBlur())
        await stage.until(lambda: not stage.app.app_focus)
        await stage.until(lambda: field.value != "ab")

        assert field.value == ""
        assert not stage.app.app_focus
