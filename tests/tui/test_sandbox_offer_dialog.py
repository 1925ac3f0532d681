"""The offer of the mode `sandboxed` at first use, as the person meets it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from quorum.application.ports.people import Approver, Observer, SandboxQuestion
from quorum.tui.screens.sandbox_offer import SandboxOfferDialog
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import FakeAgent

QUESTION = SandboxQuestion("bubblewrap\x1b[2J 0.8.0", f"make\x1b[2J {'x' * 300}")


class Asking:
    """An app that asks before its agent is there. `answers` is what it returned."""

    def __init__(self) -> None:
        self.answers: list[bool | None] = []

    async def compose(self, person: Approver, observer: Observer, *_: object) -> FakeAgent:
        self.answers.append(await asyncio.create_task(person.ask(QUESTION)))
        return FakeAgent(person, observer)


@asynccontextmanager
async def asked(tmp_path: Path, *, size: tuple[int, int] = (80, 24)) -> AsyncIterator[tuple[Stage, Asking]]:
    asking = Asking()
    async with on_stage(tmp_path, size=size, compose=asking.compose, ready=False) as stage:
        await stage.until(
            lambda: isinstance(stage.app.screen, SandboxOfferDialog) and stage.app.screen.is_awake
        )
        yield stage, asking


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["y"], True),
        (["n"], False),
        (["escape"], None),
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


async def test_what_would_run_unasked_and_what_would_not_is_shown_whole(tmp_path):
    async with asked(tmp_path) as (stage, _):
        text = " ".join(stage.text().replace("│", "").split())

    for part in (
        "Let edits and sandboxed commands run unasked?",
        "You are asked about everything else",
        "change what runs without a question at any time.",
        "ask about each",
    ):
        assert part in text
    assert f"now: make␛[2J {'x' * 20}" in text
    assert "x…" in text
    assert "bubblewrap" not in text
    assert "review.mode" not in text


async def test_which_sandbox_and_setting_it_is_stands_under_details(tmp_path):
    async with asked(tmp_path) as (stage, asking):
        await stage.pilot.press("d")
        await stage.shows("bubblewrap␛[2J 0.8.0")
        await stage.shows("review.mode")
        await stage.pilot.press("d")
        await stage.until(lambda: "bubblewrap" not in stage.text())

        assert asking.answers == []


async def test_paragraphs_fill_a_narrow_screen_line_by_line(tmp_path):
    async with asked(tmp_path, size=(60, 30)) as (stage, _):
        shown = [line.strip(" │") for line in stage.text().splitlines()]

    assert "If you agree, edits in this folder and commands inside" in shown
    assert any(line.startswith("the sandbox run without a question.") for line in shown)


async def test_on_a_wide_screen_it_stands_below_the_transcript_and_not_the_side_panel(tmp_path):
    async with asked(tmp_path, size=(200, 50)) as (stage, _):
        assert stage.app.screen.query_one("#question").region.x == 0
        await stage.pilot.press("escape")
