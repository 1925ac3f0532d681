"""The transcript of a subagent: live while it works, from its record afterwards, and read-only."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.application.view.session_view import SessionView
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import LedgerError
from quorum.domain.events import event as ev
from quorum.domain.events.report import RunStatus
from quorum.domain.events.subagents import SubagentOutcome
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.tui.chat.controllers.views import list_subagents
from quorum.tui.screens.subagent_screen import SubagentScreen
from tests.support.app_stage import Stage, on_stage
from tests.tui.transcript_scenes import completed, context, finished, planned, started, turn_finished

ID = "session-1-t1"
TASK = ("task", {"prompt": "find \x1b[2Jalpha", "agent": "finder"}, RiskLevel.LOW, ())
OUTCOME = SubagentOutcome(status=RunStatus.COMPLETED, text="line 1")


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def tell(stage: Stage, *events: ev.Event) -> None:
    view = stage.app.chat.transcript
    for event in events:
        view.apply(event)
    view.flush()


def inside(event: ev.Event) -> ev.SubagentProgressed:
    """Something that happens in the session of the subagent."""
    return ev.SubagentProgressed(context=context(0), subagent_id=ID, event=event.to_json())


BEGIN = (
    ev.TurnStarted(prompt="please look"),
    completed("I give a task.", calls=True),
    planned(TASK),
    started("task", {"prompt": "find \x1b[2Jalpha"}),
    ev.SubagentStarted(
        context=context(0), subagent_id=ID, prompt="find \x1b[2Jalpha", model="fake/model", agent="finder"
    ),
)
END = (
    ev.SubagentFinished(context=context(0), subagent_id=ID, outcome=OUTCOME),
    finished("task", "line 1"),
)


async def open_marked(stage: Stage) -> SubagentScreen:
    """Go to the latest part by the keyboard, and press Enter there."""
    await stage.pilot.press("alt+up")
    await stage.shows("its transcript")
    await stage.pilot.press("enter")
    await stage.until(lambda: isinstance(stage.app.screen, SubagentScreen) and stage.app.screen.is_mounted)
    assert isinstance(stage.app.screen, SubagentScreen)
    return stage.app.screen


@pytest.mark.long
async def test_enter_on_the_card_shows_what_it_does_and_goes_on_with_it(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        tell(stage, *BEGIN, inside(ev.TurnStarted(prompt="find alpha")), inside(ev.TextDelta(text="I lo")))
        await open_marked(stage)
        await stage.shows("task finder: find")
        await stage.shows("session session-1-t1, read-only")
        await stage.shows("find alpha")
        await stage.shows("I lo")
        tell(stage, inside(ev.TextDelta(text="ok \x1b[2Jinto a.txt")))
        await stage.shows("into a.txt")
        tell(stage, inside(completed("It is in line 1.")), *END)
        await stage.shows("It is in line 1.")
        assert "\x1b[2J" not in stage.text()
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)


@pytest.mark.long
async def test_of_one_that_has_ended_the_record_is_shown_without_its_secrets(tmp_path: Path) -> None:
    events = (
        ev.TurnStarted(prompt="find alpha"),
        completed("The key is hunter2-secret."),
    )
    async with on_stage(tmp_path) as stage:
        stage.agent.mask.learn("SECRET", "hunter2-secret")
        stage.agent.archive.records[ID] = tuple(
            LedgerRecord(seq=seq, at_ms=seq, event=event) for seq, event in enumerate((*events, None))
        )
        tell(stage, *BEGIN, inside(ev.TextDelta(text="gone")), *END)
        await open_marked(stage)
        await stage.shows("The key is")
        await stage.shows("some records of this session cannot be understood")
        assert "hunter2" not in stage.text()
        assert "gone" not in stage.text()


@pytest.mark.long
async def test_one_without_a_record_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(_session_id: str) -> tuple[LedgerRecord, ...]:
        raise LedgerError("there is no session session-1-t1")

    async with on_stage(tmp_path) as stage:
        monkeypatch.setattr(stage.agent.archive, "read", refuse)
        tell(stage, *BEGIN, *END)
        await open_marked(stage)
        await stage.shows("there is nothing to show: there is no session session-1-t1")


@pytest.mark.long
async def test_several_at_the_same_time_each_have_their_own_and_one_that_failed_too(tmp_path: Path) -> None:
    def second(event: ev.Event) -> ev.SubagentProgressed:
        return ev.SubagentProgressed(context=context(1), subagent_id="session-1-t2", event=event.to_json())

    async with on_stage(tmp_path) as stage:
        tell(
            stage,
            ev.TurnStarted(prompt="please look"),
            completed("I give two tasks.", calls=True),
            planned(TASK, TASK),
            started("task", {"prompt": "one"}),
            started("task", {"prompt": "two"}, 1),
            ev.SubagentStarted(context=context(0), subagent_id=ID, prompt="one", model="fake/model"),
            ev.SubagentStarted(
                context=context(1), subagent_id="session-1-t2", prompt="two", model="fake/model"
            ),
            inside(ev.TextDelta(text="first here")),
            second(ev.TextDelta(text="second here")),
            second(ev.ErrorOccurred(message="the server is down")),
        )
        await open_marked(stage)
        await stage.shows("second here")
        await stage.shows("the server is down")
        assert "first here" not in stage.text()
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        await stage.pilot.press("up", "enter")
        await stage.shows("first here")


async def test_a_turn_cut_off_by_the_end_of_the_process_shows_its_tasks_from_their_records(
    tmp_path: Path,
) -> None:
    async with on_stage(tmp_path) as stage:
        stage.agent.archive.records[ID] = (
            LedgerRecord(seq=0, at_ms=0, event=ev.TurnStarted(prompt="find alpha")),
        )
        view = stage.app.chat.transcript
        view.begin_past()
        tell(stage, *BEGIN)
        view.end_past("the process ended")
        await open_marked(stage)
        await stage.shows("find alpha")
        await stage.shows("ended")


IN_BACKGROUND = (
    *BEGIN,
    ev.JobStarted(job_id="job-1", context=context(0), command="task finder: find alpha", subagent_id=ID),
    finished("task", "job-1 works on it"),
    completed("I go on."),
    turn_finished(RunStatus.COMPLETED),
)


def test_a_task_in_the_background_is_followed_after_the_turn_that_gave_it() -> None:
    view = SessionView()
    for event in (*IN_BACKGROUND, inside(ev.TurnStarted(prompt="find alpha"))):
        view.apply(event)
    (subagent,) = list_subagents(view.entries)
    assert (subagent.is_live, len(subagent.events)) == (True, 1)

    view.apply(ev.SubagentFinished(context=context(0), subagent_id=ID, outcome=OUTCOME))
    assert not subagent.is_live
