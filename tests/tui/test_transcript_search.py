import pytest
from rich.style import Style
from textual.widgets import Input

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events import event as ev
from quorum.tui.finding_bar import Finder
from tests.support.app_stage import on_stage
from tests.support.fake_agent import hold, say
from tests.tui.transcript_scenes import completed, finished, planned, started

RUN = ("run_command", {"command": "make test"}, RiskLevel.HIGH, ())


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def shows_status(stage, text):
    """Wait until the line that finds says this."""
    await stage.until(lambda: text == str(stage.app.screen.query_one("#find-status").content))


def shows_no_bar(stage):
    return not stage.app.screen.query("FindBar")


def marked(stage):
    """The texts on the screen that are shown as hits, those of the present one apart."""
    hits, present = [], []
    view = stage.app.chat.transcript
    for y in range(view.size.height):
        for text, style, _ in view.render_line(y):
            if style and style.reverse and style.bold:
                present.append(text)
            elif style and style.underline:
                hits.append(text)
    return hits, present


def show(stage, *events):
    for event in events:
        stage.app.chat.transcript.apply(event)
    stage.app.chat.transcript.flush()


async def test_what_is_found_before_the_first_frame_is_gone_to_once_the_transcript_has_a_width(tmp_path):
    async with on_stage(tmp_path) as stage:
        view = stage.app.chat.transcript
        view.forget()  # what is shown next has no width until there is a frame
        view.apply(ev.TurnStarted(prompt="Needle one"))
        view.apply(completed("a needle"))
        finder = Finder(view, Style(), Style())
        finder.look_for("needle")
        is_complete = [finder.search_further() for _ in range(3)]  # each for a moment, which may be too short
        assert not any(is_complete)
        assert finder.status == "2 so far…"

        view.flush()
        assert any(finder.search_further() for _ in range(3))
        assert finder.status == "1 of 2"


@pytest.mark.long
async def test_ctrl_f_finds_while_it_is_typed_and_esc_gives_the_draft_back(tmp_path):
    async with on_stage(tmp_path) as stage:
        show(stage, ev.TurnStarted(prompt="Needle one"), completed("a needle, and a **need**le again"))
        await stage.pilot.press(*"my draft", "left", "ctrl+f", *"needle")
        await shows_status(stage, "1 of 3")
        assert marked(stage) == (["needle", "need", "le"], ["Needle"])

        await stage.pilot.press("escape")
        await stage.until(lambda: shows_no_bar(stage))
        assert stage.prompt.text == "my draft"
        assert stage.prompt.cursor_location == (0, 7)
        assert stage.app.focused is stage.prompt
        assert marked(stage) == ([], [])


@pytest.mark.long
async def test_capitals_count_only_where_some_are_typed(tmp_path):
    async with on_stage(tmp_path) as stage:
        show(stage, completed("Needle needle NEEDLE"))
        await stage.pilot.press("ctrl+f", *"needle")
        await shows_status(stage, "1 of 3")
        stage.app.screen.query_one(Input).value = "Needle"
        await shows_status(stage, "1 of 1")


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ("keys", "place"),
    [
        (("enter",), "2 of 4"),
        (("down", "down"), "3 of 4"),
        (("f3",), "2 of 4"),
        (("ctrl+f",), "2 of 4"),
        (("down", "up"), "1 of 4"),
        (("shift+enter",), "4 of 4"),
        (("shift+f3", "shift+f3"), "3 of 4"),
        (("enter", "enter", "enter", "enter"), "1 of 4"),
    ],
)
async def test_keys_go_to_the_next_place_and_to_the_one_before_and_round(tmp_path, keys, place):
    async with on_stage(tmp_path) as stage:
        show(stage, ev.TurnStarted(prompt="x1 x1"), completed("x1"), completed("x1"))
        await stage.pilot.press("ctrl+f", *"x1")
        await shows_status(stage, "1 of 4")
        await stage.pilot.press(*keys)
        await shows_status(stage, place)


@pytest.mark.long
async def test_the_command_finds_its_text(tmp_path):
    async with on_stage(tmp_path, say("the needle is here")) as stage:
        await stage.send("hi")
        await stage.shows("the needle is here")
        await stage.send("/find the needle")
        await shows_status(stage, "1 of 1")
        assert marked(stage) == ([], ["the needle"])


@pytest.mark.long
async def test_what_was_found_last_is_found_again(tmp_path):
    async with on_stage(tmp_path) as stage:
        show(stage, completed("needle needle"))
        await stage.pilot.press("ctrl+f", *"needle", "escape")
        await stage.until(lambda: shows_no_bar(stage))
        await stage.pilot.press("f3")
        await shows_status(stage, "1 of 2")
        await stage.pilot.press(*"other")
        await shows_status(stage, "nothing found")


