"""What the person does while a turn runs: prompts that wait, words that go in, commands of their own."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from quorum.domain.settings import TuiTable
from quorum.tui.agent.turns import TypedCommand, parse_user_command
from tests.support.app_stage import Clock, on_stage
from tests.support.fake_agent import (
    FakeAgent,
    Scene,
    a_command,
    a_request,
    after_gate,
    composing,
    hold,
    review,
    say,
)


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def gated(gate: asyncio.Event, after: Callable[[FakeAgent], object] = lambda _agent: None) -> Scene:
    """A scene that runs until it may go on, then does this, and answers."""

    async def scene(agent: FakeAgent) -> object:
        agent.reached.set()
        await gate.wait()
        after(agent)
        answer: Awaitable[object] = say("I see")(agent)
        return await answer

    return scene


# -- what is said into a turn -----------------------------------------------------------------------------


async def test_enter_lets_a_prompt_wait_and_a_second_enter_says_it_into_the_turn(tmp_path):
    gate = asyncio.Event()
    async with on_stage(tmp_path, gated(gate, FakeAgent.deliver)) as stage:
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.send("not the tests")
        await stage.shows("◔ waits: not the tests")
        await stage.shows("enter again: into this turn")
        await stage.pilot.press("enter")
        await stage.shows("↪ goes in next: not the tests")
        assert stage.agent.steered == ["not the tests"]
        gate.set()
        await stage.shows("I see")
        await stage.shows("↪ not the tests")

        assert "goes in next" not in stage.text()
        assert stage.agent.prompts == ["go"]


@pytest.mark.long
async def test_a_command_says_it_at_once_and_without_a_turn_it_is_a_prompt(tmp_path):
    async with on_stage(tmp_path, hold(), say("second")) as stage:
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.send("/steer look at main.py first")
        await stage.shows("↪ goes in next: look at main.py first")
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.agent.reports)
        await stage.until(lambda: stage.prompt.text == "look at main.py first")
        stage.prompt.replace_text("")
        await stage.send("/steer and now")
        await stage.shows("second")

        assert stage.agent.prompts == ["go", "and now"]


@pytest.mark.long
async def test_what_no_request_carried_is_the_next_prompt(tmp_path):
    gate = asyncio.Event()
    async with on_stage(tmp_path, gated(gate), say("of course")) as stage:
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.send("/steer one thing")
        await stage.send("/steer another")
        gate.set()
        await stage.shows("of course")

        assert stage.agent.prompts == ["go", "one thing\n\nanother"]


@pytest.mark.long
async def test_up_takes_back_what_goes_in_before_what_waits(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.send("waits")
        await stage.send("/steer goes in")
        await stage.pilot.press("up")
        assert stage.prompt.text == "goes in"
        assert stage.agent.steered == []
        stage.prompt.replace_text("")
        await stage.pilot.press("up")
        assert stage.prompt.text == "waits"
        assert "◔" not in stage.text()


@pytest.mark.long
async def test_where_enter_steers_a_second_enter_lets_it_wait_and_a_third_says_it_again(tmp_path):
    gate = asyncio.Event()
    async with on_stage(tmp_path, gated(gate), say("of course")) as stage:
        stage.app.settings = TuiTable(enter_while_running="steer")
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.shows("enter steers")
        await stage.send("not the tests")
        await stage.shows("↪ goes in next: not the tests")
        await stage.shows("enter again: queues it")
        assert stage.agent.steered == ["not the tests"]
        await stage.pilot.press("enter")
        await stage.shows("◔ waits: not the tests")
        await stage.shows("enter again: into this turn")
        assert stage.agent.steered == []
        await stage.pilot.press("enter")
        await stage.shows("↪ goes in next: not the tests")
        await stage.pilot.press("enter")
        gate.set()
        await stage.shows("of course")

        assert stage.agent.prompts == ["go", "not the tests"]


@pytest.mark.long
async def test_where_enter_steers_it_begins_a_turn_where_none_runs_and_stays_in_the_history(tmp_path):
    async with on_stage(tmp_path, say("first"), hold()) as stage:
        stage.app.settings = TuiTable(enter_while_running="steer")
        await stage.send("go")
        await stage.shows("first")
        await stage.send("and on")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.send("said into it")
        stage.agent.deliver()
        await stage.shows("↪ said into it")
        await stage.pilot.press("enter")
        assert "◔" not in stage.text()
        await stage.pilot.press("up")

        assert stage.prompt.text == "said into it"
        assert stage.agent.prompts == ["go", "and on"]


@pytest.mark.parametrize("typed", [" /new", " !make", "/fix\nthe tests", " # a line"])
async def test_where_enter_steers_what_is_no_plain_prompt_still_waits(tmp_path, typed):
    async with on_stage(tmp_path, hold()) as stage:
        stage.app.settings = TuiTable(enter_while_running="steer")
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.send(typed)
        await stage.shows("◔ waits: ")

        assert stage.agent.steered == []


@pytest.mark.long
async def test_enter_in_an_empty_prompt_does_nothing_where_nothing_waits_or_runs(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.pilot.press("enter")
        await stage.send("/steer")
        await stage.shows("no turn is running")
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.pilot.press("enter")
        await stage.send("/steer")
        await stage.shows("no queued prompt")

        assert stage.agent.steered == []


@pytest.mark.long
async def test_many_that_wait_take_four_lines_at_most(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        for number in range(6):
            await stage.send(f"prompt {number}\nwith a second line")
        await stage.shows("◔ waits: prompt 0⏎with a second line")
        await stage.shows("… 3 more")
        assert "prompt 3" not in stage.text()


# -- commands of one's own --------------------------------------------------------------------------------


async def test_what_enter_does_to_a_command_is_shown_no_longer_than_one_stands_there(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.prompt.insert("!true")
        await stage.shows("enter runs this in your shell")
        stage.prompt.load_text("")

        await stage.until(lambda: not stage.app.chat.notice)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("!git status", TypedCommand("git status", True)),
        ("!! env | sort", TypedCommand("env | sort", False)),
        ("!", TypedCommand("", True)),
        ("!!", TypedCommand("", False)),
        ("!a\nb", TypedCommand("a\nb", True)),
        (" !a", None),
        ("what!", None),
    ],
)
def test_only_what_begins_with_the_mark_is_a_command(typed, meant):
    assert parse_user_command(typed) == meant


@pytest.mark.long
async def test_a_command_runs_at_once_in_a_card_of_its_own_and_is_remembered(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("!")
        await stage.shows("enter runs this in your shell, and nobody reviews it")
        await stage.send("!git status")
        await stage.shows("! git status")
        await stage.shows("output of git status")

        assert stage.agent.commands == [("git status", True)]
        assert stage.agent.prompts == []
        await stage.pilot.press("up")
        assert stage.prompt.text == "!git status"


async def test_before_the_session_is_there_commands_wait_for_it_and_then_run_in_order(tmp_path):
    gate, box = asyncio.Event(), []
    compose = after_gate(gate, composing(box))

    async with on_stage(tmp_path, compose=compose, ready=False) as stage:
        await stage.send("!first")
        await stage.shows("runs once the session is ready")
        assert stage.prompt.text == ""
        await stage.send("!!second")
        gate.set()
        await stage.shows("output of second")

        assert box[0].commands == [("first", True), ("second", False)]


@pytest.mark.long
async def test_commands_that_waited_for_a_session_that_is_only_read_come_back(tmp_path):
    gate, box = asyncio.Event(), []
    compose = after_gate(gate, composing(box, prepare=lambda agent: setattr(agent, "in_use", "in use by 7")))

    async with on_stage(tmp_path, compose=compose, ready=False) as stage:
        await stage.send("!first")
        await stage.shows("runs once the session is ready")
        gate.set()
        await stage.until(lambda: stage.prompt.text == "!first")
        assert box[0].commands == []


async def test_with_two_marks_the_model_does_not_read_it(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("!!env")
        await stage.shows("!! env")
        assert stage.agent.commands == [("env", False)]


@pytest.mark.long
async def test_it_runs_beside_a_turn_and_escape_ends_it_before_the_turn(tmp_path):
    async with on_stage(tmp_path, hold(), prepare=lambda agent: agent.may_end.clear()) as stage:
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.send("!make watch")
        await stage.shows("so far so good")
        await stage.shows("esc ends your command")
        await stage.pilot.press("escape")
        await stage.shows("cancelled")
        assert not stage.agent.reports
        await stage.shows("esc interrupts")
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.agent.reports)


@pytest.mark.long
async def test_the_one_begun_last_is_ended_first_and_the_session_stays_while_one_runs(tmp_path):
    async with on_stage(tmp_path, prepare=lambda agent: agent.may_end.clear()) as stage:
        await stage.send("!first")
        await stage.send("!second")
        await stage.shows("your command")
        await stage.send("/new")
        await stage.shows("a command of yours is running; esc ends it")
        await stage.pilot.press("ctrl+c")
        await stage.until(lambda: stage.app.chat.turns.own.running == 1)
        assert len(stage.agents) == 1
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.chat.turns.own.running == 0)


@pytest.mark.long
async def test_without_a_command_or_where_nothing_may_be_added_it_stays_in_the_prompt(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("!")
        await stage.shows("type a command after the !")
    async with on_stage(tmp_path, prepare=lambda agent: setattr(agent, "in_use", "in use by 7")) as stage:
        await stage.send("!make")
        await stage.shows("read-only")
        assert stage.prompt.text == "!make"
        assert stage.agent.commands == []


async def test_neither_the_command_line_nor_a_prompt_that_waited_can_run_one(tmp_path):
    async with on_stage(tmp_path, say("a"), initial_prompt="!rm -rf /") as stage:
        await stage.shows("› !rm -rf /")
        stage.app.chat.sending.submit("!make")
        await stage.until(lambda: len(stage.agent.prompts) == 2)
        assert stage.agent.commands == []


@pytest.mark.long
async def test_a_question_takes_the_keys_while_a_command_runs(tmp_path):
    asks = review(a_request(a_command("make")))
    async with on_stage(tmp_path, asks, clock=Clock(), prepare=lambda a: a.may_end.clear()) as stage:
        await stage.send("!sleep 9")
        await stage.send("go")
        dialog = await stage.asked()
        assert dialog.is_awake
        stage.app.chat.sending.run_user_command(TypedCommand("make", True), "!make")
        assert stage.agent.commands == [("sleep 9", True)]
        assert stage.prompt.text == "!make"
        stage.agent.may_end.set()
        await stage.pilot.press("n", "n")  # the prompt holds text now
        await stage.unasked()


async def test_leaving_ends_what_runs(tmp_path):
    async with on_stage(tmp_path, prepare=lambda agent: agent.may_end.clear()) as stage:
        await stage.send("!sleep 300")
        await stage.shows("so far so good")
        stage.hit("ctrl+q")
        await stage.until(lambda: stage.app.chat.turns.own.running == 0)
