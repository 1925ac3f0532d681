"""`/board`: what waits, runs and has ended, in this app and in other sessions, in one list."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.calls.job import JobStatus
from quorum.domain.errors import SessionInUse
from quorum.domain.events.event import JobEnded, JobStarted, TurnStarted
from quorum.domain.sessions.session_summary import NamedSession
from quorum.domain.sessions.waiting_review import WaitingReview
from quorum.tui.app.app import QuorumApp
from quorum.tui.screens.board_screen import BoardScreen
from quorum.tui.screens.review.dialog import ReviewDialog
from quorum.tui.screens.subagent_screen import SubagentScreen
from tests.support.app_stage import Stage, on_stage
from tests.support.builders import a_context
from tests.support.fake_agent import a_command, hold
from tests.support.fake_archive import FakeArchive, a_session
from tests.support.past_sessions import a_summary, records_of
from tests.tui.test_subagent_transcript import BEGIN, ID, IN_BACKGROUND

HOSTILE = "make \x1b[2Jall [bold]"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def waiting(command: str, **session: object) -> WaitingReview:
    return WaitingReview(
        session=a_summary(**session),
        packet=a_command(command),
        reasons=("the mode asks about commands",),
        since_ms=0,
    )


def begin_job(stage: Stage, command: str) -> None:
    stage.agent.tell(JobStarted(job_id="job-1", context=a_context(), command=command))


async def open_board(stage: Stage) -> None:
    await stage.send("/board")
    await stage.until(lambda: isinstance(stage.app.screen, BoardScreen) and stage.app.screen.is_mounted)


async def test_one_list_shows_what_waits_runs_and_has_ended_here_and_elsewhere(tmp_path: Path) -> None:
    async with on_stage(tmp_path, size=(120, 40)) as stage:
        begin_job(stage, HOSTILE)
        stage.agent.waiting.reviews += [waiting("rm -r build", open_in=42, host="build-3")]
        stage.agent.archive.listed = (
            a_session("open", "watch the deploy", open_in=43),
            a_session("past", "fix the flaky test"),
        )
        await open_board(stage)
        stage.agent.archive.records["open"] = records_of([TurnStarted(prompt="watch the deploy")])
        for text in ("! waits", "run rm -r build", "● runs", "watch the deploy", "process 43", "ended"):
            await stage.shows(text)
        await stage.shows("fix the flaky test")
        await stage.shows("  open   tab 1")
        await stage.shows("job-1")
        assert "\x1b[2J" not in stage.text()
        assert "[bold]" in stage.text()


@pytest.mark.long
async def test_a_task_in_the_background_is_one_line_that_leads_to_its_transcript(tmp_path: Path) -> None:
    async with on_stage(tmp_path, size=(100, 30)) as stage:
        for event in IN_BACKGROUND:
            stage.agent.tell(event)
        await open_board(stage)
        await stage.shows("› ● runs   job-1        task finder: find alpha")
        assert f"in tab 1 · {ID}" not in stage.text()
        await stage.pilot.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, SubagentScreen))
        await stage.shows(f"session {ID}, read-only")


async def test_a_session_open_elsewhere_in_which_nothing_runs_is_open_and_does_not_run(tmp_path: Path) -> None:
    async with on_stage(tmp_path, size=(100, 30)) as stage:
        stage.agent.archive.listed = (a_session("idle", "watch the deploy", open_in=43),)
        await open_board(stage)
        await stage.shows("open   tab 1")
        await stage.shows("session      watch the deploy")
        await stage.shows("process 43")
        assert "runs" not in stage.text()


async def test_an_ended_session_whose_changes_wait_in_a_layer_waits_for_the_person(tmp_path: Path) -> None:
    async with on_stage(tmp_path, size=(100, 30)) as stage:
        stage.agent.archive.listed = (a_session("staged", "add a cache"), a_session("past", "fix it"))
        stage.agent.waiting.staged = {"staged"}
        await open_board(stage)
        await stage.shows("! waits  changes      add a cache")
        await stage.shows("ended  session      fix it")


async def test_the_tab_of_a_session_that_another_process_writes_is_read_only(tmp_path: Path) -> None:
    async with on_stage(tmp_path, size=(100, 30)) as stage:
        stage.agent.in_use = "open in process 43"
        await open_board(stage)
        await stage.shows("read-only, here")
        assert "at rest" not in stage.text()


async def test_a_task_is_named_once(tmp_path: Path) -> None:
    async with on_stage(tmp_path, size=(100, 30)) as stage:
        for event in BEGIN:
            stage.agent.tell(event)
        await open_board(stage)
        await stage.shows("● runs   task         finder: find")


async def test_the_mark_in_the_status_bar_counts_what_waits_and_runs_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QuorumApp, "LOOK_SECS", 0.01)
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        assert "/board" not in stage.text()
        begin_job(stage, "npm run dev")
        await stage.shows("● 1 running · /board")
        stage.agent.waiting.reviews += [waiting("make", open_in=42)]
        await stage.shows("! 1 waiting · ● 1 running · /board")
        stage.agent.tell(JobEnded(job_id="job-1", status=JobStatus.ENDED, exit_code=0, duration_secs=1.0))
        stage.agent.waiting.reviews.clear()
        await stage.until(lambda: "/board" not in stage.text())


@pytest.mark.long
async def test_a_tab_behind_that_works_or_asks_is_counted_and_gone_to(tmp_path: Path) -> None:
    async with on_stage(tmp_path, hold(), size=(100, 30)) as stage:
        await stage.send("first")
        await stage.until(lambda: stage.app.chat.turns.running)
        await stage.pilot.press("ctrl+t")
        await stage.until(lambda: len(stage.agents) == 2 and stage.app.chat.current.session is not None)
        await stage.shows("● 1 running · /board")
        first, second = stage.app.tabs.all

        await open_board(stage)
        await stage.shows("tab 1")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.app.tabs.front is first)
        assert stage.app.screen is first.chat
        await open_board(stage)
        await stage.pilot.press("s")
        await stage.until(lambda: not first.chat.turns.running)
        assert second in stage.app.tabs.all


@pytest.mark.long
async def test_a_decision_of_another_session_is_answered_from_the_board(tmp_path: Path) -> None:
    one = waiting("make all", open_in=42)
    async with on_stage(tmp_path, size=(100, 30)) as stage:
        stage.agent.waiting.reviews += [one]
        await open_board(stage)
        await stage.shows("› ! waits  decision")
        await stage.pilot.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, ReviewDialog) and stage.dialog.is_awake)
        await stage.until(lambda: not stage.app.screen.query_one("#choices").has_class("-dead"))
        await stage.pilot.press("y")
        await stage.shows("approved: run; its process takes the answer")
        assert stage.agent.waiting.answers == [(one.digest, True, None)]


@pytest.mark.long
async def test_a_session_of_the_past_is_opened_in_a_tab(tmp_path: Path) -> None:
    async with on_stage(tmp_path, size=(100, 30)) as stage:
        stage.agent.archive.listed = (
            a_session("open", "watch the deploy", open_in=43),
            a_session("past", "fix the flaky test"),
        )
        stage.agent.archive.records["open"] = records_of([TurnStarted(prompt="watch the deploy")])
        await open_board(stage)
        await stage.shows("› ● runs   session      watch the deploy")
        await stage.pilot.press("down", "down")
        await stage.shows("session      fix the flaky test")
        await stage.pilot.press("enter")
        await stage.until(lambda: len(stage.agents) == 2)
        assert stage.agent.choice == NamedSession("past")
        assert len(stage.app.tabs.all) == 2


@pytest.mark.long
async def test_a_background_command_is_stopped_from_the_board(tmp_path: Path) -> None:
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        begin_job(stage, HOSTILE)
        await open_board(stage)
        await stage.shows("› ● runs   job-1")
        await stage.pilot.press("s")
        await stage.shows("job-1")
        await stage.until(lambda: stage.app.screen.query_one("#notice").display)


async def test_the_process_of_a_session_elsewhere_is_asked_to_end_once_that_is_confirmed(
    tmp_path: Path,
) -> None:
    async with on_stage(tmp_path, size=(100, 30)) as stage:
        archive = stage.agent.archive
        archive.listed = (a_session("one", "watch the deploy", open_in=43), a_session("two", open_in=43))
        archive.records["one"] = records_of([TurnStarted(prompt="watch the deploy")])
        await open_board(stage)
        await stage.shows("› ● runs   session      watch the deploy")
        await stage.pilot.press("y", "s", "s", "s")
        await stage.shows("process 43 is asked to end, with 2 sessions in it: y confirms")
        notice = stage.app.screen.query_one("#notice")
        assert notice.has_class("-problem")
        assert not archive.ended
        await stage.pilot.press("down", "y")
        assert not archive.ended
        await stage.pilot.press("up", "s", "y")
        await stage.shows("process 43 was asked to end")
        assert not notice.has_class("-problem"), "what is done is no warning"
        assert archive.ended == ["one"]


@pytest.mark.long
async def test_a_session_whose_decision_waits_can_be_stopped_too_and_what_cannot_be_is_said(
    tmp_path: Path,
) -> None:
    class Refusing(FakeArchive):
        async def end_holder(self, session_id: str) -> None:
            raise SessionInUse(f"session {session_id} is open in process 42 on build-3; on that machine")

    async with on_stage(tmp_path, size=(100, 30)) as stage:
        one = waiting("rm -r build", open_in=42, host="build-3")
        stage.agent.waiting.reviews += [one]
        stage.agent.archive = Refusing()
        await open_board(stage)
        await stage.shows("› ! waits  decision")
        await stage.pilot.press("s")
        await stage.shows("process 42 on build-3 is asked to end, with this session: y confirms")
        await stage.pilot.press("y")
        await stage.shows("is open in process 42 on build-3; on that machine")
