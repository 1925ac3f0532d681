"""Ctrl+R: looking for an earlier prompt in the prompt's place."""

import pytest
from textual import events

from quorum.tui.prompt_box.completing import PastSearch
from quorum.tui.prompt_box.history import History, locate_history
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import hold

PROMPTS = ["run the tests", "fix the parser", "Run pytest -q", "explain\nthe parser\nplease"]


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    history = History(locate_history(tmp_path))
    for prompt in PROMPTS:
        history.add(prompt)


async def search(stage: Stage, query: str) -> None:
    await stage.pilot.press("ctrl+r", *query)


@pytest.mark.long
async def test_letters_find_the_newest_prompt_that_holds_them_and_the_hit_is_marked(tmp_path):
    async with on_stage(tmp_path) as stage:
        await search(stage, "pars")
        await stage.shows("search: pars▏  1 of 2")

        assert stage.prompt.text == PROMPTS[3]
        assert stage.prompt.selected_text == "pars"


@pytest.mark.long
@pytest.mark.parametrize(("older", "newer"), [("ctrl+r", "ctrl+s"), ("up", "down")])
async def test_older_and_newer_ones_are_gone_through_up_to_the_ends(tmp_path, older, newer):
    async with on_stage(tmp_path) as stage:
        await search(stage, "run")
        shown = [stage.prompt.text]
        for key in (older, older, newer):
            await stage.pilot.press(key)
            shown.append(stage.prompt.text)

        assert shown == ["Run pytest -q", "run the tests", "run the tests", "Run pytest -q"]
        await stage.pilot.press(newer)
        await stage.shows("no newer one")


@pytest.mark.long
async def test_enter_takes_what_was_found_to_be_edited_and_sends_nothing(tmp_path):
    async with on_stage(tmp_path) as stage:
        await search(stage, "fix")
        await stage.pilot.press("enter", "!")
        assert stage.prompt.text == "fix the parser!"
        assert stage.agent.prompts == []
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.prompts == ["fix the parser!"])


@pytest.mark.long
async def test_escape_brings_the_draft_back_as_it_was_and_stops_no_turn(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.pilot.press(*"draft", "left")
        await search(stage, "fix")
        await stage.pilot.press("escape", "X")
        assert stage.prompt.text == "drafXt"
        assert stage.app.chat.turns.running
        await stage.pilot.press("ctrl+underscore", "ctrl+underscore")
        assert "draft".startswith(stage.prompt.text)


@pytest.mark.long
async def test_the_draft_that_was_replaced_comes_back_by_undo(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press(*"draft")
        await search(stage, "fix")
        await stage.pilot.press("enter", "ctrl+underscore")

        assert stage.prompt.text == "draft"


@pytest.mark.long
async def test_a_folded_paste_is_still_whole_after_a_search_that_was_given_up(tmp_path):
    pasted = "\n".join(map(str, range(50)))
    async with on_stage(tmp_path) as stage:
        stage.app.post_message(events.Paste(pasted))
        await stage.pilot.pause()
        await search(stage, "fix")
        await stage.pilot.press("escape", "enter")
        await stage.until(lambda: stage.agent.prompts == [pasted])


@pytest.mark.long
async def test_what_is_not_found_is_shown_and_what_was_found_before_is_not_taken(tmp_path):
    async with on_stage(tmp_path) as stage:
        await search(stage, "fixx")
        await stage.shows("nothing found")
        await stage.pilot.press("backspace")
        assert stage.prompt.text == "fix the parser"
        await stage.pilot.press("ctrl+u", "enter")

        assert stage.prompt.text == ""


@pytest.mark.long
async def test_a_key_without_a_meaning_in_the_search_takes_what_was_found_and_acts_there(tmp_path):
    async with on_stage(tmp_path) as stage:
        await search(stage, "fix")
        await stage.pilot.press("home", "X")

        assert stage.prompt.text == "Xfix the parser"


async def test_a_pasted_text_is_looked_for(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("ctrl+r")
        stage.app.post_message(events.Paste("the tests\n"))
        await stage.until(lambda: stage.prompt.text == "run the tests")


async def test_keys_that_all_come_at_once_search_in_their_order(tmp_path):
    async with on_stage(tmp_path) as stage:
        for key in ("ctrl+r", "f", "i", "x", "enter", "!", "enter"):
            stage.hit(key)
        await stage.until(lambda: stage.agent.prompts == ["fix the parser!"])


async def test_a_slash_is_looked_for_like_any_letter_and_opens_no_menu(tmp_path):
    History(locate_history(tmp_path)).add("read a/b.py")
    async with on_stage(tmp_path) as stage:
        await search(stage, "/")

        assert stage.prompt.text == "read a/b.py"
        assert "search:" in stage.text()


def test_each_text_comes_once_and_without_letters_all_are_gone_through():
    search = PastSearch(["a", "b", "a"])
    shown = []
    while search.find_older():
        shown.append(search.present)

    assert shown == ["a", "b"]


def test_what_is_shown_stays_while_it_fits_what_is_typed_on():
    search = PastSearch(["pytest -q", "pytest", "pip"])
    search.look_for("p")
    search.find_older()
    assert search.present == "pytest"
    search.look_for("pyt")
    assert search.present == "pytest"
    search.look_for("pytest -")
    assert search.present == "pytest -q"
