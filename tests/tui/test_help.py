import pytest
from textual import events

from quorum.tui.keys.keyboard_guard import TYPING_PACE
from quorum.tui.keys.slash_commands import COMMANDS, find_action
from quorum.tui.screens.help import HelpScreen
from quorum.tui.screens.timeline.timeline_screen import TimelineScreen
from tests.support.app_stage import Clock, Stage, on_stage
from tests.support.fake_agent import a_command, a_request, review


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def opened(stage: Stage, *keys: str) -> None:
    await stage.pilot.press(*keys)
    await stage.until(lambda: isinstance(stage.app.screen, HelpScreen) and stage.app.screen.is_mounted)


async def press_question_mark(stage: Stage, at: float) -> None:
    event = events.Key("question_mark", "?")
    event.time = at
    stage.app.post_message(event)
    await stage.pilot.pause()


@pytest.mark.long
async def test_the_help_is_searched_by_typing(tmp_path):
    async with on_stage(tmp_path) as stage:
        await opened(stage, "question_mark")
        await stage.shows("/plan")
        await stage.pilot.press(*"side panel")
        await stage.until(lambda: "/plan" not in stage.text())

        assert "ctrl+b" in stage.text()
        assert "In the chat" in stage.text()


@pytest.mark.long
async def test_what_nothing_is_called_is_said(tmp_path):
    async with on_stage(tmp_path) as stage:
        await opened(stage, "f1")
        await stage.pilot.press(*"zzz")
        await stage.shows("nothing is called 'zzz'")


async def test_a_question_mark_at_a_question_shows_its_keys_first_and_is_text_within_a_text(tmp_path):
    clock = Clock()
    clock.now = 100.0
    async with on_stage(
        tmp_path, review(a_request(a_command("make all"))), clock=clock, pace=TYPING_PACE
    ) as stage:
        await stage.send("go")
        await stage.asked()
        await press_question_mark(stage, 105.0)
        await stage.shows("In a review")
        await stage.shows("Approve: run exactly this")
        await stage.pilot.press("escape")
        await stage.asked()
        for number, key in enumerate("why"):
            await stage.press_at(key, 110.0 + number / 10)
        await press_question_mark(stage, 110.3)
        await stage.until(lambda: stage.prompt.text == "why?")

        assert stage.agent.answers == []


@pytest.mark.long
async def test_a_question_mark_over_a_list_shows_its_keys_first(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("/timeline")
        await stage.until(lambda: isinstance(stage.app.screen, TimelineScreen))
        await opened(stage, "question_mark")
        await stage.shows("In the timeline")


@pytest.mark.long
@pytest.mark.parametrize("key", ["escape", "f1", "question_mark"])
async def test_it_closes_with_the_keys_that_opened_it(tmp_path, key):
    async with on_stage(tmp_path) as stage:
        await opened(stage, "f1")
        await stage.pilot.press(key)
        await stage.unasked()


@pytest.mark.long
async def test_it_shows_the_keys_there_are_now_by_their_names_too(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.app.rebind({"toggle_panel": ["f5", "f6"]})
        await opened(stage, "f1")
        await stage.pilot.press(*"toggle_panel")
        await stage.shows("f5, f6")

        assert "ctrl+b" not in stage.text()


async def test_help_about_a_command_tells_its_usage_and_an_example(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("/help mode")
        await stage.shows("/mode MODE")
        await stage.shows("MODE is one of ask, accept-edits")
        await stage.shows("/mode auto")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_example_is_one_that_can_be_typed(command):
    assert find_action(command.example)


@pytest.mark.long
async def test_it_scrolls_while_something_is_typed(tmp_path):
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        await opened(stage, "f1")
        await stage.pilot.press("down", "pagedown")
        await stage.until(lambda: "/ensemble [PROMPT]" not in stage.text())
        await stage.pilot.press("pageup", "up")
        await stage.shows("/ensemble [PROMPT]")


@pytest.mark.long
async def test_long_lines_go_on_below_their_column(tmp_path):
    async with on_stage(tmp_path, size=(50, 24)) as stage:
        await opened(stage, "f1")
        await stage.pilot.press(*"/export")
        await stage.shows("Write the")

        line = next(line for line in stage.text().splitlines() if "to a file" in line or ".html" in line)
        assert line.index("to a" if "to a" in line else ".") > 20


@pytest.mark.long
async def test_keys_that_differ_in_a_number_are_one_line_with_the_range_in_its_place(tmp_path):
    async with on_stage(tmp_path) as stage:
        await opened(stage, "f1")
        await stage.pilot.press(*"block")
        await stage.shows("copy block 1…9 of its code")

        assert "1…9" in stage.text()
        assert "code…9" not in stage.text()
