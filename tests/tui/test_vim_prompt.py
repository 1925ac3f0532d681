from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from textual import events

from quorum.domain.settings import TuiTable
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import hold


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@asynccontextmanager
async def vim_stage(tmp_path, *scenes):
    async with on_stage(tmp_path, *scenes) as stage:
        stage.app.settings = TuiTable(editing="vim")
        yield stage


def mode_shown(stage: Stage) -> str:
    return (stage.app.screen.query_one("#composer").border_title or "").strip()


@pytest.mark.long
async def test_letters_are_text_until_escape_and_commands_after_it(tmp_path):
    async with vim_stage(tmp_path) as stage:
        await stage.pilot.press(*"one two")
        assert mode_shown(stage) == "INSERT"
        await stage.pilot.press("escape")
        assert mode_shown(stage) == "NORMAL"

        await stage.pilot.press("b", "c", "w", *"three")

        assert stage.prompt.text == "one three"
        assert mode_shown(stage) == "INSERT"


@pytest.mark.long
async def test_enter_sends_in_every_mode_and_the_next_prompt_is_inserted(tmp_path):
    async with vim_stage(tmp_path) as stage:
        await stage.pilot.press(*"one", "escape", "enter")
        await stage.until(lambda: stage.agent.prompts)
        await stage.until(lambda: mode_shown(stage) == "INSERT")
        await stage.pilot.press(*"two", "enter")
        await stage.until(lambda: len(stage.agent.prompts) == 2)

        assert stage.agent.prompts == ["one", "two"]


@pytest.mark.long
async def test_escape_leaves_the_insert_mode_first_and_interrupts_the_turn_then(tmp_path):
    async with vim_stage(tmp_path, hold()) as stage:
        await stage.pilot.press(*"go", "enter")
        await stage.until(lambda: stage.agent.prompts)

        await stage.pilot.press("x", "escape")
        assert stage.app.chat.turns.running
        await stage.pilot.press("escape")
        await stage.until(lambda: not stage.app.chat.turns.running)


@pytest.mark.long
async def test_j_and_k_go_to_other_prompts_at_the_edges_of_the_text(tmp_path):
    async with vim_stage(tmp_path) as stage:
        await stage.pilot.press(*"first", "enter")
        await stage.until(lambda: stage.agent.prompts)
        await stage.pilot.press(*"draft", "escape", "k")
        assert stage.prompt.text == "first"

        await stage.pilot.press("j")

        assert stage.prompt.text == "draft"


@pytest.mark.long
async def test_a_slash_in_normal_mode_searches_earlier_prompts(tmp_path):
    async with vim_stage(tmp_path) as stage:
        await stage.pilot.press(*"needle", "enter")
        await stage.until(lambda: stage.agent.prompts)

        await stage.pilot.press("escape", "slash", *"need", "enter")

        assert stage.prompt.text == "needle"


@pytest.mark.long
async def test_a_slash_after_a_search_command_is_the_character_it_looks_for(tmp_path):
    async with vim_stage(tmp_path) as stage:
        await stage.pilot.press(*"a/b", "escape", "0", "d", "t", "slash")

        assert stage.prompt.text == "/b"


@pytest.mark.long
async def test_a_selection_is_drawn_with_the_character_under_the_cursor(tmp_path):
    async with vim_stage(tmp_path) as stage:
        await stage.pilot.press(*"one two", "escape", "0", "v", "e")
        assert stage.prompt.selected_text == "one"
        assert mode_shown(stage) == "VISUAL"

        await stage.pilot.press("d")

        assert stage.prompt.text == " two"
        assert stage.prompt.selected_text == ""


@pytest.mark.long
async def test_what_vim_changed_is_undone_by_its_key_and_by_the_usual_one(tmp_path):
    async with vim_stage(tmp_path) as stage:
        await stage.pilot.press(*"one two", "escape", "d", "b")
        assert stage.prompt.text == "one o"

        await stage.pilot.press("u")
        assert stage.prompt.text == "one two"
        await stage.pilot.press("ctrl+r")
        assert stage.prompt.text == "one o"
        await stage.pilot.press("ctrl+underscore")
        assert stage.prompt.text == "one two"


@pytest.mark.long
async def test_the_menu_is_offered_while_a_command_is_typed_and_closed_by_escape_first(tmp_path):
    async with vim_stage(tmp_path) as stage:
        await stage.pilot.press("slash", *"mod")
        await stage.pilot.press("escape")
        assert mode_shown(stage) != "NORMAL"

        await stage.pilot.press("escape")

        assert mode_shown(stage) == "NORMAL"
        assert stage.prompt.text == "/mod"


async def test_a_paste_arrives_in_every_mode(tmp_path):
    async with vim_stage(tmp_path) as stage:
        await stage.pilot.press(*"ab", "escape")
        stage.app.post_message(events.Paste("XY"))
        await stage.pilot.pause()

        assert stage.prompt.text == "aXYb"


async def test_without_the_setting_letters_stay_letters_after_escape(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("a", "escape", "x")

        assert stage.prompt.text == "ax"
        assert mode_shown(stage) == ""


@pytest.mark.long
async def test_the_modes_end_as_soon_as_the_setting_is_changed(tmp_path):
    async with vim_stage(tmp_path) as stage:
        await stage.pilot.press("a", "escape")
        stage.app.settings = TuiTable(editing="emacs")

        await stage.pilot.press("x")

        assert stage.prompt.text == "xa"
        assert mode_shown(stage) == ""
