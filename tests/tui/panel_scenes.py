"""Events of batches, plans and hooks for the tests of the side panel, and the app that hears them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from quorum.application.view.session_view import SessionView
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.hook_points import HookPoint
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events import event as ev
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.text.json_value import JsonObject
from quorum.tui.app.app import QuorumApp
from quorum.tui.transcript.layout.transcript_layout import TranscriptLayout
from tests.support.app_stage import Stage
from tests.support.fake_agent import composing
from tests.tui.transcript_scenes import Clock, asked, completed, context, finished, planned, started

READ: JsonObject = {"path": "tests/test_retry.py"}
GREP: JsonObject = {"pattern": "sleep(", "path": "src/"}
EDIT: JsonObject = {"path": "src/retry.py", "old_text": "time.sleep", "new_text": "await asyncio.sleep"}
RUN: JsonObject = {"command": "python -m pytest -q tests/test_retry.py"}
SKIPPED = "skipped by a hook: curl is not wanted here. It was not run."


def hook(
    answer: str,
    index: int | None = None,
    *,
    name: str = "masker",
    point: HookPoint = HookPoint.BEFORE_TOOL_CALL,
    reason: str | None = None,
    edited: JsonObject | None = None,
) -> ev.HookRan:
    at = None if index is None else context(index)
    return ev.HookRan(point=point, hook=name, answer=answer, reason=reason, context=at, edited=edited)


def progressed(text: str, index: int = 0) -> ev.CallProgressed:
    return ev.CallProgressed(context=context(index), text=text)


def stored(
    index: int = 0, *, blob: str = "blob-1", size: int = 1_234_567, batch: str = "b1"
) -> ev.OutputStored:
    return ev.OutputStored(
        context=context(index, batch), blob_id=blob, size_bytes=size, summary=f"[blob:{blob}] text"
    )


def plan(*steps: tuple[str, str]) -> ev.StateMerged:
    return ev.StateMerged(
        batch_id="b0", changed={"plan": [{"text": text, "status": status} for text, status in steps]}
    )


MIDWAY: tuple[ev.Event | float, ...] = (
    ev.TurnStarted(prompt="the retry test is flaky, please fix it"),
    plan(
        ("read the test and the code it covers", "done"),
        ("make the delay of the backoff never negative, whatever the jitter says", "in_progress"),
        ("run the tests", "pending"),
    ),
    completed("I'll read the test and the code it covers, then fix what makes it flaky.", calls=True),
    hook("continue", 0, name="audit"),
    hook("continue", 1, name="audit"),
    hook("skip", 4, name="blocker", reason="curl is not wanted here"),
    planned(
        ("read_file", READ, RiskLevel.LOW, ()),
        ("grep_search", GREP, RiskLevel.LOW, ()),
        ("edit_file", EDIT, RiskLevel.HIGH, (0, 1)),
        ("run_command", RUN, RiskLevel.HIGH, (0, 1, 2)),
        ("run_command", {"command": "curl https://example.org"}, RiskLevel.HIGH, ()),
        ("index_sources", {"path": "src/"}, RiskLevel.LOW, ()),
    ),
    finished("run_command", SKIPPED, 4, outcome=Outcome.SKIPPED),
    ev.CallQueued(context=context(2), waiting_for=(0, 1)),
    ev.CallQueued(context=context(3), waiting_for=(0, 1, 2)),
    started("read_file", READ),
    started("grep_search", GREP, 1),
    started("index_sources", {"path": "src/"}, 5),
    0.12,
    finished("read_file", "line\n" * 140, secs=0.12),
    progressed("1,200 of 4,000 files\n", 5),
    0.15,
    finished("grep_search", "src/retry.py:42: time.sleep(delay)\n" * 7, 1, secs=0.27),
    asked("edit_file", EDIT, 2),
    progressed("2,400 of 4,000 files\n", 5),
    0.5,
)

HOOKED: tuple[ev.Event | float, ...] = (
    ev.TurnStarted(prompt="print the settings and fetch the page"),
    hook("continue", None, name="stamp", point=HookPoint.ON_MESSAGE_SEND, edited={"messages": 3}),
    completed("Three commands.", calls=True),
    hook("continue", 0, name="audit"),
    hook("skip", 1, name="blocker", reason="curl is not wanted here"),
    hook("continue", 2, name="audit"),
    planned(
        ("run_command", {"command": "env"}, RiskLevel.HIGH, ()),
        ("run_command", {"command": "curl https://example.org"}, RiskLevel.HIGH, ()),
        ("run_command", {"command": "cat access.log"}, RiskLevel.HIGH, ()),
    ),
    finished("run_command", SKIPPED, 1, outcome=Outcome.SKIPPED),
    started("run_command", {"command": "env"}),
    0.2,
    finished("run_command", "HOME=/home/me\nTOKEN=***\n", secs=0.2, decision=DecisionLabel.APPROVED),
    started("run_command", {"command": "cat access.log"}, 2),
    0.4,
    finished("run_command", "GET /index.html 200\n" * 14_000, 2, secs=0.4, decision=DecisionLabel.APPROVED),
    hook("continue", 0, point=HookPoint.AFTER_TOOL_CALL, edited={"output": "HOME=/home/me\nTOKEN=***\n"}),
    hook("error", 2, name="audit", point=HookPoint.AFTER_TOOL_CALL, reason="took longer than 30 s"),
    stored(2, size=280_000),
    completed("Done; the token is masked."),
    hook("abort", None, name="limiter", point=HookPoint.ON_TURN_END, reason="the day's quota is used up"),
)


def app_with_clock(cwd: Path, clock: Clock) -> QuorumApp:
    """The app with a session whose transcript and panel go by this clock."""
    app = QuorumApp(composing([]), cwd=cwd, clock=lambda: 0.0)
    app.chat.transcript._page = TranscriptLayout(SessionView(clock))
    return app


def play(stage: Stage, clock: Clock, script: Sequence[ev.Event | float]) -> None:
    """Let the app hear events; numbers move the clock by so many seconds."""
    for step in script:
        if isinstance(step, float):
            clock.now += step
        else:
            stage.app.chat.handle_events([step])
