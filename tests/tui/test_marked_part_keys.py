import pytest

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events import event as ev
from quorum.tui.screens.pager_screen import PagerScreen
from quorum.tui.transcript.layout.transcript_layout import TranscriptLayout
from tests.support.app_stage import on_stage
from tests.tui.transcript_scenes import completed, finished, planned, started

RUN = ("run_command", {"command": "make test"}, RiskLevel.HIGH, ())
ANSWER = "It is done:\n\n```sh\nls\n```\n\n```py\nx = 1\n```"


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def show(stage):
    view = stage.app.chat.transcript
    for event in (
        ev.TurnStarted(prompt="please test"),
        ev.ReasoningDelta(text="first\nI think"),
        completed("I run it.", calls=True),
        planned(RUN, RUN),
        started("run_command", {"command": "make test"}),
        finished("run_command", "".join(f"line {number}\n" for number in range(30))),
        completed(ANSWER),
    ):
        view.apply(event)
    view.flush()


def marked(stage):
    """The text of the line that is marked."""
    view = stage.app.chat.transcript
    for y in range(view.size.height):
        line = view.render_line(y)
        if any(style and style.reverse and text.strip() for text, style, _ in line):
            return line.text.strip()
    return ""


@pytest.mark.long
async def test_alt_up_marks_the_latest_part_and_further_ones_above_and_arrows_move_too(tmp_path):
    async with on_stage(tmp_path) as stage:
        show(stage)
        await stage.pilot.press("alt+up")
        assert marked(stage).startswith("It is done")
        starts = []
        for key in ("alt+up", "up", "k", "up", "up", "up", "alt+down", "down", "j"):
            await stage.pilot.press(key)
            starts.append(marked(stage)[:13])
    assert [start.strip() for start in starts] == [
        "▸  2 run    m",
        "▸  1 run    m",
        "I run it.",
        "▸ thought · f",
        "› please test",
        "› please test",
        "▸ thought · f",
        "I run it.",
        "▸  1 run    m",
    ]


@pytest.mark.long(after=2)
@pytest.mark.parametrize("key", ["enter", "space"])
async def test_the_marked_part_is_unfolded_and_folded(tmp_path, key):
    async with on_stage(tmp_path) as stage:
        show(stage)
        await stage.pilot.press("alt+up", "up", "up", key)
        assert marked(stage).startswith("▾  1 run ")
        assert "line 3" in stage.text()
        await stage.pilot.press(key)
        assert marked(stage).startswith("▸  1 run ")


@pytest.mark.long
@pytest.mark.parametrize(
    ("keys", "copied"),
    [
        (("c",), ANSWER),
        (("y",), ANSWER),
        (("1",), "ls"),
        (("2",), "x = 1"),
        (("up", "up", "c"), "".join(f"line {number}\n" for number in range(30))),
        (("up",) * 4 + ("c",), "first\nI think"),
        (("up",) * 5 + ("c",), "please test"),
    ],
)
async def test_the_marked_part_is_copied_or_a_block_of_its_code(tmp_path, keys, copied):
    async with on_stage(tmp_path) as stage:
        show(stage)
        await stage.pilot.press("alt+up", *keys)
        await stage.shows("copied")
        assert stage.app.clipboard == copied


@pytest.mark.long
async def test_the_whole_output_of_the_marked_call_is_opened(tmp_path):
    async with on_stage(tmp_path) as stage:
        show(stage)
        await stage.pilot.press("alt+up", "up", "up", "o")
        await stage.until(lambda: isinstance(stage.app.screen, PagerScreen))


@pytest.mark.long
async def test_esc_goes_back_to_the_draft_and_so_does_typing_on(tmp_path):
    async with on_stage(tmp_path) as stage:
        show(stage)
        await stage.pilot.press(*"draft", "alt+up", "escape")
        await stage.until(lambda: stage.app.focused is stage.prompt)
        assert stage.prompt.text == "draft"
        assert marked(stage) == ""
        await stage.pilot.press("alt+up", "x")
        await stage.until(lambda: stage.app.focused is stage.prompt)
        await stage.pilot.press("z")
        assert stage.prompt.text == "draftxz"


@pytest.mark.long
async def test_with_nothing_to_mark_that_is_said(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("alt+up")
        await stage.shows("nothing to go to yet")
        await stage.pilot.press("down", "enter", "c", "o", "escape")
        await stage.until(lambda: stage.app.focused is stage.prompt)


@pytest.mark.long
async def test_finding_takes_the_place_of_marking_and_marking_that_of_finding(tmp_path):
    async with on_stage(tmp_path) as stage:
        show(stage)
        await stage.pilot.press("alt+up", "ctrl+f", *"run it")
        await stage.until(lambda: marked(stage) == "I run it.")
        assert not stage.app.screen.query("StopBar")
        await stage.pilot.press("alt+up")
        assert marked(stage).startswith("It is done")
        assert not stage.app.screen.query("FindBar")


@pytest.mark.long
async def test_a_part_is_marked_as_soon_as_the_transcript_has_a_width(tmp_path, monkeypatch):
    answers = iter([False])  # as before the first frame, and then as ever after
    monkeypatch.setattr(TranscriptLayout, "has_width", property(lambda _page: next(answers, True)))
    async with on_stage(tmp_path) as stage:
        show(stage)
        await stage.pilot.press("alt+up")
        await stage.shows("esc back")
        assert marked(stage).startswith("It is done")
