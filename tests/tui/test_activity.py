"""What the screen says of the time that passes: thoughts, waiting for the model, the tool that runs."""

from __future__ import annotations

import pytest

from quorum.application.view.session_view import SessionView
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.history import UserMessage
from quorum.domain.events import event as ev
from quorum.tui.transcript.layout.transcript_layout import TranscriptLayout
from tests.support.app_stage import on_stage
from tests.tui.transcript_scenes import Clock, TranscriptApp, completed, finished, planned, started


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def test_thoughts_fold_to_how_long_they_took_and_their_first_line():
    app = TranscriptApp()
    async with app.run_test(size=(80, 12)):
        clock = Clock()
        app.view._page = TranscriptLayout(SessionView(clock))
        app.show([ev.ReasoningDelta(text="The test sleeps\nfor real.")])
        clock.now += 4.6
        app.show([ev.ReasoningDelta(text=" I look.")])
        assert any("thinking: for real. I look." in line for line in app.lines())
        app.show([completed("done")])
        assert any("▸ thought 4 s · The test sleeps" in line for line in app.lines())


def test_the_model_is_waited_for_until_something_of_its_answer_arrives():
    clock = Clock()
    view = SessionView(clock)
    view.apply(ev.TurnStarted(prompt="go"))
    assert view.timings.waiting_since is None
    view.apply(ev.MessageAdded(message=UserMessage("go")))
    assert view.timings.waiting_since == clock.now
    clock.now += 3
    view.apply(ev.TextDelta(text="a"))
    assert view.timings.waiting_since is None


async def test_the_status_bar_names_what_is_waited_for_and_what_runs(tmp_path):
    arguments = {"command": "cd sub && uv run pytest -q"}
    call = ("run_command", arguments, RiskLevel.HIGH, ())

    async with on_stage(tmp_path, size=(100, 30)) as stage:
        view = stage.app.chat.transcript.session_view
        status = stage.app.chat.status
        for event in (ev.TurnStarted(prompt="go"), ev.MessageAdded(message=UserMessage("go"))):
            view.apply(event)
        stage.app.chat.turns.does = "working"
        assert status._describe_activity()[0] == "waiting for the model"
        for event in (completed("x", calls=True), planned(call), started("run_command", arguments)):
            view.apply(event)
        assert status._describe_activity()[0] == "running pytest"
        view.apply(finished("run_command", "x"))
        assert status._describe_activity()[0] == "working"


async def test_leaving_says_what_the_session_used_and_changed(tmp_path):
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1,2 @@\n-a\n+b\n+c\n"
    edit = ("edit_file", {"path": "x.py"}, RiskLevel.HIGH, ())
    async with on_stage(tmp_path) as stage:
        stage.app.chat.handle_events(
            [
                ev.TurnStarted(prompt="go"),
                planned(edit),
                started("edit_file", {}, diff=diff),
                finished("edit_file", "ok"),
            ]
        )
        account, resume = stage.app.parting_words
        assert account.startswith("1 file changed +2 −1 · ")
        assert resume == "resume with: quorum --resume session-1"
