"""Redo: what is shown first, what is brought back, and what leaves the prompt again."""

import pytest

from quorum.application.view.entries import PromptEntry
from quorum.application.view.session_view import SessionView
from quorum.domain.errors import RestoreError
from quorum.domain.events import event as ev
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.sessions.restoration import RestorePlan
from quorum.domain.sessions.state import PastUndo
from quorum.tui.chat.chat_screen import describe_last_ending
from quorum.tui.screens.rewind.restore_screen import RedoScreen, RestoreScreen
from tests.support.app_stage import on_stage
from tests.support.fake_agent import say
from tests.tui.rewind_scenes import EDITED, LOST, OVERWRITTEN, REMOVED, TURNS, with_turns

BOTH = PastUndo(number=0, turn=3, turns=(3,))
FILES = PastUndo(number=1, turn=1)
PLAN = RestorePlan(turn=3, steps=(OVERWRITTEN, EDITED, LOST))


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def with_undo(agent):
    """An undo of the last turn that can be redone."""
    with_turns(agent)
    agent.undos, agent.redo_plans = (BOTH,), {0: PLAN}


async def shown(stage):
    await stage.send("/redo")
    await stage.until(lambda: isinstance(stage.app.screen, RedoScreen) and stage.app.screen.is_mounted)
    await stage.until(lambda: "checking the files" not in stage.text())


async def test_without_an_undo_there_is_nothing_to_redo(tmp_path):
    async with on_stage(tmp_path, prepare=with_turns) as stage:
        await stage.send("/redo")
        await stage.shows("there is nothing to redo")

        assert stage.app.screen is stage.app.chat


async def test_what_would_come_back_is_shown_first_and_esc_changes_nothing(tmp_path):
    async with on_stage(tmp_path, prepare=with_undo, size=(80, 24)) as stage:
        await shown(stage)
        await stage.shows("src/retry.py")
        text = stage.text()
        await stage.pilot.press("escape")
        await stage.unasked()

        assert stage.agent.redone == []
    assert "write the docs" in text
    assert "the conversation of 1 turn" in text
    assert "changes again" in text
    assert "edited by you since: left alone" in text
    assert "cannot be undone: its former content was not kept" not in text
    assert "cannot be redone: its former content was not kept" in text


@pytest.mark.long
@pytest.mark.parametrize(("steps", "offered"), [((OVERWRITTEN, EDITED), True), ((OVERWRITTEN, LOST), False)])
async def test_overwriting_is_offered_only_where_a_file_was_edited_since(tmp_path, steps, offered):
    def prepare(agent):
        with_undo(agent)
        agent.redo_plans = {0: RestorePlan(turn=3, steps=steps)}

    async with on_stage(tmp_path, prepare=prepare, size=(80, 24)) as stage:
        await shown(stage)
        await stage.shows("src/retry.py")

        assert ("space overwrites" in stage.text()) == offered


async def test_an_undo_and_its_redo_leave_the_prompt_and_the_turns_as_they_were(tmp_path):
    async with on_stage(tmp_path, say("done"), prepare=with_turns) as stage:
        await stage.send("/undo")
        await stage.until(lambda: isinstance(stage.app.screen, RestoreScreen) and stage.app.screen.is_mounted)
        await stage.pilot.press("c")
        await stage.unasked()
        assert stage.prompt.text == TURNS[3].prompt
        stage.agent.undos = (BOTH,)
        stage.prompt.replace_text("")
        await stage.send("/redo")
        await stage.until(lambda: isinstance(stage.app.screen, RedoScreen) and stage.app.screen.is_mounted)
        stage.prompt.replace_text(f"{TURNS[3].prompt}\nmy draft")
        await stage.shows("brings back the conversation")
        await stage.pilot.press("r")
        await stage.unasked()

        assert stage.agent.redone == [(0, RestorePlan(turn=0), frozenset())]
        assert stage.prompt.text == "my draft"
        assert [turn.undone for turn in stage.agent.turns] == [False, False, True, False]


@pytest.mark.long
async def test_a_file_edited_since_is_overwritten_only_where_it_is_marked(tmp_path):
    async with on_stage(tmp_path, prepare=with_undo) as stage:
        await shown(stage)
        await stage.pilot.press("down", "space", "r")
        await stage.unasked()

        assert stage.agent.redone == [(0, PLAN, frozenset({EDITED.path}))]


async def test_files_alone_of_which_all_were_edited_are_not_redone_unasked(tmp_path):
    def prepare(agent):
        with_turns(agent)
        agent.undos, agent.redo_plans = (FILES,), {1: RestorePlan(turn=1, steps=(EDITED,))}

    async with on_stage(tmp_path, prepare=prepare) as stage:
        await shown(stage)
        await stage.shows("only files: the conversation stayed")
        await stage.pilot.press("r")
        await stage.shows("space marks one to be overwritten")
        assert stage.agent.redone == []


async def test_what_fails_is_named_and_the_screen_stays(tmp_path):
    def prepare(agent):
        with_undo(agent)
        agent.redo_plans = {0: RestorePlan(turn=3, steps=(REMOVED,))}
        agent.rewind_fails = RestoreError("docs/retry.md is in the way")

    async with on_stage(tmp_path, prepare=prepare) as stage:
        await shown(stage)
        await stage.pilot.press("r")
        await stage.shows("docs/retry.md is in the way")

        assert isinstance(stage.app.screen, RedoScreen)


# -- the transcript -----------------------------------------------------------------------------------------


def a_turn(prompt):
    report = RunReport(session_id="s", status=RunStatus.FAILED, stop_reason="", text="", turns=1)
    plan = {"plan": [{"text": prompt, "status": "pending"}]}
    return (
        ev.TurnStarted(prompt=prompt),
        ev.StateMerged(batch_id="b", changed=plan),
        ev.TurnFinished(report=report),
    )


def test_turns_that_are_redone_look_as_before_and_so_does_the_plan():
    view = SessionView()
    for event in (*a_turn("one"), *a_turn("two"), ev.SessionRewound(turn=1, conversation=True, files=False)):
        view.apply(event)
    taken_back = [entry.undone for entry in view.entries if isinstance(entry, PromptEntry)]
    plan_before = view.present.plan
    view.apply(ev.SessionRedone(turns=(1,), files=True, turn=1))

    assert taken_back == [False, True]
    assert not any(entry.undone for entry in view.entries)
    assert not any(turn.undone for turn in view.timings.turns)
    assert [step.text for step in plan_before] == ["one"]
    assert [step.text for step in view.present.plan] == ["two"]


def test_a_turn_that_is_redone_can_be_continued_as_it_had_ended():
    past = (*a_turn("one"), ev.SessionRewound(turn=0, conversation=True, files=False))

    assert describe_last_ending(past) == ""
    assert describe_last_ending((*past, ev.SessionRedone(turns=(0,), files=True, turn=0))) == "failed"