@pytest.mark.long(after=3)
@pytest.mark.parametrize("needle", ["(", "[a-z]+", ".*", "\\", "^$", "漢字", "👩‍👧", "שלום", "a  b", "**"])
async def test_any_text_is_looked_for_literally(tmp_path, needle):
    async with on_stage(tmp_path) as stage:
        show(stage, ev.TurnStarted(prompt=f"see {needle} here"), completed("nothing of the kind"))
        await stage.pilot.press("ctrl+f")
        stage.app.screen.query_one(Input).value = needle
        await shows_status(stage, "1 of 1")
        stage.app.screen.query_one(Input).value = needle + "\u202ex"
        await shows_status(stage, "nothing found")


@pytest.mark.long
async def test_a_hit_in_a_folded_card_is_unfolded_when_gone_to_and_folded_again_when_left(tmp_path):
    async with on_stage(tmp_path, size=(100, 24)) as stage:
        output = "".join(f"line {number}\n" for number in range(60)).replace("line 9\n", "line 9 needle\n")
        show(
            stage,
            completed("a needle first"),
            planned(RUN),
            started("run_command", {}),
            finished("run_command", output),
        )
        show(stage, completed("more words\n\n" * 20))
        await stage.pilot.press("ctrl+f", *"needle")
        await shows_status(stage, "2 of 2")
        assert "line 9 needle" in stage.text()
        assert marked(stage) == ([], ["needle"])
        await stage.pilot.press("up")
        await shows_status(stage, "1 of 2")
        assert "a needle first" in stage.text()
        assert "▸ run " in stage.text()


@pytest.mark.long
async def test_a_hit_in_a_folded_thought_is_unfolded(tmp_path):
    async with on_stage(tmp_path) as stage:
        show(stage, ev.ReasoningDelta(text="deep\nneedle\nthoughts"), ev.TextDelta(text="done"))
        await stage.pilot.press("ctrl+f", *"needle")
        await shows_status(stage, "1 of 1")
        assert marked(stage) == ([], ["needle"])


async def test_a_hit_that_was_broken_to_fit_is_found_and_marked_on_both_lines(tmp_path):
    async with on_stage(tmp_path, size=(40, 24)) as stage:
        show(stage, completed("some words before the needle and the haystack that follows it"))
        await stage.pilot.press("ctrl+f")
        stage.app.screen.query_one(Input).value = "needle and the haystack"
        await shows_status(stage, "1 of 1")
        assert " ".join(marked(stage)[1]) == "needle and the haystack"


@pytest.mark.long
async def test_text_that_streams_in_is_counted_and_the_place_stays(tmp_path):
    async with on_stage(tmp_path) as stage:
        show(stage, ev.TurnStarted(prompt="needle"), ev.TextDelta(text="need"))
        await stage.pilot.press("ctrl+f", *"needle")
        await shows_status(stage, "1 of 1")
        show(stage, ev.TextDelta(text="le and\n\nneedle " * 2))
        await shows_status(stage, "1 of 4")
        await stage.pilot.press("enter", "enter")
        await shows_status(stage, "3 of 4")
        show(stage, ev.TextDelta(text="needle\n\n" * 30))
        await shows_status(stage, "3 of 34")


@pytest.mark.long
async def test_clearing_the_screen_while_finding_leaves_nothing_to_find(tmp_path):
    async with on_stage(tmp_path) as stage:
        show(stage, completed("needle"))
        await stage.pilot.press("ctrl+f", *"needle")
        await shows_status(stage, "1 of 1")
        stage.app.chat.transcript.clear()
        await shows_status(stage, "nothing found")
        show(stage, completed("needle needle"))
        await shows_status(stage, "1 of 2")


@pytest.mark.long
async def test_esc_in_the_find_line_does_not_interrupt_the_turn(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("go")
        await stage.until(lambda: stage.app.chat.turns.running)
        await stage.pilot.press("ctrl+f", "x", "escape")
        await stage.until(lambda: shows_no_bar(stage))
        assert stage.app.chat.turns.running
        assert not stage.app.chat.turns.interrupting
        await stage.pilot.press("escape")
        await stage.until(lambda: not stage.app.chat.turns.running)


@pytest.mark.long
async def test_a_hit_far_away_is_gone_to_without_drawing_what_lies_between(tmp_path):
    async with on_stage(tmp_path) as stage:
        show(stage, ev.TurnStarted(prompt="the needle"))
        for number in range(2_000):
            stage.app.chat.transcript.apply(ev.TurnStarted(prompt=f"prompt {number}"))
            stage.app.chat.transcript.apply(completed("an answer\n\n" * 3))
        stage.app.chat.transcript.flush()
        before = stage.app.chat.transcript.page.drawings
        await stage.pilot.press("ctrl+f", *"needle")
        await shows_status(stage, "1 of 1")
        assert "the needle" in stage.text()
        assert stage.app.chat.transcript.page.drawings - before < 60


@pytest.mark.long
@pytest.mark.parametrize("width", [40, 60, 100, 200])
async def test_the_find_line_fits_its_width(tmp_path, width):
    async with on_stage(tmp_path, size=(width, 24), ready=False) as stage:
        show(stage, completed("needle 漢字 " * 30))
        await stage.pilot.press("ctrl+f", *"needle 漢字")
        await shows_status(stage, "1 of 30")
        line = next(line for line in stage.text().splitlines() if " of 30" in line)
        assert line.startswith(" find needle 漢字")
