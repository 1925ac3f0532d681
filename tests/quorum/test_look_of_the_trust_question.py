"""What a project brings along is asked about in the look that the person has set."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.cli.app import AppOptions
from quorum.cli.app.full_screen import _make_app, _Sessions
from quorum.command_line.options import StartOptions
from quorum.infrastructure.trust_decisions import open_trust_decisions
from quorum.settings import load_with_trust
from quorum.tui.screens.trust_dialog import TrustDialog
from tests.support.fake_ports import FakePerson
from tests.support.headless_run import configure, environment

SETTINGS = """
[models]
decision = "offline/offline"
[tui]
theme = "quorum-light"
screen_reader = true
"""


@pytest.mark.long
async def test_the_question_whether_to_trust_has_the_theme_and_the_reader_mode_of_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    configure(
        tmp_path,
        '[models]\ndecision = "offline/offline"\n[tui]\ntheme = "quorum-light"\nscreen_reader = true\n',
    )
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("Write short lines.")
    options = AppOptions()
    app, _ = _make_app(options, folder, _Sessions(options, folder), None)
    seen: list[tuple[str, bool]] = []

    async with app.run_test() as pilot:
        while not seen:
            if isinstance(app.screen, TrustDialog) and app.screen.is_mounted:
                seen.append((app.theme, app.screen_reader))
            await pilot.pause()
        app.exit()

    assert seen == [("quorum-light", True)]


async def test_what_holds_until_the_answer_is_told_before_the_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    configure(tmp_path, '[tui]\ntheme = "quorum-light"\n')
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("Write short lines.")
    person, told = FakePerson(trusts=True), list[tuple[str, int]]()

    await load_with_trust(
        StartOptions(),
        folder,
        open_trust_decisions(environment(tmp_path)),
        person,
        lambda loaded: told.append((loaded.settings.tui.theme, len(person.trust_questions))),
    )

    assert told == [("quorum-light", 0)]
    assert len(person.trust_questions) == 1
