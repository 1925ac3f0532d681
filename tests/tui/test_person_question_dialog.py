"""Questions of the model in the app: an option is chosen, words are written, or it has no answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from quorum.application.ports.people import Approver, Observer, PersonAnswer, ReviewQuestion
from quorum.domain.calls.execution import Seal
from quorum.domain.events.event import TextDelta
from quorum.domain.review.person_question import PersonReply
from quorum.domain.review.questions import Approve
from quorum.tui.screens.person_question_dialog import PersonQuestionDialog
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import FakeAgent, a_packet, a_request
from tests.support.review_contexts import a_review_context

OPTIONS = [{"label": "Blue", "description": "as the sky"}, {"label": "Green"}, {"label": "R\u202eed"}]


ASKED = {"question": "Which colour?", "options": OPTIONS}


class Asking:
    """An app that is asked once. `task` ends with the answer."""

    def __init__(self, *, several: bool) -> None:
        arguments = {"question": "Which colour?\nIt is for the door.", "options": OPTIONS, "several": several}
        self.packet = a_packet("ask_person", arguments, Seal(cwd="/w"))
        self.task: asyncio.Task[PersonAnswer] | None = None

    async def compose(self, person: Approver, observer: Observer, *_: object) -> FakeAgent:
        question = ReviewQuestion(a_request(self.packet), a_review_context())
        self.task = asyncio.create_task(person.ask(question))
        return FakeAgent(person, observer)

    async def reply(self) -> PersonReply | None:
        assert self.task is not None
        answer = await asyncio.wait_for(self.task, 60)
        assert isinstance(answer, Approve)
        assert answer.digest == self.packet.digest
        return answer.reply


@asynccontextmanager
async def asked(
    tmp_path: Path, *, several: bool = False, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Stage, Asking]]:
    asking = Asking(several=several)
    async with on_stage(tmp_path, size=size, compose=asking.compose, ready=False) as stage:
        await stage.until(
            lambda: isinstance(stage.app.screen, PersonQuestionDialog) and stage.app.screen.is_awake
        )
        yield stage, asking


async def test_a_marked_option_is_the_reply(tmp_path):
    async with asked(tmp_path) as (stage, asking):
        await stage.shows("The model asks you")
        await stage.shows("as the sky")
        await stage.pilot.press("down", "down", "enter")

        assert await asking.reply() == PersonReply(options=(2,))


async def click_on(stage: Stage, text: str) -> None:
    lines = stage.text().splitlines()
    row = next(number for number, line in enumerate(lines) if text in line)
    await stage.pilot.click(offset=(lines[row].index(text), row))


@pytest.mark.long
@pytest.mark.parametrize(("text", "option"), [("Green", 2), ("as the sky", 1)])
async def test_an_option_that_is_clicked_is_the_reply(tmp_path, text, option):
    async with asked(tmp_path) as (stage, asking):
        await click_on(stage, "Which colour?")
        await click_on(stage, text)

        assert await asking.reply() == PersonReply(options=(option,))


@pytest.mark.long
async def test_clicks_choose_where_several_may_be_and_begin_own_words(tmp_path):
    async with asked(tmp_path, several=True) as (stage, asking):
        await click_on(stage, "Green")
        await click_on(stage, "In your own words")
        await stage.pilot.press(*"dark", "enter")

        assert await asking.reply() == PersonReply(options=(2,), text="dark")


@pytest.mark.long
async def test_it_stands_at_the_lower_end_and_what_was_said_last_stays_in_sight_above_it(tmp_path):
    question = ReviewQuestion(a_request(a_packet("ask_person", ASKED, Seal(cwd="/w"))), a_review_context())

    async def scene(agent: FakeAgent) -> None:
        agent.tell(TextDelta(text="so much was found out\n\n" * 20 + "and that is the end"))
        await agent.ask(question.request)

    async with on_stage(tmp_path, scene, size=(120, 24)) as stage:
        await stage.send("go")
        await stage.until(lambda: isinstance(stage.app.screen, PersonQuestionDialog))
        await stage.shows("and that is the end")
        await stage.until(lambda: "esc no answer" in stage.text().splitlines()[-2])
        dialog = stage.text().splitlines()[-6:-1]
        assert not [line for line in dialog if "Ask for something" in line]
        await stage.pilot.press("1")
        await stage.unasked()
        await stage.until(lambda: not stage.app.chat.query_one("#main").styles.margin.bottom)


@pytest.mark.long
async def test_the_line_for_own_words_fits_on_a_small_screen_with_the_question_and_the_choices(tmp_path):
    async with asked(tmp_path, size=(40, 10)) as (stage, asking):
        await stage.pilot.press("e")
        await stage.shows("enter answers")
        await stage.pilot.pause()

        assert stage.app.screen.max_scroll_y == 0
        assert "enter answers" in stage.text().splitlines()[-2]
        await stage.pilot.press("escape", "escape")
        await asking.reply()


async def test_words_of_the_model_are_drawn_as_text_and_never_as_controls(tmp_path):
    async with asked(tmp_path) as (stage, asking):
        assert "R⟨U+202E⟩ed" in stage.text()
        await stage.pilot.press("escape")
        await asking.reply()


@pytest.mark.long
async def test_enter_answers_nothing_before_an_option_is_marked(tmp_path):
    async with asked(tmp_path) as (stage, asking):
        await stage.pilot.press("enter")
        await stage.shows("mark an answer first")
        assert asking.task is not None
        assert not asking.task.done()
        await stage.pilot.press("up", "up", "enter")

        assert await asking.reply() == PersonReply(options=(3,))


@pytest.mark.long
async def test_several_options_and_words_of_ones_own_go_together(tmp_path):
    async with asked(tmp_path, several=True) as (stage, asking):
        await stage.pilot.press("down", "space", "down", "down", "space")
        await stage.shows("[x] 1 Blue")
        await stage.pilot.press("e", *"in turns", "enter")

        assert await asking.reply() == PersonReply(options=(1, 3), text="in turns")


@pytest.mark.long
async def test_several_chosen_options_are_sent_without_words(tmp_path):
    async with asked(tmp_path, several=True) as (stage, asking):
        await stage.pilot.press("down", "space", "down", "space", "up", "space", "enter")

        assert await asking.reply() == PersonReply(options=(2,))


@pytest.mark.long
async def test_own_words_are_the_last_option_and_escape_leaves_the_line_first(tmp_path):
    async with asked(tmp_path) as (stage, asking):
        await stage.pilot.press("up", "enter", *"ne", "escape")
        await stage.shows("e own words")
        await stage.pilot.press("e", *"xt", "enter")

        assert await asking.reply() == PersonReply(text="next")


@pytest.mark.long
async def test_words_that_are_the_reply_do_not_go_to_the_prompt(tmp_path):
    async with asked(tmp_path) as (stage, asking):
        await stage.pilot.press("e", *"next", "enter")

        assert await asking.reply() == PersonReply(text="next")
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        assert stage.prompt.text == ""


@pytest.mark.long
@pytest.mark.parametrize("key", ["escape", "n"])
async def test_it_can_be_left_without_an_answer(tmp_path, key):
    async with asked(tmp_path) as (stage, asking):
        await stage.pilot.press("down", key)

        assert await asking.reply() is None


@pytest.mark.long
@pytest.mark.parametrize("size", [(60, 15), (120, 40)], ids=str)
async def test_each_option_can_be_reached_at_any_size(tmp_path, size):
    async with asked(tmp_path, size=size) as (stage, asking):
        await stage.pilot.press("up")
        await stage.shows("› In your own words")
        await stage.shows("no answer")
        await stage.pilot.press("escape")
        await asking.reply()


async def test_the_number_of_an_option_is_the_reply(tmp_path):
    async with asked(tmp_path) as (stage, asking):
        await stage.shows("2 Green")
        await stage.pilot.press("2")

        assert await asking.reply() == PersonReply(options=(2,))


@pytest.mark.long
async def test_where_several_may_be_chosen_numbers_choose_and_a_number_of_none_does_nothing(tmp_path):
    async with asked(tmp_path, several=True) as (stage, asking):
        for key in ("4", "1", "2", "3", "2"):
            await stage.pilot.press(key)
            await stage.pilot.pause(0.5)
        await stage.shows("[x] 1 Blue")
        await stage.pilot.press("enter")

        assert await asking.reply() == PersonReply(options=(1, 3))


@pytest.mark.long
async def test_a_number_in_words_of_ones_own_is_text(tmp_path):
    async with asked(tmp_path) as (stage, asking):
        await stage.pilot.press("e", "1", "enter")

        assert await asking.reply() == PersonReply(text="1")
