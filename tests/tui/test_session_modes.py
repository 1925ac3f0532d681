"""Modes of a session: a command enters one, the same leaves it, and so does Esc pressed twice."""

import pytest

from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.panel.panel_answer import ConsensusLevel
from quorum.domain.plan.plan import PhaseScope
from tests.support.app_stage import Clock, Stage, on_stage
from tests.support.fake_agent import hold, say


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def modes(stage: Stage) -> set[str]:
    session = stage.app.chat.current.session
    return set(session.special_modes)


async def ready(stage: Stage) -> None:
    await stage.until(lambda: stage.app.chat.current.session)


@pytest.mark.parametrize("mode", ["plan", "ensemble", "fast"])
async def test_the_command_that_enters_a_mode_leaves_it_too(tmp_path, mode):
    async with on_stage(tmp_path) as stage:
        await ready(stage)
        await stage.send(f"/{mode}")
        await stage.until(lambda: modes(stage) == {mode})
        await stage.send(f"/{mode}")
        await stage.until(lambda: not modes(stage))


@pytest.mark.parametrize("mode", ["plan", pytest.param("ensemble", marks=pytest.mark.long), "fast"])
async def test_a_prompt_behind_it_enters_the_mode_and_is_sent_in_it_the_second_time_too(tmp_path, mode):
    async with on_stage(tmp_path, say("done"), say("done")) as stage:
        await ready(stage)
        for number, text in enumerate(("add a limit", "and test it"), 1):
            await stage.send(f"/{mode} {text}")
            await stage.until(lambda count=number: len(stage.agent.prompts) == count)
            await stage.until(lambda: not stage.app.chat.turns.running)

        assert stage.agent.prompts == ["add a limit", "and test it"]
        assert modes(stage) == {mode}


@pytest.mark.parametrize(
    ("enter", "leave"), [("/ensemble", "/solo"), ("/plan", "/plan off"), ("/fast", "/scope full")]
)
async def test_the_former_words_still_leave(tmp_path, enter, leave):
    async with on_stage(tmp_path) as stage:
        await ready(stage)
        await stage.send(enter)
        await stage.until(lambda: modes(stage))
        await stage.send(leave)
        await stage.until(lambda: not modes(stage))


async def test_escape_twice_in_an_empty_prompt_leaves_all_modes_and_the_first_says_so(tmp_path):
    async with on_stage(tmp_path, size=(120, 30)) as stage:
        await ready(stage)
        await stage.send("/ensemble")
        await stage.send("/plan")
        await stage.until(lambda: modes(stage) == {"plan", "ensemble"})
        await stage.pilot.press("escape")
        await stage.shows("esc again leaves plan and ensemble")
        await stage.pilot.press("escape")
        await stage.until(lambda: not modes(stage))

        assert stage.agent.plans.phase.scope is PhaseScope.FULL
        assert stage.agent.consensus.current.level is ConsensusLevel.SOLO


async def test_escape_twice_clears_what_is_typed_and_stays_in_the_mode(tmp_path):
    async with on_stage(tmp_path) as stage:
        await ready(stage)
        await stage.send("/plan")
        await stage.until(lambda: modes(stage))
        stage.prompt.replace_text("half a thought")
        await stage.pilot.press("escape", "escape")
        await stage.until(lambda: not stage.prompt.text)

        assert modes(stage) == {"plan"}


async def test_two_presses_of_escape_far_apart_leave_nothing(tmp_path):
    clock = Clock()
    async with on_stage(tmp_path, clock=clock) as stage:
        await ready(stage)
        await stage.send("/plan")
        await stage.until(lambda: modes(stage))
        await stage.pilot.press("escape")
        clock.now += 5
        await stage.pilot.press("escape")

        assert modes(stage) == {"plan"}


async def test_a_mode_that_is_refused_keeps_the_prompt_behind_it(tmp_path):
    async with on_stage(tmp_path) as stage:
        await ready(stage)
        stage.agent.consensus.refusal = "this session is for /ask"
        await stage.send("/ensemble queue or cron?")
        await stage.shows("this session is for /ask")

        assert stage.prompt.text == "/ensemble queue or cron?"
        assert stage.agent.prompts == []


async def test_what_is_no_prompt_behind_a_mode_is_neither_sent_nor_enters_it(tmp_path):
    async with on_stage(tmp_path) as stage:
        await ready(stage)
        await stage.send("/fast !touch it")
        await stage.until(lambda: stage.app.chat.refusal.startswith("a prompt begins with neither"))

        assert not modes(stage)
        assert stage.prompt.text == "/fast !touch it"


@pytest.mark.parametrize("kind", [SessionKind.ASK, pytest.param(SessionKind.DEBATE, marks=pytest.mark.long)])
@pytest.mark.parametrize("leaving", ["command", "escape"])
async def test_a_tab_that_only_talks_is_left_for_the_one_it_was_opened_from(tmp_path, kind, leaving):
    async with on_stage(tmp_path) as stage:
        await ready(stage)
        first = stage.app.tabs.front
        await stage.send(f"/{kind.value}")
        await stage.until(lambda: stage.app.tabs.front is not first and stage.app.chat.current.session)
        stage.agent.record.form = kind
        if leaving == "command":
            await stage.send(f"/{kind.value}")
        else:
            await stage.pilot.press("escape", "escape")
        await stage.until(lambda: stage.app.tabs.front is first)

        assert len(stage.app.tabs.all) == 2
        await stage.shows("tab 2 stays open")


async def test_settings_opens_the_settings(tmp_path):
    async with on_stage(tmp_path) as stage:
        await ready(stage)
        await stage.send("/settings tui")
        await stage.until(lambda: stage.app.chat.refusal == "there are no settings here")


async def test_how_far_to_go_is_chosen_while_a_turn_runs(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await ready(stage)
        await stage.send("add a limit")
        await stage.until(lambda: stage.app.chat.turns.running)
        await stage.send("/fast")
        await stage.until(lambda: stage.agent.plans.phase.scope is PhaseScope.FAST)
        await stage.send("/scope plan-only")
        await stage.until(lambda: stage.agent.plans.phase.scope is PhaseScope.PLAN_ONLY)

        assert stage.app.chat.turns.running
        assert stage.agent.prompts == ["add a limit"]
