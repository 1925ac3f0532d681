"""A review that waits when the terminal or the page goes away stays open; anything else ends in order."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from quorum.domain.calls.tool import RiskLevel
from quorum.tui.terminal.shutdown import Shutdown
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import FakeAgent, a_command, a_request
from tests.tui.transcript_scenes import asked, planned, started

MAKE = {"command": "make"}
CALLS = (("run_command", MAKE, RiskLevel.HIGH, ()), ("read_file", {"path": "a"}, RiskLevel.LOW, ()))
HUNG_UP = 128 + signal.SIGHUP


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def asking(agent: FakeAgent) -> None:
    agent.tell(planned(*CALLS))
    agent.tell(asked("run_command", MAKE))
    await agent.ask(a_request(a_command("make")))


async def asking_while_another_call_runs(agent: FakeAgent) -> None:
    agent.tell(planned(*CALLS))
    agent.tell(started("read_file", {"path": "a"}, 1))
    agent.tell(asked("run_command", MAKE))
    await agent.ask(a_request(a_command("make")))


async def at_work(agent: FakeAgent) -> None:
    await asyncio.Event().wait()


@asynccontextmanager
async def losing(tmp_path: Path, scene, *, outlives: bool = True) -> AsyncIterator[tuple[Stage, list[int]]]:
    """The app at such a scene, and the exit codes with which it was cut off."""
    cut_off: list[int] = []
    async with on_stage(tmp_path, scene) as stage:
        stage.agent.outlives = outlives
        shutdown = Shutdown(restore_terminal=lambda: None, hurry=lambda: None, cut_off=cut_off.append)
        stage.app.shutdown = shutdown
        shutdown.begin = lambda _code: None  # nothing is to cut the tests off
        await stage.send("go")
        yield stage, cut_off


@pytest.mark.long
async def test_a_review_that_waits_alone_is_left_open_by_ending_at_once(tmp_path: Path, capsys) -> None:
    async with losing(tmp_path, asking) as (stage, cut_off):
        await stage.asked()
        stage.app.lose_terminal()
        await stage.until(lambda: cut_off)

        assert cut_off == [HUNG_UP]
        assert not stage.agent.put_away.is_set()
        assert stage.agent.answers == []


@pytest.mark.long
async def test_a_reason_that_is_being_typed_then_outlives_the_process_with_the_draft(
    tmp_path: Path, capsys
) -> None:
    async with losing(tmp_path, asking) as (stage, cut_off):
        await stage.asked()
        await stage.press_at("r", 1.0)
        await stage.pilot.press(*"why")
        stage.app.lose_terminal()
        await stage.until(lambda: cut_off)

        (file,) = (tmp_path / "state" / "quorum" / "unsent").iterdir()
        assert json.loads(file.read_bytes())["texts"] == ["why"]


@pytest.mark.long(after=1)
@pytest.mark.parametrize(("scene", "outlives"), [(asking_while_another_call_runs, True), (asking, False)])
async def test_where_something_runs_or_nothing_is_kept_the_turn_is_stopped_in_order(
    tmp_path: Path, scene, outlives: bool
) -> None:
    async with losing(tmp_path, scene, outlives=outlives) as (stage, cut_off):
        await stage.asked()
        stage.app.lose_terminal()
        await stage.until(lambda: stage.agent.put_away.is_set())
        assert cut_off == []


async def test_a_turn_at_work_is_stopped_in_order(tmp_path: Path) -> None:
    async with losing(tmp_path, at_work) as (stage, cut_off):
        await stage.until(lambda: stage.agent.prompts)
        stage.app.lose_terminal()
        await stage.until(lambda: stage.agent.put_away.is_set())
        assert cut_off == []
