"""Sessions side by side: each tab with its own draft, status, questions and end."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import dataclass, field
from weakref import ref

import pytest

from quorum.application.ports.agents import AgentOffers
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import LedgerError, ProviderError, ProviderErrorKind
from quorum.domain.events.event import ErrorOccurred
from quorum.domain.review.questions import Approve
from quorum.domain.sessions.session_summary import NamedSession, NewSession
from quorum.tui.screens.review.dialog import ReviewDialog
from tests.support.app_stage import Clock, on_stage
from tests.support.fake_agent import a_request, an_edit, composing, failing, hold, review, say

DIFF = "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n"


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def numbered(agent):
    agent.session_id = f"session-{id(agent)}"


async def second_tab(stage, key="ctrl+t"):
    """Open a tab and wait for its session."""
    before = len(stage.agents)
    await stage.pilot.press(key)
    await stage.until(lambda: len(stage.agents) > before and stage.app.chat.current.session is not None)


def is_freed(watched):
    gc.collect()
    return watched() is None


def front(stage):
    return stage.app.tabs.all.index(stage.app.tabs.front)


@pytest.mark.long
async def test_there_is_no_line_of_tabs_while_there_is_one(tmp_path):
    async with on_stage(tmp_path) as stage:
        assert not stage.app.chat.tab_bar.display
        await second_tab(stage)
        assert stage.app.chat.tab_bar.display
        await stage.shows(" 1 new  2 new ")


@pytest.mark.long
@pytest.mark.parametrize("asked", [False, True])
async def test_of_a_closed_tab_nothing_stays_in_memory(tmp_path, asked):
    async with on_stage(tmp_path, review(a_request(an_edit(DIFF))), prepare=numbered) as stage:
        await second_tab(stage)
        closed = ref(stage.app.chat)
        if asked:
            await stage.send("go")
            closed = ref(await stage.asked())
            await stage.pilot.press("n")
            await stage.unasked()
        await stage.pilot.press(*"/close", "enter")
        await stage.until(lambda: len(stage.app.tabs.all) == 1)
        del stage.agents[1]

        await stage.until(lambda: is_freed(closed))  # threads that began for it keep it until they end


@pytest.mark.long
async def test_behind_another_tab_no_frame_is_asked_for_and_what_came_is_there_with_the_first(
    tmp_path, monkeypatch
):
    async with on_stage(tmp_path, say("the first answer")) as stage:
        await stage.send("a question")
        await stage.shows("the first answer")
        behind = stage.app.chat
        await second_tab(stage)
        asked = []
        monkeypatch.setattr(behind.transcript._pace, "want", lambda: asked.append("a frame"))
        stage.agents[0].tell(ErrorOccurred(message="the disk is full"))
        await stage.until(lambda: "the disk is full" in repr(behind.transcript._page.transcript.entries[-1]))
        assert asked == []

        await stage.pilot.press("alt+left")
        await stage.shows("the disk is full")


@pytest.mark.long
async def test_each_tab_has_its_own_conversation_and_draft(tmp_path):
    async with on_stage(tmp_path, say("the answer")) as stage:
        await stage.send("the first question")
        await stage.shows("the answer")
        await stage.pilot.press(*"draft one")
        await second_tab(stage)
        assert stage.prompt.text == ""
        assert "the answer" not in stage.text()
        await stage.pilot.press(*"draft two")

        await stage.pilot.press("alt+left")
        await stage.shows("the answer")
        assert stage.prompt.text == "draft one"
        await stage.pilot.press("alt+2")
        await stage.shows("draft two")
        assert [agent.prompts for agent in stage.agents] == [["the first question"], []]


@pytest.mark.long
async def test_the_line_names_tabs_by_their_first_prompt_and_marks_what_they_do(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("find the\nbug")
        await stage.agent.reached.wait()
        await second_tab(stage)
        await stage.shows(" 1 find the bug ●  2 new ")

        await stage.pilot.press("alt+1")
        await stage.shows("esc interrupts")
        await stage.pilot.press("escape")
        await stage.pilot.press("alt+2")
        await stage.shows(" 1 find the bug  2 new ")


@pytest.mark.long
async def test_esc_stops_the_turn_of_the_tab_in_front_alone(tmp_path):
    async with on_stage(tmp_path, hold("first")) as stage:
        await stage.send("one")
        await stage.agent.reached.wait()
        await second_tab(stage)
        await stage.send("two")
        await stage.agent.reached.wait()
        await stage.pilot.press("escape")
        await stage.agents[1].put_away.wait()

        assert not stage.agents[0].put_away.is_set()
        assert stage.app.tabs.all[0].chat.turns.running


@pytest.mark.long
async def test_a_question_of_a_tab_behind_marks_it_and_waits_until_it_is_in_front(tmp_path):
    async with on_stage(tmp_path, review(a_request(an_edit(DIFF)))) as stage:
        await second_tab(stage)
        await stage.pilot.press("alt+1")
        stage.app.tabs.all[1].chat.sending.submit("do it")
        await stage.agents[1].reached.wait()
        await stage.shows(" 2 do it !")
        assert stage.app.screen is stage.app.chat

        await stage.pilot.press("alt+2")
        await stage.asked()
        assert isinstance(stage.app.screen, ReviewDialog)


@pytest.mark.long
async def test_a_question_left_open_is_there_again_and_takes_no_key_at_once(tmp_path):
    clock = Clock()
    async with on_stage(tmp_path, review(a_request(an_edit(DIFF))), clock=clock) as stage:
        await stage.send("do it")
        await stage.asked()
        await second_tab(stage)
        await stage.shows("1 do it !")
        clock.now = 100.0
        await stage.pilot.press("alt+1")
        await stage.asked()
        await stage.press_at("y", clock.now + 0.1)
        assert stage.agents[0].answers == []
        await stage.press_at("y", clock.now + 10)
        await stage.until(lambda: stage.agents[0].answers)
        assert isinstance(stage.agents[0].answers[0], Approve)


@pytest.mark.long
async def test_a_question_taken_back_behind_another_tab_is_gone_on_return(tmp_path):
    async with on_stage(tmp_path, review(a_request(an_edit(DIFF)))) as stage:
        await stage.send("do it")
        await stage.asked()
        await second_tab(stage)
        stage.app.tabs.all[0].chat.turns.interrupt()
        await stage.agents[0].put_away.wait()
        await stage.until(lambda: not stage.app.tabs.all[0].chat.turns.running)
        await stage.pilot.press("alt+1")
        await stage.until(lambda: front(stage) == 0 and stage.app.screen is stage.app.chat)
        await stage.send("again")
        await stage.shows("done")


@pytest.mark.long
async def test_tabs_go_round(tmp_path):
    async with on_stage(tmp_path) as stage:
        await second_tab(stage)
        await second_tab(stage)
        seen = []
        for key in ("alt+right", "alt+right", "alt+left", "alt+left"):
            await stage.pilot.press(key)
            seen.append(front(stage))
        assert seen == [0, 1, 0, 2]
        await stage.pilot.press("alt+9")
        await stage.shows("there is no tab 9")


@pytest.mark.long
async def test_a_click_on_the_line_goes_to_a_tab(tmp_path):
    async with on_stage(tmp_path) as stage:
        await second_tab(stage)
        await stage.pilot.click("#tabs", offset=(2, 0))
        await stage.until(lambda: front(stage) == 0)


@pytest.mark.long
async def test_ask_opens_a_tab_of_its_form_with_the_question(tmp_path):
    async with on_stage(tmp_path, say("in b.py")) as stage:
        await stage.send("/ask where is the bug?")
        await stage.shows("in b.py")
        assert front(stage) == 1
        assert stage.agents[1].choice == NewSession(SessionKind.ASK)
        assert stage.agents[1].prompts == ["where is the bug?"]


async def test_an_agent_of_another_vendor_works_in_a_tab_of_its_own(tmp_path):
    async with on_stage(tmp_path, say("mended")) as stage:
        await stage.send("/agent claude fix the failing test")
        await stage.shows("mended")
        assert front(stage) == 1
        assert stage.agents[1].choice == NewSession(SessionKind.EXTERNAL, "claude")
        assert stage.agents[1].prompts == ["fix the failing test"]


async def test_an_agent_has_to_be_named(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("/agent")
        await stage.shows("name the agent, and what it is to do")
        assert len(stage.app.tabs.all) == 1


@dataclass
class ExternalWork:
    """An agent that offers two modes, and no model."""

    offers: AgentOffers = field(default_factory=lambda: AgentOffers(modes=("build", "plan")))
    chosen: list[tuple[str, str]] = field(default_factory=list)

    @property
    def work(self) -> ExternalWork:
        return self

    async def find_offers(self) -> AgentOffers:
        return self.offers

    async def choose(self, category: str, name: str) -> None:
        if name not in self.offers.modes:
            text = f"it does not offer the {category} {name}"
            raise ProviderError(text, kind=ProviderErrorKind.CONFIGURATION)
        self.chosen.append((category, name))


async def test_in_the_tab_of_an_agent_its_modes_are_listed_and_chosen(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.agents[0].external = work = ExternalWork()
        await stage.send("/agent ")
        await stage.shows("modes: build, plan")
        await stage.send("/agent mode fast")
        await stage.shows("it does not offer the mode fast")
        await stage.send("/agent mode plan")
        await stage.until(lambda: work.chosen == [("mode", "plan")])


@pytest.mark.long
@pytest.mark.parametrize(
    ("typed", "prompt"),
    [
        ("/review", "Review the uncommitted changes"),
        ("/review #12", "Review pull request 12"),
        ("/review main...HEAD the locks", "Review main...HEAD\n\nthe locks"),
    ],
)
async def test_review_opens_a_tab_of_its_form_with_what_is_to_be_reviewed(tmp_path, typed, prompt):
    async with on_stage(tmp_path, say("Approved")) as stage:
        await stage.send(typed)
        await stage.shows("Approved")
        assert front(stage) == 1
        assert stage.agents[1].choice == NewSession(SessionKind.REVIEW)
        assert stage.agents[1].prompts == [prompt]


@pytest.mark.long
async def test_a_session_that_only_asks_says_so_where_the_mode_stands(tmp_path):
    def only_asks(agent):
        agent.form = SessionKind.ASK

    async with on_stage(tmp_path, prepare=only_asks) as stage:
        await stage.shows("looks only   fake/model-1")
        assert stage.text().splitlines()[-1].startswith(" looks only ·")


@pytest.mark.long
async def test_a_closed_tab_lets_go_of_its_session_and_gives_way_to_the_one_it_was_opened_from(tmp_path):
    async with on_stage(tmp_path) as stage:
        await second_tab(stage)
        await stage.send("/close")
        await stage.until(lambda: len(stage.app.tabs.all) == 1)
        await stage.shows("closed; /resume finds it")
        assert [agent.closed for agent in stage.agents] == [False, True]
        await stage.send("still there?")
        await stage.shows("done")


@pytest.mark.long
async def test_the_first_tab_can_be_closed_too_but_never_the_last(tmp_path):
    async with on_stage(tmp_path) as stage:
        await second_tab(stage)
        await stage.pilot.press("alt+1")
        await stage.send("/close")
        await stage.until(lambda: len(stage.app.tabs.all) == 1)
        await stage.until(lambda: stage.agents[0].closed)
        await stage.send("/close")
        await stage.shows("this is the only tab; /quit leaves")
        assert not stage.agents[1].closed


@pytest.mark.long
async def test_a_tab_closed_twice_at_once_is_closed_once(tmp_path):
    async with on_stage(tmp_path) as stage:
        await second_tab(stage)
        await second_tab(stage)
        stage.app.action_close_tab()
        stage.app.action_close_tab()
        await stage.until(lambda: stage.agents[2].closed)
        await stage.shows("closed; /resume finds it")
        assert [agent.closed for agent in stage.agents] == [False, False, True]


@pytest.mark.long
async def test_a_tab_that_cannot_be_opened_and_is_the_only_one_by_then_ends_the_app_with_the_reason(tmp_path):
    go, fine = asyncio.Event(), composing([])
    broken = failing(ProviderError("no key", kind=ProviderErrorKind.CONFIGURATION))
    opened = []

    async def compose(person, observer, choice, folder):
        opened.append(choice)
        if len(opened) == 1:
            return await fine(person, observer, choice, folder)
        await go.wait()
        return await broken(person, observer, choice, folder)

    async with on_stage(tmp_path, compose=compose) as stage:
        await stage.pilot.press("ctrl+t")
        await stage.until(lambda: len(opened) == 2)
        await stage.pilot.press("alt+1")
        await stage.send("/close")
        await stage.until(lambda: len(stage.app.tabs.all) == 1)
        go.set()
        await stage.until(lambda: stage.app.return_code)
        assert stage.app.return_code == 4


@pytest.mark.long
async def test_a_tab_at_work_is_not_closed(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await second_tab(stage)
        await stage.send("work")
        await stage.agent.reached.wait()
        await stage.send("/close")
        await stage.shows("a turn is running; esc stops it")
        assert len(stage.app.tabs.all) == 2


@pytest.mark.long
async def test_what_goes_wrong_with_closing_is_shown(tmp_path):
    async with on_stage(tmp_path) as stage:
        await second_tab(stage)
        stage.agent.closing_fails = LedgerError("the disk is full")
        await stage.send("/close")
        await stage.shows("the disk is full")


@pytest.mark.long
@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ProviderError("no key", kind=ProviderErrorKind.CONFIGURATION), "no key"),
        (RuntimeError("broken"), "the session could not be opened: RuntimeError: broken"),
    ],
)
async def test_a_tab_whose_session_cannot_be_opened_closes_and_gives_its_draft_back(tmp_path, error, sentence):
    box = []
    fine = composing(box)
    broken = failing(error)
    composed = [fine, broken]

    async def compose(person, observer, choice, folder):
        return await composed.pop(0)(person, observer, choice, folder)

    async with on_stage(tmp_path, compose=compose) as stage:
        await stage.send("/ask what is this?")
        await stage.shows(f"the tab could not be opened: {sentence}")
        assert len(stage.app.tabs.all) == 1


async def test_a_session_open_in_another_tab_is_gone_to_and_not_opened_twice(tmp_path):
    async with on_stage(tmp_path, prepare=numbered) as stage:
        await second_tab(stage)
        chat = stage.app.chat
        chat.post_message(chat.SessionWanted(chat, NamedSession(stage.agents[0].session_id)))
        await stage.until(lambda: front(stage) == 0)
        assert len(stage.agents) == 2


@pytest.mark.long
async def test_leaving_ends_what_runs_in_every_tab_and_says_how_to_go_on_with_each(tmp_path):
    async with on_stage(tmp_path, hold(), prepare=numbered) as stage:
        await stage.send("one")
        await stage.agent.reached.wait()
        await second_tab(stage)
        await stage.send("two")
        await stage.agent.reached.wait()
        stage.hit("ctrl+q")
        async with asyncio.timeout(60):
            for agent in stage.agents:
                await agent.put_away.wait()
        await stage.until(lambda: not stage.app.is_running)
    resumed = [words for words in stage.app.parting_words if "quorum --resume" in words]
    assert [words.rpartition("  # ")[2] for words in resumed] == ["one", "two"]
    assert all(agent.closed for agent in stage.agents)


@pytest.mark.long
async def test_titles_give_way_where_there_is_little_room_and_the_tab_in_front_stays_in_sight(tmp_path):
    async with on_stage(tmp_path, say("x"), size=(40, 12)) as stage:
        for number in range(6):
            await stage.send(f"{number} 漢字 with a rather long question 🎉")
            await stage.shows("x")
            await second_tab(stage)
        line = stage.text().splitlines()[0]
        assert " 7 new " in line
        assert line.startswith("‹")


@pytest.mark.long
async def test_tabs_out_of_sight_tell_that_they_need_an_answer_and_a_click_leads_there(tmp_path):
    asks = review(a_request(an_edit(DIFF)))
    async with on_stage(tmp_path, asks, size=(40, 16)) as stage:
        await second_tab(stage)
        await stage.pilot.press("alt+1")
        await stage.send("go")
        await stage.until(lambda: stage.app.tabs.all[0].mark == "!")
        for _ in range(7):
            await second_tab(stage)
        await stage.shows("‹!")
        await stage.pilot.click(stage.app.chat.tab_bar, offset=(0, 0))
        await stage.until(lambda: front(stage) < 8)
        await stage.pilot.press("alt+2")
        await stage.shows("›")
