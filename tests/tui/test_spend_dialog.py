"""The question whether to go on past a spend cap, as the person meets it, and what `/cost` tells of caps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path

import pytest

from quorum.application.ports.people import Approver, Observer
from quorum.application.view.present import Book
from quorum.domain.conversation.cost import CapStanding, Price, PriceTable, SpendCap, SpendQuestion
from quorum.domain.conversation.response import Usage
from quorum.domain.events.event import UsageCounted
from quorum.domain.review.quorum_result import SparedVote
from quorum.rpc.json_rpc import RpcError
from quorum.rpc.power import Hand
from quorum.rpc.questions import open_question, respond
from quorum.tui.screens.accounts.cost_screen import CostScreen
from quorum.tui.screens.accounts.spending import render_spending
from quorum.tui.screens.spend_dialog import SpendDialog
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import FakeAgent

QUESTION = SpendQuestion(
    cap=SpendCap.COST,
    models=("anthropic/claude-sonnet-5-5",),
    limit=Decimal("0.50"),
    spent=Decimal("0.4812"),
    estimate=Decimal("0.5203"),
    raise_to=Decimal("1.00"),
)
UNPRICED = SpendQuestion(
    cap=SpendCap.TURN_COST, models=("ollama/qwen3", "ollama/x"), limit=Decimal(2), spent=Decimal(0)
)


class Asking:
    """An app that asks before its agent is there. `answers` is what it returned."""

    def __init__(self, question: SpendQuestion) -> None:
        self.question = question
        self.answers: list[bool] = []

    async def compose(self, person: Approver, observer: Observer, *_: object) -> FakeAgent:
        self.answers.append(await asyncio.create_task(person.ask(self.question)))
        return FakeAgent(person, observer)


@asynccontextmanager
async def asked(
    tmp_path: Path, question: SpendQuestion = QUESTION, *, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Stage, Asking]]:
    """The app with the dialog painted and waiting for keys."""
    asking = Asking(question)
    async with on_stage(tmp_path, size=size, compose=asking.compose, ready=False) as stage:
        await stage.until(lambda: isinstance(stage.app.screen, SpendDialog) and stage.app.screen.is_awake)
        yield stage, asking


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["y"], True),
        (["n"], False),
        (["escape"], False),
        (["enter", "enter"], False),
        (["right", "enter"], True),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else "",
)
async def test_each_key_gives_its_answer(tmp_path, keys, answer):
    async with asked(tmp_path) as (stage, asking):
        for key in keys:
            await stage.pilot.press(key)
        await stage.shows("fake/model-1")

        assert asking.answers == [answer]


@pytest.mark.long
async def test_the_cap_what_was_used_and_what_going_on_means_are_shown(tmp_path):
    async with asked(tmp_path) as (stage, _):
        text = stage.text()

    for part in (
        "Continue past the spend cap?",
        "agent.max_cost_usd = $0.5000",
        "$0.4812",
        "anthropic/claude-sonnet-5-5",
        "about $0.5203 with its request",
        "To continue raises the cap to $1.00 for this session.",
    ):
        assert part in text


@pytest.mark.long
async def test_where_no_price_is_known_that_is_said_and_what_going_on_means_then(tmp_path):
    async with asked(tmp_path, UNPRICED) as (stage, _):
        text = stage.text()

    assert "No price is known" in text
    assert "not counted against the cap" in text
    assert "ollama/qwen3" in text
    assert "ollama/x" in text


@pytest.mark.long
async def test_a_remote_client_sees_the_question_and_raises_the_cap_only_with_approval(tmp_path):
    async with asked(tmp_path) as (stage, asking):
        shown = open_question(stage.app)
        assert shown is not None
        assert (shown["kind"], shown["cap"], shown["raise_to"]) == ("spend", "max_cost_usd", 1.0)
        with pytest.raises(RpcError, match="approval"):
            respond(stage.app, "approve", QUESTION.digest, "", Hand(False, "no token"))
        with pytest.raises(RpcError, match="open question is about"):
            respond(stage.app, "approve", UNPRICED.digest, "", Hand(True))

        respond(stage.app, "approve", QUESTION.digest, "", Hand(True))
        await stage.shows("fake/model-1")

        assert asking.answers == [True]


def test_cost_tells_how_far_each_cap_is_used_up():
    standing = CapStanding(cap=SpendCap.TOKENS, limit=Decimal(200_000), spent=Decimal(12_345))

    lines = [line.plain for line in CostScreen(Book(), [standing]).build_lines(80)]

    assert "    agent.max_tokens  12,345 tokens of 200,000 tokens" in lines


def test_cost_tells_what_escalation_spared():
    book = Book()
    book.add(UsageCounted(model="p/m", usage=Usage(input=10, output=1), cost_usd=None))
    book.spare(
        [
            SparedVote(model="p/a", input_tokens=5_000, output_tokens=200, cost_usd=Decimal("0.02")),
            SparedVote(model="p/b", input_tokens=5_000, output_tokens=200, cost_usd=None),
        ]
    )

    lines = [line.plain for line in CostScreen(book).build_lines(80)]

    assert lines[lines.index("Spared by escalation") + 1] == (
        "    2 votes not asked for, about 10.0k in · 400 out · ≥ $0.02"
    )


def test_cost_says_by_plan_where_a_plan_pays_and_adds_it_to_no_other_cost():
    prices = PriceTable(
        {"p/a": Price(input=Decimal(1), output=Decimal(1), cache_read=Decimal(1), cache_write=Decimal(1))},
        frozenset({"codex"}),
    )
    book = Book()
    book.add(UsageCounted.of("codex/m", Usage(input=1000, output=10), prices))
    book.spare(
        [SparedVote(model="codex/m", input_tokens=5, output_tokens=2, cost_usd=Decimal(0), by_plan=True)]
    )
    assert render_spending(book.total) == "1.0k in · 10 out · by plan"

    book.add(UsageCounted.of("p/a", Usage(input=40_000), prices))
    lines = [line.plain for line in CostScreen(book).build_lines(80)]

    assert [line.split()[-2:] for line in lines if "codex/m" in line] == [["by", "plan"]] * 2
    assert render_spending(book.total).endswith(" · $0.04")
    assert "    1 vote not asked for, about 5 in · 2 out · by plan" in lines
    assert "What is paid by plan is in no other cost." in lines
