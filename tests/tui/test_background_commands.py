"""Background commands in the app: the key that sends one there, the list of `/jobs`, and the side panel."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.calls.job import JobStatus, JobStopper
from quorum.domain.events.event import JobEnded, JobProgressed, JobStarted
from quorum.tui.screens.jobs_screen import JobsScreen
from tests.support.app_stage import Stage, on_stage
from tests.support.builders import a_context

WIDE = (150, 40)
HOSTILE = "npm run \x1b[31mdev\x1b]0;x\x07 [bold]"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def begins(stage: Stage, job_id: str, command: str = "npm run dev") -> None:
    stage.agent.tell(JobStarted(job_id=job_id, context=a_context(), command=command))


def ends(stage: Stage, job_id: str) -> None:
    stage.agent.tell(
        JobEnded(
            job_id=job_id,
            status=JobStatus.STOPPED,
            exit_code=-15,
            duration_secs=3.0,
            stopper=JobStopper.PERSON,
            output="bye",
        )
    )


async def opened(stage: Stage) -> JobsScreen:
    await stage.send("/jobs")
    await stage.until(lambda: isinstance(stage.app.screen, JobsScreen))
    await stage.pilot.pause()
    screen = stage.app.screen
    assert isinstance(screen, JobsScreen)
    return screen


@pytest.mark.long
async def test_the_list_shows_what_runs_and_what_it_printed_last_and_stops_it(tmp_path: Path) -> None:
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        begins(stage, "job-1")
        begins(stage, "job-2", HOSTILE)
        stage.agent.tell(JobProgressed(job_id="job-1", text="starting\nready on port 80\n"))
        await stage.pilot.pause()
        await opened(stage)
        await stage.shows("ready on port 80")
        shown = stage.text()
        assert "job-1   npm run dev" in shown
        assert " · ready on port 80" in shown
        assert "[bold]" in shown
        assert "\x1b" not in shown

        await stage.pilot.press("up", "s")
        await stage.shows("job-1 was stopped by you")
        assert stage.agent.jobs.stopped == ["job-1"]
        ends(stage, "job-1")
        await stage.shows("bye")
        await stage.pilot.press("s")
        await stage.shows("job-1 has ended already")

        await stage.pilot.press("escape")
        await stage.until(lambda: not isinstance(stage.app.screen, JobsScreen))
        await stage.shows("job-1 was stopped by you after 3.0 s: npm run dev")


@pytest.mark.long
async def test_where_there_is_none_the_list_says_so(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        await opened(stage)
        await stage.shows("No command was sent to the background.")
        await stage.pilot.press("s", "down", "q")
        await stage.until(lambda: not isinstance(stage.app.screen, JobsScreen))


async def test_ctrl_b_sends_the_command_that_runs_to_the_background(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        stage.agent.jobs.foreground = 1
        await stage.pilot.press("ctrl+b")
        await stage.shows("sent to the background · /jobs lists what runs there")
        assert stage.agent.jobs.sent == 1

        stage.agent.jobs.problem = "20 background commands run, which is the most there may be"
        await stage.pilot.press("ctrl+b")
        await stage.shows("20 background commands run")


@pytest.mark.long
async def test_the_side_panel_shows_what_runs_and_not_what_has_ended(tmp_path: Path) -> None:
    async with on_stage(tmp_path, size=WIDE) as stage:
        begins(stage, "job-1")
        begins(stage, "job-2", "make watch")
        stage.agent.tell(JobProgressed(job_id="job-2", text="compiled 3 files"))
        await stage.shows("Background")
        await stage.shows("compiled 3 files")
        assert "2 run" in stage.text()

        ends(stage, "job-1")
        await stage.shows("1 run")
        ends(stage, "job-2")
        await stage.until(lambda: "Background" not in stage.text())
