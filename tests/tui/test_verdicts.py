from __future__ import annotations

import pytest

from quorum.domain.review.mode import Mode
from quorum.domain.review.unasked_calls import CallKind, SampledCall
from quorum.infrastructure.permissions.sample_file import SampleFile
from quorum.tui.screens.permissions_screen import PermissionsScreen, VerdictScreen
from tests.support.app_stage import on_stage


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def _filled(tmp_path, count: int, change: str = "") -> SampleFile:
    file = SampleFile(tmp_path / "calls.jsonl")
    for number in range(count):
        await file.add(
            SampledCall(
                id=str(number),
                session_id="s",
                mode=Mode.AUTO,
                kind=CallKind.COMMANDS,
                text=f"make target-{number}\x1b[2J",
                at_ms=0,
                change=change,
            )
        )
    return file


async def _open(stage, file: SampleFile | None) -> None:
    stage.agent.rules.samples = file
    await stage.send("/permissions")
    await stage.until(lambda: isinstance(stage.app.screen, PermissionsScreen) and stage.app.screen._rows)
    await stage.pilot.press("v")


async def test_calls_are_judged_one_after_the_other_and_then_the_figures_are_told(tmp_path):
    file = await _filled(tmp_path, 3)
    async with on_stage(tmp_path) as stage:
        await _open(stage, file)
        await stage.shows("make target-0")
        await stage.pilot.press("r")
        await stage.shows("make target-1")
        await stage.pilot.press("w")
        await stage.shows("make target-2")
        await stage.pilot.press("s")
        await stage.shows("commands: ≤ 98 % wrong (95 %, n = 2)")
        assert "\x1b[2J" not in stage.text()

    assert [call.is_right for call in file.read_calls()] == [True, False, None]


@pytest.mark.long
async def test_a_file_that_cannot_be_read_is_named(tmp_path):
    file = await _filled(tmp_path, 1)
    (tmp_path / "calls.jsonl").write_text("{\n")
    async with on_stage(tmp_path) as stage:
        await _open(stage, file)
        await stage.shows("calls.jsonl:1")
        await stage.pilot.press("r", "s", "escape")
        await stage.until(lambda: not isinstance(stage.app.screen, VerdictScreen))


@pytest.mark.long
async def test_without_a_place_to_keep_calls_it_says_so(tmp_path):
    async with on_stage(tmp_path) as stage:
        await _open(stage, None)
        await stage.shows("no calls are kept for a verdict")


@pytest.mark.long
async def test_what_a_call_changed_is_shown_with_it(tmp_path):
    file = await _filled(tmp_path, 1, "+PASSWORD = input()\x1b[2J\n-x")
    async with on_stage(tmp_path) as stage:
        await _open(stage, file)
        await stage.shows("+PASSWORD = input()")
        assert "\x1b[2J" not in stage.text()


@pytest.mark.long
async def test_verdicts_are_told_in_the_header_and_the_status_bar_as_soon_as_they_are_given(tmp_path):
    file = await _filled(tmp_path, 1)
    async with on_stage(tmp_path, size=(140, 40)) as stage:
        await stage.send("/mode auto")
        await stage.shows("AUTO: only exceptions are asked")
        await _open(stage, file)
        await stage.shows("make target-0")
        stage.agent.error = "≤ 100 % of commands wrong (95 %, n = 1)"
        stage.agent.asked_kinds = (CallKind.COMMANDS,)
        status = stage.app.chat.status
        await stage.pilot.press("w")
        await stage.until(lambda: "AUTO: commands are asked about" in str(status.header.render()))
        assert "≤ 100 % of commands wrong (95 %, n = 1)" in str(status.status_bar.render())
        await stage.shows("AUTO: commands are asked about")
        await stage.shows("≤ 100 % of commands wrong (95 %, n = 1)")
        assert isinstance(stage.app.screen, VerdictScreen)
        await stage.pilot.press("escape", "escape")
        await stage.shows("AUTO: commands are asked about")


@pytest.mark.long
async def test_the_status_bar_tells_the_bound_beside_the_mode(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.agent.error = "≤ 5 % wrong (95 %, n = 59)"
        await stage.send("hello")
        await stage.shows("ask ≤ 5 % wrong (95 %, n = 59)")
