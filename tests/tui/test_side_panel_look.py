"""How the side panel, the lines of hooks and the pager look, as pictures that are reviewed like code."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.tui.screens.pager_screen import KeptLines, PagerScreen
from tests.support.app_stage import Stage
from tests.support.no_folder import NO_FOLDER, NO_HOME
from tests.tui.panel_scenes import HOOKED, MIDWAY, app_with_clock, play
from tests.tui.transcript_scenes import Clock

LOG = "".join(
    f"2026-11-21T10:{n // 60 % 60:02d}:{n % 60:02d}Z {'ERROR' if n % 17 == 9 else 'INFO '} "
    f"request {n} took {n % 40} ms"
    f"{' after a retry of the upstream connection, which was closed while it was read' * (n % 11 == 5)}\n"
    for n in range(20_000)
)


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("script", "seen", "size"),
    [
        pytest.param(MIDWAY, "2 updates", (150, 40), id="a batch midway"),
        pytest.param(HOOKED, "quota", (100, 34), id="hooks"),
    ],
)
def test_the_screen_looks_like_its_picture(snap_compare, script, seen, size, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", NO_HOME)
    clock = Clock()
    app = app_with_clock(Path(NO_FOLDER), clock)

    async def watch(pilot) -> None:
        stage = Stage(app, pilot, [])
        await stage.shows("fake/model-1")
        app.chat.query_one("#welcome").display = False
        play(stage, clock, script)
        await stage.shows(seen)

    assert snap_compare(app, terminal_size=size, run_before=watch)


@pytest.mark.long
def test_the_pager_looks_like_its_picture(snap_compare, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    app = app_with_clock(Path(NO_FOLDER), Clock())

    async def search(pilot) -> None:
        stage = Stage(app, pilot, [])
        await stage.shows("fake/model-1")
        app.push_screen(PagerScreen(KeptLines(LOG), "run_command make serve", "1.2 GB"))
        await stage.shows("request 3 took")
        await pilot.press("slash", *"ERROR request 12", "enter")
        await stage.shows("n next")
        await stage.shows("request 128")

    assert snap_compare(app, terminal_size=(100, 30), run_before=search)
