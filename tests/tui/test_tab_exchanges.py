"""What a tab is told of the one that it is opened from, and answers that go back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from quorum.domain.conversation.exchanges import DEEPEST, ContextExtent, SessionResult
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import LedgerError
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import FakeAgent


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def answer(agent: FakeAgent, text: str = "the answer", responses: int = 1) -> SessionResult:
    agent.exchanges.result = SessionResult(
        session_id=agent.session_id,
        title="why?",
        form=SessionKind.ASK,
        responses=responses,
        note=text,
    )
    return agent.exchanges.result


def numbering() -> Callable[[FakeAgent], None]:
    """Each agent gets an id, and those after the first were opened from the one before."""
    made: list[FakeAgent] = []

    def prepare(agent: FakeAgent) -> None:
        agent.session_id = f"session-{len(made) + 1}"
        if made:
            agent.exchanges.opener = made[-1].session_id
        made.append(agent)

    return prepare


async def open_tab(stage: Stage, command: str) -> None:
    before = len(stage.agents)
    await stage.send(command)
    await stage.until(lambda: len(stage.agents) > before and stage.app.chat.current.session is not None)


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("command", "extent"),
    [
        ("/ask why?", ContextExtent.PROJECTED),
        ("/ask --full why?", ContextExtent.FULL),
        ("/discuss --fresh why?", ContextExtent.FRESH),
        ("/debate why?", ContextExtent.FULL),
        ("/tab --projected why?", ContextExtent.PROJECTED),
    ],
)
async def test_a_tab_is_told_as_much_as_its_form_or_the_person_says(
    tmp_path: Path, command: str, extent: ContextExtent
) -> None:
    async with on_stage(tmp_path) as stage:
        await open_tab(stage, command)
        await stage.until(lambda: stage.agent.prompts == ["why?"])
        assert [each.extent for each in stage.agent.exchanges.shared] == [extent]


@pytest.mark.long
async def test_a_tab_for_other_work_is_told_nothing(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        await open_tab(stage, "/tab")
        assert stage.agent.exchanges.shared == []


@pytest.mark.long
async def test_what_cannot_be_recorded_is_said_and_the_question_is_asked_all_the_same(tmp_path: Path) -> None:
    async def refuse(_shared: object) -> None:
        raise LedgerError("the disk is full")

    def prepare(agent: FakeAgent) -> None:
        agent.exchanges.receive_context = refuse  # type: ignore[method-assign]

    async with on_stage(tmp_path, prepare=prepare) as stage:
        await open_tab(stage, "/ask why?")
        await stage.shows("knows nothing of the one that it was opened from: the disk is full")
        await stage.until(lambda: stage.agent.prompts == ["why?"])


async def test_the_fourth_tab_in_a_row_is_refused_and_the_question_stays(tmp_path: Path) -> None:
    def prepare(agent: FakeAgent) -> None:
        agent.exchanges.depth = DEEPEST

    async with on_stage(tmp_path, prepare=prepare) as stage:
        await stage.send("/ask why?")
        await stage.shows("tabs follow each other three deep")
        assert stage.prompt.text == "/ask why?"
        assert len(stage.app.tabs.all) == 1


@pytest.mark.long
async def test_the_opener_is_offered_an_answer_and_takes_it_over_once(tmp_path: Path) -> None:
    async with on_stage(tmp_path, prepare=numbering()) as stage:
        await open_tab(stage, "/ask why?")
        result = answer(stage.agent)
        await stage.send("more")
        await stage.shows("/result hands this answer to tab 1")
        await stage.pilot.press("alt+1")
        await stage.shows("tab 2, “why?”, has an answer · /result takes it over")

        await stage.send("/result")

        await stage.until(lambda: stage.agents[0].exchanges.received == [result])
        await stage.send("/result")
        await stage.shows("there is no new answer of a tab that was opened from here")
        assert stage.agents[0].exchanges.received == [result]
        await stage.send("/result 2")
        await stage.until(lambda: stage.agents[0].exchanges.received == [result, result])


@pytest.mark.long
async def test_a_tab_hands_its_answer_to_its_opener_which_comes_to_the_front(tmp_path: Path) -> None:
    async with on_stage(tmp_path, prepare=numbering()) as stage:
        await open_tab(stage, "/ask why?")
        await stage.send("/result")
        await stage.shows("there is no answer here that was not handed over")
        result = answer(stage.agent)
        await stage.send("more")
        await stage.shows("/result hands this answer to tab 1")

        await stage.send("/result")

        await stage.until(lambda: stage.app.tabs.front is stage.app.tabs.all[0])
        assert stage.agents[0].exchanges.received == [result]
        assert "has an answer" not in stage.text(), "it was offered, and is there"


async def test_where_there_is_nothing_to_take_over_that_is_said(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        for command, said in (
            ("/result", "no tab was opened from here"),
            ("/result 1", "that is this tab"),
            ("/result 7", "there is no tab 7"),
        ):
            await stage.send(command)
            await stage.shows(said)
