import pytest

from quorum.tui.app.app import PaletteScreen
from quorum.tui.keys.keymap import build_keymap, find_problems, label_key, parse_key
from quorum.tui.screens.help import HelpScreen
from tests.support.app_stage import on_stage
from tests.support.fake_agent import a_command, a_request, review


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def complaints(**wishes) -> list[str]:
    return [sentence for _, sentence in find_problems(wishes)]


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("ctrl+g", "ctrl+g"),
        ("Ctrl+Shift+G", "ctrl+shift+g"),
        ("shift+ctrl+g", "ctrl+shift+g"),
        ("?", "question_mark"),
        ("+", "plus"),
        ("ctrl++", "ctrl+plus"),
        (",", "comma"),
        ("esc", "escape"),
        ("pgdn", "pagedown"),
        ("shift+a", "A"),
        ("f12", "f12"),
        ("ctrl+i", "tab"),
        ("f99", None),
        ("ctrl+nonsense", None),
        ("fn+a", None),
        ("ctrl+", None),
        ("", None),
    ],
)
def test_a_key_is_named_as_people_write_it(written, key):
    assert parse_key(written) == key


def test_a_key_is_shown_as_it_may_be_written():
    assert [label_key(key) for key in ("question_mark", "ctrl+pagedown", "escape")] == ["?", "ctrl+pgdn", "esc"]


@pytest.mark.parametrize(
    ("wishes", "sentence"),
    [
        ({"redrw": "f5"}, "nothing is called 'redrw'; did you mean redraw?"),
        ({"redraw": "ctrl+nonsense"}, "'ctrl+nonsense' is no key; write one such as"),
        ({"redraw": []}, "redraw needs a key at least"),
        ({"redraw": "escape"}, "esc always does what it does and cannot be put on anything else"),
        ({"redraw": "enter"}, "enter always does what it does"),
        ({"redraw": "x"}, "x writes a character there; take one with ctrl or alt"),
        (
            {"redraw": "ctrl+b"},
            "ctrl+b is the key of toggle_panel in the chat: Send a running command to the background; else "
            "show or hide the side panel",
        ),
        ({"redraw": "f5", "toggle_panel": "f5"}, "f5 is the key of toggle_panel in the chat"),
        ({"pager_next": "q"}, "q is the key of pager_close in the pager: Close"),
        ({"review_reject": "y"}, "y is the key of review_approve in a review"),
        ({"review_approve": "space"}, "space is pressed too easily for something that lets calls run"),
        ({"trust_accept": "tab"}, "tab is pressed too easily for something that lets calls run"),
        ({"review_approve": "enter"}, "enter always does what it does"),
        ({"review_widen": "w"}, "review_widen shares its key with another action there and cannot be changed"),
        ({"help": "q"}, "q writes a character there"),
    ],
)
def test_what_cannot_be_a_key_is_shown_with_the_reason(wishes, sentence):
    assert sentence in complaints(**wishes)[0]


@pytest.mark.parametrize(
    "wishes",
    [
        {"redraw": "f5"},
        {"toggle_fold": ["ctrl+o", "f6"]},
        {"toggle_panel": "ctrl+o", "toggle_fold": "ctrl+b"},
        {"review_approve": "Y", "review_reject": "N"},
        {"pager_next": "m"},
        {"prompt_older": "alt+p"},
        {"sessions_down": ["ctrl+n"]},
    ],
)
def test_what_is_nobody_elses_key_in_that_context_can_be_had(wishes):
    assert complaints(**wishes) == []


def test_the_keys_that_leave_stay_whatever_is_wished():
    assert build_keymap({"pager_back": "f9", "copy_or_stop": "f10"}) == {
        "pager_back": "f9,escape",
        "copy_or_stop": "f10,ctrl+c",
    }


def test_what_cannot_be_leaves_its_key_as_usual():
    assert build_keymap({"redraw": "escape", "toggle_panel": "f5"}) == {"toggle_panel": "f5"}


@pytest.mark.long
async def test_another_key_does_it_and_the_usual_one_no_longer(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.app.rebind({"help": "f5"})
        await stage.pilot.press("f1")
        assert stage.app.screen is stage.app.chat
        await stage.pilot.press("f5")
        assert isinstance(stage.app.screen, HelpScreen)

        stage.app.rebind({})
        await stage.pilot.press("f1")
        await stage.unasked()


@pytest.mark.long
async def test_two_keys_can_change_places(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.app.rebind({"help": "ctrl+p", "palette": "f1"})
        await stage.pilot.press("ctrl+p")
        assert isinstance(stage.app.screen, HelpScreen)
        await stage.pilot.press("escape")
        await stage.unasked()
        await stage.pilot.press("f1")
        await stage.until(lambda: isinstance(stage.app.screen, PaletteScreen))


@pytest.mark.long
async def test_another_letter_answers_a_review_and_escape_still_leaves_it(tmp_path):
    async with on_stage(
        tmp_path, review(a_request(a_command("make"))), review(a_request(a_command("make")))
    ) as stage:
        stage.app.rebind({"review_reject": "x", "review_back": "f9"})
        for key in ("x", "escape"):
            await stage.send("go")
            await stage.asked()
            stage.app.screen.show_awake()
            stage.hit(key)
            await stage.unasked()

        assert [type(answer).__name__ for answer in stage.agent.answers] == ["Reject", "RejectAndInterrupt"]


@pytest.mark.long
async def test_the_palette_shows_the_keys_there_are_now(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.app.rebind({"toggle_panel": ["f5", "f6"]})
        offered = {each.title: each.help for each in stage.app.get_system_commands(stage.app.chat)}

    assert offered["Send a running command to the background; else show or hide the side panel"] == "f5, f6"
    assert offered["Find in the transcript"] == "ctrl+f, f3"


@pytest.mark.long
async def test_hints_name_the_keys_that_the_person_has(tmp_path):
    async with on_stage(tmp_path, review(a_request(a_command("make")))) as stage:
        await stage.shows("shift+tab mode")
        stage.app.rebind({"review_approve": "p", "cycle_mode": "f6"})
        await stage.until(lambda: "f6 mode" in stage.text() and "shift+tab" not in stage.text())
        await stage.send("go")
        await stage.asked()
        await stage.shows("p yes")
        assert "y yes" not in stage.text()
