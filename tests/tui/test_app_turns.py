import asyncio
import re

import pytest

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.events.event import CallProgressed, CallStarted, TextDelta
from quorum.domain.events.report import RunStatus
from tests.support.app_stage import Clock, on_stage
from tests.support.fake_agent import FakeAgent, a_command, a_request, hold, review, say


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def running_tool(agent: FakeAgent) -> None:
    context = ToolExecutionContext(call_id="c", batch_id="b", call_index=0, turn_index=0)
    agent.tell(CallStarted(context=context, tool="run_command", arguments={"command": "make"}))
    agent.tell(CallProgressed(context=context, text="half of it\n"))
    agent.reached.set()
    await asyncio.Event().wait()


@pytest.mark.long(after=1)
@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
@pytest.mark.parametrize("scene", [hold("streaming"), running_tool], ids=["streaming", "tool"])
async def test_a_turn_is_interrupted_and_the_next_prompt_works(tmp_path, scene, key):
    async with on_stage(tmp_path, scene, say("second answer")) as stage:
        await stage.send("first")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.pilot.press(key)
        await stage.until(lambda: stage.agent.reports)
        await stage.send("second")
        await stage.shows("second answer")

        assert [report.status for report in stage.agent.reports][:1] == [RunStatus.INTERRUPTED]
        assert stage.agent.prompts == ["first", "second"]


async def test_an_interruption_is_shown_while_the_agent_still_puts_its_things_away(tmp_path):
    may_end = asyncio.Event()

    async def slow_to_stop(agent: FakeAgent) -> None:
        agent.reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            await may_end.wait()

    async with on_stage(tmp_path, slow_to_stop) as stage:
        await stage.send("first")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.pilot.press("escape")
        await stage.shows("interrupting…")
        assert not stage.agent.reports
        may_end.set()
        await stage.until(lambda: stage.agent.reports)
        await stage.shows("enter sends")


@pytest.mark.long
async def test_the_status_bar_says_that_it_works_and_how_to_stop_it(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("first")
        await stage.until(lambda: re.search(r"working \d+ s · esc interrupts", stage.text()))


async def test_escape_with_nothing_running_does_nothing(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("a", "escape", "b")

        assert stage.prompt.text == "ab"
        assert stage.app.return_code is None


@pytest.mark.long
async def test_prompts_wait_while_a_turn_runs_and_follow_in_order(tmp_path):
    released = asyncio.Event()

    async def first(agent: FakeAgent) -> None:
        await released.wait()

    async with on_stage(tmp_path, first) as stage:
        for prompt in ("one", "two", "three"):
            await stage.send(prompt)
        await stage.shows("↑ takes back 1 of 2")
        released.set()
        await stage.until(lambda: len(stage.agent.reports) == 3)

        assert stage.agent.prompts == ["one", "two", "three"]


@pytest.mark.long
async def test_up_takes_the_last_waiting_prompt_back(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        for prompt in ("one", "two", "three"):
            await stage.send(prompt)
        await stage.shows("↑ takes back 1 of 2")
        await stage.pilot.press("up")
        await stage.shows("↑ takes it back")

        assert stage.prompt.text == "three"


@pytest.mark.long
async def test_what_waited_goes_back_to_the_prompt_when_the_turn_is_interrupted(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        for prompt in ("one", "two", "three"):
            await stage.send(prompt)
        await stage.pilot.press(*"draft", "escape")
        await stage.until(lambda: stage.prompt.text == "two\nthree\ndraft")

        assert stage.agent.prompts == ["one"]


@pytest.mark.long(after=1)
@pytest.mark.parametrize("keys", [("ctrl+c", "ctrl+c"), ("ctrl+d", "ctrl+d"), ("ctrl+q",)])
async def test_quitting_during_a_turn_stops_it_first(tmp_path, keys):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("first")
        await stage.until(lambda: stage.agent.reached.is_set())
        for key in keys:
            stage.hit(key)
        await stage.until(lambda: stage.app.return_code == 0)

        assert stage.agent.put_away.is_set()


async def test_one_ctrl_d_during_a_turn_only_asks(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("first")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.pilot.press("ctrl+d")
        await stage.shows("ctrl+d again stops it and quits")

        assert stage.app.chat.turns.running


@pytest.mark.long
async def test_quitting_with_a_dialog_open_stops_the_turn_behind_it(tmp_path):
    async with on_stage(tmp_path, review(a_request(a_command("make")))) as stage:
        await stage.send("first")
        await stage.asked()
        stage.hit("ctrl+q")
        await stage.until(lambda: stage.app.return_code == 0)

        assert stage.agent.put_away.is_set()
        assert stage.agent.answers == []


async def test_an_agent_that_does_not_stop_does_not_keep_the_app_from_ending(tmp_path, monkeypatch):
    monkeypatch.setattr("quorum.tui.app.app.PATIENCE_SECS", 0.05)
    released = asyncio.Event()

    async def stubborn(agent: FakeAgent) -> None:
        agent.reached.set()
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    async with on_stage(tmp_path, stubborn) as stage:
        await stage.send("first")
        await stage.until(lambda: stage.agent.reached.is_set())
        stage.hit("ctrl+q")
        await stage.until(lambda: stage.app.return_code == 0)
        released.set()


@pytest.mark.long
async def test_events_from_another_thread_are_shown_in_order(tmp_path):
    async def scene(agent: FakeAgent) -> None:
        def speak() -> None:
            for number in range(50):
                agent.tell(TextDelta(text=f"{number} "))

        await asyncio.to_thread(speak)

    async with on_stage(tmp_path, scene) as stage:
        await stage.send("count")
        await stage.shows(" ".join(str(number) for number in range(20, 30)))


@pytest.mark.long
async def test_typing_goes_on_while_an_answer_streams(tmp_path):
    enough = asyncio.Event()

    async def endless(agent: FakeAgent) -> None:
        while not enough.is_set():
            agent.tell(TextDelta(text="word "))
            await asyncio.sleep(0)

    async with on_stage(tmp_path, endless) as stage:
        await stage.send("talk")
        for key in "typed":
            stage.hit(key)
        await stage.until(lambda: stage.prompt.text == "typed")
        enough.set()
        await stage.until(lambda: stage.agent.reports)


@pytest.mark.long
async def test_two_ctrl_c_far_apart_interrupt_and_clear_but_do_not_quit(tmp_path):
    clock = Clock()
    async with on_stage(tmp_path, hold(), clock=clock) as stage:
        await stage.send("first")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.pilot.press(*"draft", "ctrl+c")
        await stage.until(lambda: stage.agent.reports)
        assert stage.prompt.text == "draft"
        clock.now += 5
        await stage.pilot.press("ctrl+c")
        await stage.until(lambda: stage.prompt.text == "")

        assert stage.app.return_code is None
