"""Text that is typed while questions open over the prompt, as the whole app sorts it."""

from __future__ import annotations

import asyncio

import pytest
from textual import events

from quorum.application.ports.people import SandboxQuestion
from quorum.domain.review.questions import Approve, Reject
from quorum.domain.settings import TuiTable
from quorum.tui.keys.keyboard_guard import CAME_TOO_EARLY, ENTER_DID_NOTHING, TYPING_PACE, WENT_TO_PROMPT
from quorum.tui.screens.sandbox_offer import SandboxOfferDialog
from tests.support.app_stage import Clock, Stage, on_stage
from tests.support.fake_agent import FakeAgent, a_command, a_request, review

MAKE = a_command("make all")


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def type_at(stage: Stage, text: str, at: float, gap: float = 0.1) -> None:
    """Type a text from a moment of the stage's clock on."""
    for number, character in enumerate(text):
        key = {" ": "space", "\n": "enter"}.get(character, character)
        event = events.Key(key, character if character != "\n" else "\r")
        event.time = at + number * gap
        stage.app.post_message(event)
    await stage.pilot.pause()


async def test_a_prompt_that_is_being_typed_as_a_review_opens_stays_whole_and_unsent(tmp_path):
    ask = asyncio.Event()

    async def scene(agent: FakeAgent) -> None:
        await ask.wait()
        await agent.ask(a_request(MAKE))

    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, scene, clock=clock, pace=TYPING_PACE) as stage:
        await stage.send("go")
        await type_at(stage, "also cou", 101.0)
        clock.now = 101.75
        ask.set()
        await stage.asked()
        await type_at(stage, "nt the lines afterwards\n", 101.8)
        await stage.shows(WENT_TO_PROMPT)

        assert stage.prompt.text == "also count the lines afterwards\n"
        assert stage.agent.answers == []
        assert stage.agent.prompts == ["go"]


@pytest.mark.long
async def test_lines_that_were_each_ended_with_enter_at_a_question_are_sent_as_one_only_at_a_second_enter(
    tmp_path,
):
    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, review(a_request(MAKE)), clock=clock, pace=TYPING_PACE) as stage:
        await stage.send("go")
        await stage.asked()
        stage.prompt.replace_text("typed early")
        await stage.press_at("ctrl+u", 103.0)
        await type_at(stage, "/help\n", 105.0)
        await stage.press_at("escape", 110.0)
        await stage.unasked()
        clock.now = 120.0
        await type_at(stage, "/model", 120.0)
        assert stage.prompt.text == "/help\n/model"

        await stage.press_at("enter", 130.0)
        await stage.shows("enter again sends them as one")
        assert stage.agent.prompts == ["go"]

        await stage.press_at("enter", 132.0)
        await stage.until(lambda: stage.prompt.text == "")


@pytest.mark.long
async def test_words_after_a_pause_and_a_paste_are_added_to_the_prompt_of_an_open_review(tmp_path):
    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, review(a_request(MAKE)), clock=clock, pace=TYPING_PACE) as stage:
        await stage.send("go")
        await stage.asked()
        stage.prompt.replace_text("when ")
        await type_at(stage, "you are done ", 103.0)
        stage.app.post_message(events.Paste("yes\nand\n"))
        await stage.until(lambda: stage.prompt.text == "when you are done yes\nand\n")
        await stage.shows(WENT_TO_PROMPT)

        assert stage.agent.answers == []


@pytest.mark.long
async def test_a_letter_alone_answers_and_where_text_stands_in_the_prompt_at_the_second_time(tmp_path):
    clock = Clock()
    clock.now = 100.0
    asks = review(a_request(MAKE)), review(a_request(MAKE))
    async with on_stage(tmp_path, *asks, clock=clock, pace=TYPING_PACE) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.press_at("y", 101.0)
        await stage.until(lambda: stage.agent.answers == [Approve(MAKE.digest)])
        await stage.unasked()
        await stage.send("again")
        stage.prompt.replace_text("later")
        await stage.asked()
        await stage.press_at("n", 103.0)
        await stage.shows("press n again for this question")
        await stage.press_at("n", 104.0)
        await stage.until(lambda: stage.agent.answers == [Approve(MAKE.digest), Reject()])
        await stage.unasked()

        assert stage.prompt.text == "later"


@pytest.mark.long
async def test_escape_ends_the_modes_of_vim_before_it_leaves_a_question(tmp_path):
    clock = Clock()
    clock.now = 100.0
    ask = asyncio.Event()

    async def scene(agent: FakeAgent) -> None:
        await ask.wait()
        await agent.ask(a_request(MAKE))

    async with on_stage(tmp_path, scene, clock=clock, pace=TYPING_PACE) as stage:
        stage.app.settings = TuiTable(editing="vim")
        await stage.send("go")
        await type_at(stage, "one tw", 101.0)
        ask.set()
        await stage.asked()
        await type_at(stage, "o", 101.6)
        await stage.press_at("escape", 101.7)
        await stage.shows("esc again leaves the question")
        assert (stage.prompt.text, stage.agent.answers) == ("one two", [])
        assert not stage.prompt.takes_escape

        await stage.press_at("escape", 101.8)
        await stage.until(lambda: stage.agent.answers)


@pytest.mark.long
async def test_the_words_of_an_answer_to_the_first_of_two_calls_do_not_answer_the_second(tmp_path):
    packets = [a_command("one", index=0), a_command("two", index=1)]
    clock = Clock()
    clock.now = 100.0
    scene = review(*(a_request(packet, batch_size=2) for packet in packets))
    async with on_stage(tmp_path, scene, clock=clock, pace=TYPING_PACE) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.press_at("y", 101.0)
        await stage.until(lambda: stage.agent.answers)
        await type_at(stage, "no wait, read it again\n", 101.6)
        await stage.until(lambda: dialog.is_awake and dialog.request.packet == packets[1])
        await stage.pilot.pause()

        assert stage.prompt.text == "no wait, read it again\n"
        assert stage.agent.answers == [Approve(packets[0].digest)]


@pytest.mark.long
async def test_an_enter_after_the_start_does_not_decide_about_the_sandbox(tmp_path):
    answers: list[bool | None] = []

    async def compose(person, observer, *_):
        answers.append(await asyncio.create_task(person.ask(SandboxQuestion("bubblewrap"))))
        return FakeAgent(person, observer)

    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, compose=compose, ready=False, clock=clock, pace=TYPING_PACE) as stage:
        await stage.until(
            lambda: isinstance(stage.app.screen, SandboxOfferDialog) and stage.app.screen.is_awake
        )
        await stage.press_at("enter", 100.2)
        await stage.shows(CAME_TOO_EARLY)
        await stage.press_at("enter", 100.7)
        await stage.shows("press enter again for this question")
        await type_at(stage, "fix the tests\n", 102.0)
        await stage.press_at("enter", 105.0)
        await stage.shows("your prompt holds text: press enter again")

        assert answers == []
        assert stage.prompt.text == "fix the tests\n"


@pytest.mark.long
async def test_an_enter_too_many_after_a_prompt_rejects_nothing(tmp_path):
    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, review(a_request(MAKE)), clock=clock, pace=TYPING_PACE) as stage:
        await type_at(stage, "go\n", 99.0)
        await stage.asked()
        await stage.press_at("enter", 100.6)
        await stage.shows(ENTER_DID_NOTHING)

        assert stage.agent.answers == []
