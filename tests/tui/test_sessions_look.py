"""How the list of sessions, and what taking back a turn would change, look, as pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.sessions.session_summary import SessionSummary
from quorum.tui.app.app import QuorumApp
from quorum.tui.screens.rewind.restore_screen import RestoreScreen
from quorum.tui.screens.session_picker import SessionPicker
from tests.support.app_stage import Clock, Stage
from tests.support.fake_agent import composing
from tests.support.fake_archive import FakeArchive, a_session
from tests.support.no_folder import NO_FOLDER, NO_HOME
from tests.tui.rewind_scenes import PLAN, TURNS, with_turns

HOUR_MS = 3_600_000
TITLES = (
    ("fix the flaky retry test", NO_FOLDER),
    ("explain how the parser recovers from a missing brace, with examples", NO_FOLDER),
    ("日本語のテキストを検索する機能を追加", NO_FOLDER),
    ("why does it fail on the other machine only?", f"{NO_HOME}/src/a/long/path/to/some/project"),
    ("write the release notes for 2.4", f"{NO_HOME}/notes"),
)


def sessions() -> list[SessionSummary]:
    return [
        a_session(
            f"0199f{n}a",
            title,
            cwd=cwd,
            updated_ms=-n * n * 7 * HOUR_MS,
            turns=1 + 3 * n,
            cost=f"{n * 0.13:.2f}",
            open_in=4321 if n == 4 else None,
        )
        for n, (title, cwd) in enumerate(TITLES)
    ]


@pytest.mark.long(after=1)
@pytest.mark.parametrize("size", [pytest.param((80, 24), id="80x24"), pytest.param((120, 30), id="120x30")])
def test_the_list_of_sessions_looks_like_its_picture(snap_compare, size, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", NO_HOME)
    app = QuorumApp(composing([]), cwd=Path(NO_FOLDER), clock=Clock())

    async def look(pilot) -> None:
        stage = Stage(app, pilot, [])
        await stage.shows("fake/model-1")

        async def open_archive() -> FakeArchive:
            return FakeArchive(sessions())

        app.push_screen(SessionPicker(open_archive, cwd=NO_FOLDER, now_ms=lambda: HOUR_MS))
        await stage.shows("flaky")
        await pilot.press("tab", "down")
        await stage.shows("begun 1 h ago · 0199f1a")

    assert snap_compare(app, terminal_size=size, run_before=look)


@pytest.mark.long
@pytest.mark.parametrize("size", [pytest.param((80, 24), id="80x24"), pytest.param((120, 34), id="120x34")])
def test_what_would_change_looks_like_its_picture(snap_compare, size, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", NO_HOME)
    box = []
    app = QuorumApp(composing(box, prepare=with_turns), cwd=Path(NO_FOLDER), clock=Clock())

    async def look(pilot) -> None:
        stage = Stage(app, pilot, box)
        await stage.shows("fake/model-1")

        async def take_back(task, prompt) -> None:
            return None

        app.push_screen(RestoreScreen(stage.agent, TURNS[1], take_back, cwd=NO_FOLDER))
        await stage.shows(PLAN.unseen[0])
        await pilot.press("down", "space", "up")
        await stage.shows("asyncio.sleep")

    assert snap_compare(app, terminal_size=size, run_before=look)
