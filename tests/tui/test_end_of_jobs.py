"""Leaving a session with background commands: the person is asked before they end, and told after."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.events.event import JobStarted
from quorum.tui.screens.jobs_screen import EndJobsDialog
from tests.support.app_stage import Stage, on_stage
from tests.support.builders import a_context

HOSTILE = "npm run \x1b[31mdev\x1b]0;x\x07 [bold]"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def begin_jobs(stage: Stage, *commands: str) -> None:
    for number, command in enumerate(commands, 1):
        stage.agent.tell(JobStarted(job_id=f"job-{number}", context=a_context(), command=command))
    await stage.until(lambda: len(stage.app.chat.jobs.running) == len(commands))


async def asked(stage: Stage) -> None:
    await stage.until(lambda: isinstance(stage.app.screen, EndJobsDialog) and stage.app.screen.is_awake)


async def second_tab(stage: Stage) -> None:
    await stage.pilot.press("ctrl+t")
    await stage.until(lambda: len(stage.agents) == 2 and stage.app.chat.current.session is not None)


async def test_a_new_session_asks_before_it_ends_jobs_and_says_afterwards_how_many(tmp_path: Path) -> None:
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        await begin_jobs(stage, "npm run dev", HOSTILE)
        await stage.send("/new")
        await asked(stage)
        await stage.shows("2 background commands run and end with this session.")
        shown = stage.text()
        assert "job-1  npm run dev" in shown
        assert "[bold]" in shown
        assert "\x1b" not in shown
        assert len(stage.agents) == 1

        await stage.pilot.press("y")

        await stage.until(lambda: len(stage.agents) == 2)
        await stage.shows("2 background commands ended with their session")
        assert stage.agents[0].closed


@pytest.mark.long
async def test_whoever_declines_keeps_session_and_jobs(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        await begin_jobs(stage, "npm run dev")
        await stage.send("/new")
        await asked(stage)
        await stage.shows("1 background command runs and ends with this session.")
        await stage.pilot.press("n")
        await stage.until(lambda: stage.app.screen is stage.app.chat)

        assert len(stage.agents) == 1
        assert not stage.agent.closed
        await stage.send("still there?")
        await stage.shows("done")


@pytest.mark.long
async def test_closing_a_tab_asks_before_it_ends_jobs_and_says_afterwards_how_many(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        await second_tab(stage)
        await begin_jobs(stage, "npm run dev")
        await stage.send("/close")
        await asked(stage)
        stage.app.action_close_tab()  # a second wish asks nothing more, and closes nothing
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        assert not stage.agents[1].closed

        await stage.send("/close")
        await asked(stage)
        await stage.pilot.press("y")

        await stage.until(lambda: len(stage.app.tabs.all) == 1 and stage.agents[1].closed)
        await stage.shows("closed; /resume finds it")
        await stage.shows("1 background command ended with its session")


async def test_without_jobs_nobody_is_asked_and_clearing_the_screen_ends_none(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        await stage.send("/new")
        await stage.until(lambda: len(stage.agents) == 2 and stage.app.chat.current.session is not None)
        await begin_jobs(stage, "npm run dev")

        await stage.send("/clear")

        await stage.pilot.pause()
        assert stage.app.screen is stage.app.chat
        assert len(stage.app.chat.jobs.running) == 1


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("ctrl+c", "ctrl+c again quits and ends 1 background command"),
        ("ctrl+d", "1 background command runs; ctrl+d again ends it and quits"),
    ],
)
async def test_quitting_takes_a_second_press_and_says_what_ended(
    tmp_path: Path, key: str, sentence: str
) -> None:
    async with on_stage(tmp_path) as stage:
        await begin_jobs(stage, "npm run dev")
        await stage.pilot.press(key)
        await stage.shows(sentence)
        stage.hit(key)
        await stage.until(lambda: stage.app.parting_words)

    assert "1 background command ended with quorum" in stage.app.parting_words
