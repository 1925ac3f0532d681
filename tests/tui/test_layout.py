from __future__ import annotations

import asyncio
import random

import pytest
from textual import events
from textual.geometry import Size

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events import event as ev
from quorum.tui.keys.choices import LAYOUTS
from quorum.tui.screens.review.dialog import ReviewDialog
from quorum.tui.widgets.layout import arrange
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import FakeAgent, a_command, a_request, review, say
from tests.tui.transcript_scenes import planned

CALL = ("read_file", {"path": "a.py"}, RiskLevel.LOW, ())


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize(
    ("width", "height", "name"),
    [
        (80, 24, "default"),
        (109, 44, "default"),
        (109, 60, "default"),
        (159, 60, "default"),
        (160, 30, "wide"),
        (59, 40, "minimal"),
        (200, 13, "minimal"),
        (40, 10, "minimal"),
    ],
)
def test_by_itself_the_layout_goes_by_the_room_there_is(width, height, name):
    assert arrange("auto", Size(width, height)).name == name


@pytest.mark.parametrize("wish", LAYOUTS)
def test_where_there_is_no_room_for_the_panel_it_is_said_why(wish):
    small, large = arrange(wish, Size(50, 12)), arrange(wish, Size(170, 50))

    assert small.no_panel
    assert bool(large.no_panel) is (wish == "minimal")


def test_a_screen_reader_gets_one_column_whatever_was_asked_for():
    assert arrange("wide", Size(200, 60), plain=True).name == "minimal"
    assert arrange("wide", Size(200, 60), plain=True).no_panel


def places(stage: Stage) -> tuple[tuple[int, int], tuple[int, int]]:
    transcript, panel = stage.app.chat.transcript.region, stage.app.chat.side_panel.region
    return (panel.x - transcript.x, panel.y - transcript.y), (panel.width, panel.height)


@pytest.mark.long
async def test_each_layout_puts_the_panel_where_it_says(tmp_path):
    async with on_stage(tmp_path, size=(170, 40)) as stage:
        chat = stage.app.chat
        chat.status.welcome.display = False
        stage.agent.tell(planned(CALL))
        await stage.until(lambda: chat.side_panel.display)

        await stage.send("/layout default")
        await stage.until(lambda: chat.has_class("-default") and chat.side_panel.region.width == 36)
        (right, _), _ = places(stage)
        assert right > 120

        await stage.send("/layout wide")
        await stage.until(lambda: chat.side_panel.region.width == 40)

        await stage.send("/layout stacked")
        await stage.until(lambda: places(stage)[0][1] > 5)
        assert chat.side_panel.region.width == chat.transcript.region.width == 170

        await stage.send("/layout minimal")
        await stage.until(lambda: not chat.side_panel.display and chat.transcript.region.y == 0)
        assert " ask " in stage.text()

        await stage.send("/layout auto")
        await stage.until(lambda: chat.has_class("-wide") and chat.side_panel.display)


@pytest.mark.long
async def test_a_wrong_layout_is_answered_with_the_right_ones(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("/layout pink")
        await stage.shows("/layout needs one of auto, default, wide, stacked, minimal")


async def test_that_nothing_is_asked_is_loud_in_a_layout_without_a_header_too(tmp_path):
    async with on_stage(tmp_path, size=(60, 12)) as stage:
        assert "quorum  " not in stage.text()
        await stage.send("/mode auto")
        await stage.until(lambda: stage.text().splitlines()[-1].startswith(" AUTO "))


@pytest.mark.long(after=1)
@pytest.mark.parametrize("size", [(40, 10), (20, 5), (12, 3), (3, 2), (1, 1)])
async def test_the_smallest_windows_take_a_prompt(tmp_path, size):
    async with on_stage(tmp_path, say("all is well"), size=size, ready=False) as stage:
        await stage.until(lambda: stage.app.chat.current.session is not None)
        await stage.send("hello")
        await stage.until(lambda: stage.agent.prompts == ["hello"])
        if size >= (20, 5):
            await stage.shows("all is well")


async def storm(stage: Stage, seed: int) -> None:
    """A hundred sizes within a moment, as a window dragged by its corner makes them."""
    sizes = random.Random(seed)
    for number in range(100):
        size = Size(sizes.randrange(1, 220), sizes.randrange(1, 70))
        if number % 10:
            stage.app.post_message(events.Resize(size, size))
            await asyncio.sleep(0)
        else:  # a pause now and then, so that some of them are painted
            await stage.pilot.resize_terminal(*size)
    await stage.pilot.resize_terminal(120, 40)


@pytest.mark.long
async def test_after_a_storm_of_sizes_while_an_answer_streams_everything_is_there_and_in_its_place(tmp_path):
    gate = asyncio.Event()

    async def streaming(agent: FakeAgent) -> None:
        n = 0
        while not gate.is_set():
            agent.tell(ev.TextDelta(text=f"word{n} "))
            n += 1
            await asyncio.sleep(0)
            await asyncio.sleep(0.01)
        agent.tell(ev.TextDelta(text="\n\nthe end"))

    async with on_stage(tmp_path, streaming, size=(120, 40)) as stage:
        await stage.send("go")
        stage.prompt.replace_text("a draft\nof two lines")
        await stage.shows("word1")
        await storm(stage, 1)
        gate.set()
        await stage.shows("the end")

        chat = stage.app.chat
        assert (chat.size.width, chat.size.height) == (120, 40)
        assert chat.has_class("-default")
        assert chat.status.status_bar.region.y == 39
        assert chat.status.header.region.y == 0
        assert stage.prompt.text == "a draft\nof two lines"
        assert chat.transcript.is_at_end
        await stage.shows("of two lines")


@pytest.mark.long
async def test_a_question_that_cannot_be_read_cannot_be_approved_until_it_has_been_read(tmp_path):
    async with on_stage(tmp_path, review(a_request(a_command("make all"))), size=(120, 40)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.resize_terminal(30, 6)
        await stage.shows("too small a window")
        await stage.press_at("y", 1000.0)
        assert isinstance(stage.app.screen, ReviewDialog)

        await stage.pilot.resize_terminal(120, 40)
        await stage.shows("make all")
        await stage.press_at("y", 0.1)  # by the clock on the stage it has just come into sight
        assert isinstance(stage.app.screen, ReviewDialog)
        await stage.press_at("y", 2000.0)
        await stage.press_at("y", 2001.0)  # what was pressed unread may stand in the prompt, which asks for two
        await stage.unasked()


@pytest.mark.long
async def test_after_a_storm_of_sizes_a_question_can_still_be_read_and_answered(tmp_path):
    async with on_stage(tmp_path, review(a_request(a_command("make all"))), size=(120, 40)) as stage:
        await stage.send("go")
        await stage.asked()
        await storm(stage, 2)

        assert isinstance(stage.app.screen, ReviewDialog)
        await stage.shows("make all")
        await stage.shows("n no")
        await stage.press_at("n", 1000.0)
        await stage.unasked()
