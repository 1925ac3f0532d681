"""Decisions that wait elsewhere: a list in the app, and the review dialog for each of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.widgets import Static

from quorum.domain.calls.execution import Seal
from quorum.domain.errors import AnswerRefused
from quorum.domain.replacing import replace
from quorum.domain.review.person_question import PersonReply
from quorum.domain.sessions.waiting_review import WaitingReview
from quorum.tui.screens.inbox_screen import InboxScreen
from quorum.tui.screens.person_question_dialog import PersonQuestionDialog
from quorum.tui.screens.review.dialog import ReviewDialog
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import a_command, a_packet
from tests.support.past_sessions import a_summary


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def waiting(command: str, **session: object) -> WaitingReview:
    return WaitingReview(
        session=a_summary(**session),
        packet=a_command(command),
        reasons=("the mode asks about commands",),
        since_ms=0,
    )


@asynccontextmanager
async def listed(
    tmp_path: Path, *reviews: WaitingReview, size: tuple[int, int] = (100, 30)
) -> AsyncIterator[Stage]:
    async with on_stage(tmp_path, size=size) as stage:
        stage.agent.waiting.reviews += reviews
        await stage.send("/inbox")
        await stage.until(lambda: isinstance(stage.app.screen, InboxScreen) and stage.app.screen.is_mounted)
        yield stage


@pytest.mark.long
async def test_each_decision_has_a_line_and_the_marked_one_says_where_it_waits(tmp_path: Path) -> None:
    one = waiting("make \x1b[2Jall", open_in=42, host="build-3")
    async with listed(tmp_path, one, waiting("rm -r build"), size=(80, 24)) as stage:
        await stage.shows("› run make")
        await stage.shows("process 42 on build-3")
        await stage.shows("offline/offline asks in")
        assert one.short_digest not in stage.text()
        await stage.shows("the mode asks about commands")
        await stage.pilot.press("down")
        await stage.shows("› run rm -r build")
        await stage.shows("not running")
        assert "\x1b[2J" not in stage.text()


@pytest.mark.long
async def test_what_speaks_against_a_call_is_told_from_what_the_mode_asks_anyway(tmp_path: Path) -> None:
    mode, danger = "high risk, and the mode is ask", "a.key is a \x1b[2Jsensitive path"
    one = replace(waiting("cat a.key"), reasons=(mode, danger), routine_reasons=(mode,))
    async with listed(tmp_path, one) as stage:
        await stage.shows("! a.key is a")
        (about,) = (str(each.content) for each in stage.app.screen.query("#about").results(Static))
        last = about.splitlines()[-1]
        assert last.startswith("! a.key is a")
        assert last.endswith(f"sensitive path; {mode}")

        await stage.pilot.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, ReviewDialog))
        dialog = stage.app.screen
        assert isinstance(dialog, ReviewDialog)
        assert dialog.request.dangers == (danger,)


@pytest.mark.long
async def test_where_nothing_waits_it_says_so(tmp_path: Path) -> None:
    async with listed(tmp_path) as stage:
        await stage.shows("No decision waits in any session.")
        await stage.until(lambda: stage.app.screen.query_one("#inbox").size.height == 1)
        await stage.pilot.press("enter", "escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)


async def open_dialog(stage: Stage) -> None:
    await stage.shows("› run")
    await stage.pilot.press("enter")
    await stage.until(lambda: isinstance(stage.app.screen, ReviewDialog))
    await stage.shows("y yes")
    await stage.until(lambda: not stage.app.screen.query_one("#choices").has_class("-dead"))


@pytest.mark.long
async def test_the_review_dialog_offers_yes_and_no_and_sends_the_digest(tmp_path: Path) -> None:
    one = waiting("make all", open_in=42)
    async with listed(tmp_path, one) as stage:
        await open_dialog(stage)
        await stage.shows("make all")
        await stage.shows("esc leaves it waiting")
        assert "e change" not in stage.text()
        await stage.pilot.press("e")
        await stage.pilot.press("y")
        await stage.shows("approved: run; its process takes the answer")
        assert stage.agent.waiting.answers == [(one.digest, True, None)]


@pytest.mark.long
async def test_esc_leaves_it_waiting_and_a_late_answer_is_refused_with_a_sentence(tmp_path: Path) -> None:
    async with listed(tmp_path, waiting("make all")) as stage:
        await open_dialog(stage)
        await stage.pilot.press("escape")
        await stage.until(lambda: isinstance(stage.app.screen, InboxScreen))
        assert stage.agent.waiting.answers == []
        assert stage.agent.waiting.seen == [(a_summary().id, a_command("make all").digest)]

        stage.agent.waiting.refusal = AnswerRefused("it was decided already: rejected")
        await open_dialog(stage)
        await stage.pilot.press("n")
        await stage.shows("it was decided already: rejected")


async def test_a_list_that_takes_long_to_read_is_read_to_its_end_and_then_again(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        inbox = stage.agent.waiting
        inbox.may_list.clear()
        stage.app.push_screen(InboxScreen(inbox, read_secs=0))
        await stage.shows("reading the decisions that wait")
        for _ in range(5):
            await stage.pilot.pause()
        assert inbox.readings == 1

        inbox.reviews.append(waiting("make all"))
        inbox.may_list.set()
        await stage.shows("› run make all")
        await stage.until(lambda: inbox.readings > 2)


@pytest.mark.long
async def test_a_question_of_the_model_opens_in_its_own_dialog_and_esc_leaves_it_waiting(
    tmp_path: Path,
) -> None:
    arguments = {"question": "Which colour?", "options": [{"label": "Blue"}, {"label": "Green"}]}
    asked = replace(waiting("x"), packet=a_packet("ask_person", arguments, Seal(cwd="/w")))
    async with listed(tmp_path, asked) as stage:
        await stage.shows("ask Which colour?")
        for keys in (("escape",), ("down", "down", "enter")):
            await stage.pilot.press("enter")
            await stage.until(
                lambda: isinstance(stage.app.screen, PersonQuestionDialog) and stage.app.screen.is_awake
            )
            await stage.pilot.press(*keys)
            await stage.until(lambda: isinstance(stage.app.screen, InboxScreen))
        await stage.shows("answered: ask; ")

        assert stage.agent.waiting.replies == [(asked.digest, PersonReply(options=(2,)))]
