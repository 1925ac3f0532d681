"""The findings of a code review in the app: a list, and the place of each in the pager and in an editor."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from quorum.domain.events.event import ChangeReviewed
from quorum.tui.app.app import QuorumApp
from quorum.tui.screens.findings_screen import FindingsScreen
from quorum.tui.screens.pager_screen import PagerScreen
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import FakeAgent
from tests.tui.test_code_review_in_transcript import END, STARTED, answered, finding, reviewed

TEXT = "".join(f"line {number} \x1b[2J\n" for number in range(1, 101))
FOUND = reviewed(finding("F1", "it leaks", reviewers="AB"), finding("F2", "it is \x1b[2Jslow"))


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("VISUAL", raising=False)


@asynccontextmanager
async def listed(
    tmp_path: Path, found: ChangeReviewed = FOUND, *, size: tuple[int, int] = (100, 30)
) -> AsyncIterator[Stage]:
    async def scene(agent: FakeAgent) -> None:
        for event in (STARTED, answered(0), answered(1), found, END):
            agent.tell(event)

    async with on_stage(tmp_path, scene, size=size) as stage:
        stage.agent.reviewed_files["src/a.py"] = TEXT
        await stage.send("Review the uncommitted changes")
        await stage.shows("/findings opens them")
        await stage.send("/findings")
        await stage.until(lambda: isinstance(stage.app.screen, FindingsScreen) and stage.app.screen.is_mounted)
        yield stage


@pytest.mark.long
async def test_each_finding_has_a_line_and_the_marked_one_all_that_was_said_of_it(tmp_path: Path) -> None:
    async with listed(tmp_path) as stage:
        await stage.shows("› F1 high src/a.py:7 · confirmed")
        await stage.shows("F2 high src/a.py:7 · untried")
        await stage.shows("it leaks")
        await stage.shows("security, found by 2 reviewers (A, B)")
        await stage.pilot.press("down")
        await stage.shows("› F2 high src/a.py:7 · untried")
        await stage.shows("slow")
        assert "\x1b[2J" not in stage.text()


@pytest.mark.long
async def test_enter_opens_its_file_at_its_line_and_esc_leads_back(tmp_path: Path) -> None:
    async with listed(tmp_path, size=(80, 15)) as stage:
        await stage.pilot.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, PagerScreen))
        await stage.until(
            lambda: any(line.split()[:3] == ["›", "7", "line"] for line in stage.text().splitlines())
        )
        await stage.shows("src/a.py:7")
        assert "\x1b[2J" not in stage.text()
        await stage.pilot.press("escape")
        await stage.until(lambda: isinstance(stage.app.screen, FindingsScreen))
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)


@pytest.mark.parametrize("key", ["enter", "e"])
async def test_a_file_that_is_gone_is_said(tmp_path: Path, key: str) -> None:
    async with listed(tmp_path) as stage:
        stage.agent.reviewed_files.clear()
        await stage.pilot.press(key)
        await stage.shows("src/a.py: no such file or folder")
        assert isinstance(stage.app.screen, FindingsScreen)


async def test_a_line_that_the_file_does_not_have_any_more_is_said(tmp_path: Path) -> None:
    async with listed(tmp_path) as stage:
        stage.agent.reviewed_files["src/a.py"] = "one\ntwo\n"
        await stage.pilot.press("enter")
        await stage.shows("there are only 2 lines")


@pytest.mark.parametrize(
    ("name", "asked"), [("vi", "+7 /repository/src/a.py"), ("code", "--wait --goto /repository/src/a.py:7")]
)
async def test_a_key_opens_it_in_the_editor_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, asked: str
) -> None:
    program = tmp_path / "bin" / name
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nprintf "%s" "$*" > {tmp_path}/asked\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("EDITOR", f"{program} --wait" if name == "code" else str(program))
    monkeypatch.setattr(QuorumApp, "suspend", contextmanager(lambda _app: iter([None])))
    async with listed(tmp_path) as stage:
        await stage.pilot.press("e")
        await stage.until(lambda: (tmp_path / "asked").exists() and (tmp_path / "asked").read_text() == asked)


@pytest.mark.long
async def test_the_selected_panel_opens_its_findings(tmp_path: Path) -> None:
    async with listed(tmp_path) as stage:
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        await stage.pilot.press("alt+up")
        await stage.shows("o findings")
        await stage.pilot.press("o")
        await stage.until(lambda: isinstance(stage.app.screen, FindingsScreen))


@pytest.mark.long
async def test_a_review_that_found_nothing_says_so(tmp_path: Path) -> None:
    async with listed(tmp_path) as stage:
        stage.app.pop_screen()
        stage.agent.tell(reviewed())
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        await stage.send("/findings")
        await stage.shows("No reviewer found anything.")


async def test_without_a_code_review_the_command_says_how_to_begin_one(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        await stage.until(lambda: stage.app.chat.current.session is not None)
        await stage.send("/findings")
        await stage.shows("there is no code review on the screen; /review begins one")
