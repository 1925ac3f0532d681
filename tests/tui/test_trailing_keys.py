"""The last key of a series of approvals does not land in the prompt."""

from __future__ import annotations

import pytest
from textual import events

from quorum.tui.app.gated_app import TrailingKeys
from tests.support.app_stage import Clock, on_stage
from tests.support.fake_agent import a_command, a_request, review


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def typed(*keys: tuple[str, float]) -> str:
    """What reaches the prompt of letters pressed so many seconds after a question closed, answered with `y`."""
    trailing = TrailingKeys()
    trailing.note_answered(events.Key("y", "y"))
    trailing.note_closed(100.0)
    text = ""
    for key, after in keys:
        before = trailing.admit(key, key, 100.0 + after)
        text += "" if before is None else before + key
    return text


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ([("y", 0.3)], ""),
        ([("y", 0.3), ("y", 0.35), ("y", 0.4), ("f", 1.5), ("i", 1.6)], "fi"),
        ([("y", 0.3), ("f", 1.5), ("i", 1.6), ("n", 1.7)], "fin"),
        ([("y", 0.8), ("e", 0.95), ("s", 1.1)], "yes"),
        ([("n", 0.8), ("e", 2.9), ("v", 3.0), ("e", 3.1), ("r", 3.2)], "never"),
        ([("f", 0.1), ("y", 0.2)], "fy"),
        ([("y", 4.5)], ""),
        ([("y", 5.5)], "y"),
    ],
)
def test_the_key_that_answered_becomes_text_only_where_a_word_follows_or_long_after(keys, text):
    assert typed(*keys) == text


@pytest.mark.long
async def test_the_last_y_of_a_series_does_not_land_in_the_prompt_and_that_is_said(tmp_path):
    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, review(a_request(a_command("make"))), clock=clock) as stage:
        await stage.send("go")
        await stage.asked()
        clock.now = 101.0
        await stage.press_at("y", 101.0)
        await stage.unasked()
        await stage.press_at("y", 101.3)
        await stage.shows("y was not typed")
        assert stage.prompt.text == ""
        for key, at in (("y", 101.5), ("x", 101.6)):
            await stage.press_at(key, at)

        assert stage.prompt.text == "x"


@pytest.mark.long
async def test_a_key_that_came_too_early_is_said_to_have_done_nothing(tmp_path):
    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, review(a_request(a_command("make"))), clock=clock) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.press_at("y", 100.1)
        await stage.shows("that key came too early and was ignored")
        dialog.show_awake()
        await stage.shows("esc rejects and interrupts")

        assert stage.agent.answers == []
