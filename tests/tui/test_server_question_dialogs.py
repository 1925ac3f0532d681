"""Questions of MCP servers as the person meets them: forms to fill in, and addresses to open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from quorum.application.ports.people import Approver, Observer
from quorum.domain.mcp.server_question import (
    ServerAction,
    ServerAddress,
    ServerAnswer,
    ServerQuestion,
    read_form,
)
from quorum.tui.screens.question_card import QuestionCard
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import FakeAgent

FORM = read_form(
    "deployer",
    "deploy",
    "Where shall it go?\nIt takes a minute.",
    {
        "type": "object",
        "required": ["host"],
        "properties": {
            "host": {"type": "string", "title": "Host", "description": "as in your inventory", "minLength": 2},
            "port": {"type": "integer", "title": "Port", "default": 22},
            "zone": {
                "type": "string",
                "title": "Zone",
                "oneOf": [{"const": "n", "title": "North"}, {"const": "s", "title": "South"}],
            },
            "sure": {"type": "boolean", "title": "Restart it"},
        },
    },
)
ADDRESS = ServerAddress(
    server="signer", call="sign", message="Please sign.", address="https://sign.example/doc?id=7"
)


class Asking:
    """An app that asks once. `task` ends with the answer."""

    def __init__(self, question: ServerQuestion) -> None:
        self._question = question
        self.task: asyncio.Task[ServerAnswer] | None = None

    async def compose(self, person: Approver, observer: Observer, *_: object) -> FakeAgent:
        self.task = asyncio.create_task(person.ask(self._question))
        return FakeAgent(person, observer)

    async def answer(self) -> ServerAnswer:
        assert self.task is not None
        return await asyncio.wait_for(self.task, 60)


@asynccontextmanager
async def asked(
    tmp_path: Path, question: ServerQuestion, *, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Stage, Asking]]:
    asking = Asking(question)
    async with on_stage(tmp_path, size=size, compose=asking.compose, ready=False) as stage:
        await stage.until(lambda: isinstance(stage.app.screen, QuestionCard) and stage.app.screen.is_awake)
        yield stage, asking


@pytest.mark.long
async def test_a_click_on_a_field_edits_it(tmp_path):
    async with asked(tmp_path, FORM) as (stage, asking):
        rows = stage.text().splitlines()
        y = next(y for y, row in enumerate(rows) if "Zone: –" in row)
        await stage.pilot.click(offset=(rows[y].index("Zone"), y))
        await stage.shows("enter keeps it")
        await stage.pilot.press(*"South", "enter")
        await stage.shows("Zone: South")
        await stage.shows("› Restart it")
        assert asking.task is not None
        assert not asking.task.done()


@pytest.mark.long
async def test_a_form_is_filled_in_field_by_field_and_sent(tmp_path):
    async with asked(tmp_path, FORM) as (stage, asking):
        await stage.pilot.press(
            "enter", *"db1", "enter", "e", "ctrl+u", *"2222", "enter", "enter", "down", "enter"
        )
        await stage.shows("Zone: North")
        await stage.pilot.press("enter", *"yes", "enter")
        await stage.shows("Restart it: yes")
        await stage.pilot.press("s")

        assert await asking.answer() == ServerAnswer(
            action=ServerAction.ACCEPT, values={"host": "db1", "port": 2222, "zone": "n", "sure": True}
        )


@pytest.mark.long
async def test_who_asks_during_what_and_in_whose_words_is_shown(tmp_path):
    async with asked(tmp_path, FORM) as (stage, _):
        text = stage.text()

    for part in (
        "An MCP server asks",
        "deployer",
        "deploy",
        "it says",
        "Where shall it go?",
        "Host (required): –",
    ):
        assert part in text
    assert "Port: 22" in text


@pytest.mark.long
async def test_a_value_that_does_not_fit_is_refused_at_its_field(tmp_path):
    async with asked(tmp_path, FORM) as (stage, asking):
        await stage.pilot.press("enter", "x", "enter")
        await stage.shows("Host: at least 2 characters")
        await stage.pilot.press("y", "enter")
        await stage.shows("Host (required): xy")
        await stage.pilot.press("s")

        assert (await asking.answer()).values == {"host": "xy", "port": 22}


@pytest.mark.long
async def test_a_form_that_lacks_a_required_value_is_not_sent(tmp_path):
    async with asked(tmp_path, FORM) as (stage, asking):
        await stage.pilot.press("s")
        await stage.shows("Host: it is required")
        await stage.pilot.press("escape")

        assert await asking.answer() == ServerAnswer(action=ServerAction.CANCEL)


@pytest.mark.long
async def test_escape_leaves_the_field_first_and_the_form_then(tmp_path):
    async with asked(tmp_path, FORM) as (stage, asking):
        await stage.pilot.press("enter", *"sn", "escape")
        await stage.shows("Host (required): –")
        await stage.pilot.press("n")

        assert await asking.answer() == ServerAnswer(action=ServerAction.DECLINE)


@pytest.mark.long
@pytest.mark.parametrize("size", [(60, 15), (120, 40)], ids=str)
async def test_each_field_can_be_reached_at_any_size(tmp_path, size):
    async with asked(tmp_path, FORM, size=size) as (stage, asking):
        await stage.pilot.press("down", "down", "down")
        await stage.shows("› Restart it: –")
        await stage.shows("send")
        await stage.pilot.press("escape")
        await asking.answer()


@pytest.mark.long
async def test_an_edited_field_and_what_is_wrong_with_it_fit_on_a_small_screen(tmp_path):
    async with asked(tmp_path, FORM, size=(40, 11)) as (stage, asking):
        await stage.pilot.press("enter", "x", "enter")
        await stage.shows("Host: at least 2")
        await stage.pilot.pause()

        assert stage.app.screen.max_scroll_y == 0
        await stage.pilot.press("escape", "escape")
        await asking.answer()


@pytest.mark.long
async def test_a_field_that_asks_for_a_secret_is_marked(tmp_path):
    form = read_form("srv", "", "m", {"properties": {"pw": {"type": "string", "title": "Password"}}})
    async with asked(tmp_path, form) as (stage, _):
        await stage.shows("must not ask for passwords")


@pytest.mark.long
async def test_words_of_a_server_cannot_steer_the_screen(tmp_path):
    form = read_form("srv", "", "a\x1b[2Jb\u202ec", {"properties": {"x": {"type": "string"}}})
    async with asked(tmp_path, form) as (stage, _):
        text = stage.text()

    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.long
async def test_an_address_is_shown_whole_and_opened_after_a_yes_alone(tmp_path, monkeypatch):
    opened: list[str] = []

    async def open_address(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr("quorum.tui.screens.server_dialogs.open_address", open_address)
    async with asked(tmp_path, ADDRESS) as (stage, asking):
        assert "https://sign.example/doc?id=7" in stage.text()
        assert opened == []
        await stage.pilot.press("y")

        assert await asking.answer() == ServerAnswer(action=ServerAction.ACCEPT)
    assert opened == ["https://sign.example/doc?id=7"]


async def test_where_no_browser_is_the_person_says_when_it_is_opened_elsewhere(tmp_path, monkeypatch):
    async def open_address(address: str) -> bool:
        return False

    monkeypatch.setattr("quorum.tui.screens.server_dialogs.open_address", open_address)
    async with asked(tmp_path, ADDRESS, size=(120, 40)) as (stage, asking):
        await stage.pilot.press("y")
        await stage.shows("no browser with a window is here")
        await stage.pilot.press("y")

        assert await asking.answer() == ServerAnswer(action=ServerAction.ACCEPT)


@pytest.mark.parametrize(("key", "action"), [("n", ServerAction.DECLINE), ("escape", ServerAction.CANCEL)])
async def test_an_address_is_declined_or_left(tmp_path, key, action):
    async with asked(tmp_path, ADDRESS) as (stage, asking):
        await stage.pilot.press(key)

        assert await asking.answer() == ServerAnswer(action=action)


@pytest.mark.long
async def test_a_question_that_is_cancelled_goes_off_the_screen(tmp_path):
    async with asked(tmp_path, FORM) as (stage, asking):
        assert asking.task is not None
        asking.task.cancel()
        await stage.until(lambda: stage.app.screen is stage.app.chat)
