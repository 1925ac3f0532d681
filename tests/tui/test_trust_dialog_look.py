"""How the question of trust looks, as a picture that is reviewed like code."""

from __future__ import annotations

from pathlib import Path

from quorum.application.ports.people import Approver, Observer
from quorum.domain.sessions.trust import TrustItem, TrustQuestion
from quorum.tui.app.app import QuorumApp
from quorum.tui.screens.trust_dialog import TrustDialog
from tests.support.app_stage import Clock, Stage
from tests.support.fake_agent import FakeAgent
from tests.support.no_folder import NO_HOME

QUESTION = TrustQuestion(
    folder=f"{NO_HOME}/src/app",
    items=(
        TrustItem(
            file=f"{NO_HOME}/src/app/quorum.toml",
            digest="7f3a" + "0" * 57 + "c21",
            wants=(
                'models.decision = "local/qwen3:32b"',
                'providers.local.type = "openai-chat"',
                'providers.local.base_url = "http://localhost:11434/v1"',
                'review.mode = "accept-edits"',
                'permissions.allow = ["run_command(read-only)", "run_command(make *)", "write_file(src/**)"]',
                'hooks[0].event = ["before_tool_call", "on_turn_end"]',
                'hooks[0].command = ["./tools/check.sh", "\\u202e--quiet"]',
                "hooks[0].timeout_secs = 5.0",
                'tools.custom.release.command = ["make", "release"]',
                'tools.custom.release.risk = "low"',
            ),
            changed=True,
        ),
    ),
)


async def _asking(person: Approver, observer: Observer, *_: object) -> FakeAgent:
    await person.ask(QUESTION)
    return FakeAgent(person, observer)


def test_the_question_of_trust_looks_as_it_should_at_80_by_24(snap_compare, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", NO_HOME)
    monkeypatch.delenv("NO_COLOR", raising=False)
    app = QuorumApp(_asking, cwd=Path(f"{NO_HOME}/src/app"), clock=Clock())

    async def ask(pilot) -> None:
        stage = Stage(app, pilot, [])
        await stage.until(lambda: isinstance(app.screen, TrustDialog) and app.screen.is_awake)
        assert isinstance(app.screen, TrustDialog)
        app.screen.show_awake()

    assert snap_compare(app, terminal_size=(80, 24), run_before=ask)
