"""What a screen of few lines or columns still says in full."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.geometry import Region

from quorum.application.view.present import Step, StepStatus
from quorum.domain.conversation.effort import Effort
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import StateMerged
from quorum.domain.text.json_value import JsonValue
from quorum.tui.screens.jobs_screen import JobsScreen
from quorum.tui.screens.model_picker import ModelPicker, render_efforts
from quorum.tui.settings.settings_screen import SettingsScreen
from quorum.tui.side_panel.plan_text import render_plan_line
from quorum.tui.themes.own import LIGHT
from quorum.tui.transcript.layout.view import TranscriptView
from quorum.tui.widgets.dialog_parts import ChoiceList
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import FakeAgent, a_request, an_edit, hold
from tests.support.fake_settings import FakeSettings, a_setting

LOW = (60, 15)
REMEDY = "provider openai has no key: set the environment variable OPENAI_API_KEY or name another one"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("NO_COLOR", raising=False)


async def send(stage: Stage, text: str) -> None:
    await stage.until(lambda: stage.app.chat.current.session is not None)
    await stage.send(text)


def with_remedy(agent: FakeAgent) -> None:
    agent.listed = {
        "fake": (agent.model,),
        "other": ProviderError(REMEDY, kind=ProviderErrorKind.CONFIGURATION),
    }
    agent.efforts = {agent.model: tuple(Effort)}


@pytest.mark.parametrize("size", [LOW, pytest.param((80, 24), marks=pytest.mark.long)])
async def test_what_to_do_about_a_provider_is_read_whole_where_models_are_chosen(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with on_stage(tmp_path, size=size, prepare=with_remedy, ready=False) as stage:
        await send(stage, "/model")
        await stage.until(lambda: isinstance(stage.app.screen, ModelPicker))
        await stage.until(lambda: "name another one" in stage.text().replace("\n", " "))
        listed = "".join(stage.text().split())
        assert "OPENAI_API_KEY" in listed
        assert all(each.value in listed for each in Effort)


@pytest.mark.parametrize("width", [60, 53, 40, 24])
def test_the_efforts_of_a_model_never_need_a_second_line(width: int) -> None:
    drawn = render_efforts(tuple(Effort), Effort.HIGH, width)
    assert drawn.cell_length <= width
    assert "[high]" in drawn.plain


@pytest.mark.parametrize("size", [LOW, pytest.param((120, 40), marks=pytest.mark.long)])
async def test_a_list_without_background_commands_takes_no_more_room_than_what_it_says(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with on_stage(tmp_path, size=size, ready=False) as stage:
        await send(stage, "/jobs")
        await stage.until(lambda: isinstance(stage.app.screen, JobsScreen))
        await stage.shows("ctrl+b sends")
        assert stage.app.screen.query_one("#jobs").size.height <= 2
        assert "stops it" not in stage.text()


async def test_a_notice_that_one_line_cannot_hold_is_read_whole_and_the_mode_stays_in_sight(
    tmp_path: Path,
) -> None:
    async with on_stage(tmp_path, size=LOW, ready=False) as stage:
        await send(stage, "/mode foo")
        await stage.shows("/mode needs one of ask, accept-edits, quorum, sandboxed, read-only, staged, auto")
        assert stage.text().splitlines()[-1].startswith(" ask")
        await stage.pilot.press("ctrl+u")
        await stage.until(lambda: stage.app.chat.query_one("#status").size.height == 1)


@pytest.mark.long
async def test_several_settings_are_in_sight_on_a_low_screen(tmp_path: Path) -> None:
    async with on_stage(tmp_path, size=LOW, ready=False) as stage:
        await stage.until(lambda: stage.app.chat.current.session is not None)
        held = [a_setting(f"agent.limit_{n}", "10", description="How far it may go. " * 6) for n in range(9)]
        service = FakeSettings(*held)
        stage.app.open_settings = lambda: service
        await stage.send("/config")
        await stage.until(lambda: isinstance(stage.app.screen, SettingsScreen) and stage.app.screen._rows)
        await stage.until(lambda: stage.app.screen.query_one(ChoiceList).size.height >= 5)
        await stage.shows("limit_3")
        assert "esc closes" in stage.text()


@pytest.mark.long
async def test_another_theme_reaches_the_ground_of_an_empty_transcript(tmp_path: Path) -> None:
    async with on_stage(tmp_path, size=LOW) as stage:
        view = stage.app.chat.query_one(TranscriptView)
        assert view.page is None
        await stage.send("/theme quorum-light")
        await stage.until(lambda: stage.app.theme == LIGHT.name)
        await stage.pilot.pause()
        (strip,) = view.render_lines(Region(0, 0, view.size.width, 1))
        grounds = {segment.style.bgcolor.name for segment in strip if segment.style and segment.style.bgcolor}
        assert grounds == {LIGHT.background}


def task(name: str, status: str) -> JsonValue:
    return {"id": name, "text": f"{name}: do {name}", "status": status}


def plan(**statuses: str) -> StateMerged:
    return StateMerged(batch_id="b1", changed={"plan": [task(*each) for each in statuses.items()]})


@pytest.mark.long
@pytest.mark.parametrize("size", [LOW, pytest.param((100, 30), marks=pytest.mark.long)])
async def test_a_plan_is_one_line_above_the_prompt_where_there_is_no_side_panel(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with on_stage(tmp_path, hold(), size=size, ready=False) as stage:
        await send(stage, "carry out the plan")
        await stage.until(lambda: stage.app.chat.turns.running)
        shown = stage.app.chat.status.plan_line
        stage.agent.tell(plan(read="pending", write="pending", test="pending"))
        await stage.shows("Plan 0/3")
        stage.agent.tell(plan(read="in_progress", write="done", test="pending"))
        await stage.shows("Plan 1/3 · ● read: do read")
        assert shown.size.height == 1
        await stage.pilot.press("escape", "escape")
        await stage.until(lambda: not stage.app.chat.turns.running)
        await stage.until(lambda: not shown.display)


@pytest.mark.long
async def test_beside_a_side_panel_the_plan_is_not_shown_twice(tmp_path: Path) -> None:
    async with on_stage(tmp_path, hold(), size=(150, 40)) as stage:
        await stage.send("carry out the plan")
        await stage.until(lambda: stage.app.chat.turns.running)
        stage.agent.tell(plan(read="in_progress", test="pending"))
        await stage.shows("0 of 2")
        assert stage.app.chat.side_panel.display
        assert not stage.app.chat.status.plan_line.display


@pytest.mark.parametrize("size", [LOW, (80, 24)])
async def test_under_a_dialog_a_plan_leaves_the_status_its_line(tmp_path: Path, size: tuple[int, int]) -> None:
    lines = "".join(f"+line {n}\n" for n in range(40))
    edit = an_edit(f"--- a/x\n+++ b/x\n@@ -0,0 +1,40 @@\n{lines}")

    async def scene(agent: FakeAgent) -> None:
        agent.tell(plan(read="in_progress", write="pending"))
        await agent.ask(a_request(edit))

    async with on_stage(tmp_path, scene, size=size, ready=False) as stage:
        await send(stage, "carry out the plan")
        await stage.asked()
        await stage.until(lambda: "answer needed" in stage.text().rstrip("\n").splitlines()[-1])


def test_the_line_of_a_plan_names_what_runs_and_what_went_wrong() -> None:
    steps = [
        Step("look", StepStatus.DONE),
        Step("write", StepStatus.FAILED),
        Step("test", StepStatus.IN_PROGRESS),
        Step("say\nwhat", StepStatus.IN_PROGRESS),
        Step("commit", StepStatus.PENDING),
    ]
    assert render_plan_line(steps).plain == "Plan 1/5 · ● test · ● say⏎what · ✗ write"


def test_the_line_of_a_plan_that_is_done_is_its_number() -> None:
    assert render_plan_line([Step("look", StepStatus.DONE)] * 4).plain == "Plan 4/4"
