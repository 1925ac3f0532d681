"""Hand-made events for the tests of the transcript."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import App, ComposeResult

from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket, Seal
from quorum.domain.calls.tool import RiskLevel, ToolCall
from quorum.domain.conversation.response import TOOL_USE, LlmResponse, TextBlock
from quorum.domain.events import event as ev
from quorum.domain.events.calls import PlannedLane
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.text.json_value import JsonObject
from quorum.tui.transcript.layout.view import TranscriptView

DIFF = """--- a/src/retry.py
+++ b/src/retry.py
@@ -39,7 +39,7 @@
     def backoff(attempt: int) -> None:
         delay = base * 2**attempt
         delay += random.uniform(-jitter, jitter)
-        time.sleep(delay)
+        await asyncio.sleep(max(delay, 0.0))
         log.debug("attempt %d", attempt)
 
     return backoff
"""


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class TranscriptApp(App[None]):
    """Nothing but a transcript."""

    def compose(self) -> ComposeResult:
        yield TranscriptView()

    @property
    def view(self) -> TranscriptView:
        return self.query_one(TranscriptView)

    def show(self, events: Sequence[ev.Event]) -> None:
        for event in events:
            self.view.apply(event)
        self.view.flush()

    def lines(self) -> list[str]:
        return [self.view.render_line(y).text.rstrip() for y in range(self.view.size.height)]


def context(index: int = 0, batch: str = "b1") -> ToolExecutionContext:
    return ToolExecutionContext(call_id=f"{batch}-{index}", batch_id=batch, call_index=index, turn_index=0)


def planned(*calls: tuple[str, JsonObject, RiskLevel, tuple[int, ...]], batch: str = "b1") -> ev.BatchPlanned:
    lanes = tuple(
        PlannedLane(context=context(index, batch), tool=tool, arguments=args, risk=risk, follows=follows)
        for index, (tool, args, risk, follows) in enumerate(calls)
    )
    return ev.BatchPlanned(batch_id=batch, lanes=lanes)


def started(tool: str, args: JsonObject, index: int = 0, diff: str | None = None) -> ev.CallStarted:
    return ev.CallStarted(context=context(index), tool=tool, arguments=args, diff=diff)


def finished(
    tool: str,
    output: str,
    index: int = 0,
    *,
    outcome: Outcome = Outcome.OK,
    decision: DecisionLabel = DecisionLabel.ALLOWED,
    secs: float = 0.012,
    batch: str = "b1",
) -> ev.CallFinished:
    return ev.CallFinished(
        context=context(index, batch),
        tool=tool,
        outcome=outcome,
        decision=decision,
        output=output,
        duration_secs=secs,
    )


def asked(tool: str, args: JsonObject, index: int = 0, diff: str | None = None) -> ev.ReviewRequested:
    call = ToolCall(tool_name=tool, arguments=args, native_id=f"b1-{index}")
    packet = ReviewPacket(call=call, context=context(index), seal=Seal(cwd="/src/app", diff=diff))
    return ev.ReviewRequested(
        context=context(index),
        packet=packet,
        digest=packet.digest,
        reasons=("high risk, and the mode is ask",),
    )


def completed(text: str, *, calls: bool = False) -> ev.ResponseCompleted:
    response = LlmResponse.from_text(text)
    if calls:
        response = LlmResponse(content=(TextBlock(text),), stop_reason=TOOL_USE)
    return ev.ResponseCompleted(turn_index=0, response=response)


def turn_finished(status: RunStatus, *, stop_reason: str | None = None, error: str | None = None) -> ev.Event:
    report = RunReport(session_id="s", status=status, stop_reason=stop_reason, text="", turns=10, error=error)
    return ev.TurnFinished(report=report)


_READ: JsonObject = {"path": "tests/test_retry.py"}
_GREP: JsonObject = {"pattern": "sleep(", "path": "src/"}
_EDIT: JsonObject = {
    "path": "src/retry.py",
    "old_text": "        time.sleep(delay)\n",
    "new_text": "        await asyncio.sleep(max(delay, 0.0))\n",
}
_RUN: JsonObject = {"command": "python -m pytest -q tests/test_retry.py"}


def play(view: TranscriptView, clock: Clock, script: Sequence[ev.Event | float]) -> None:
    """Apply events; numbers move the clock by so many seconds."""
    for step in script:
        if isinstance(step, float):
            clock.now += step
        else:
            view.apply(step)


BATCH_RUNNING: tuple[ev.Event | float, ...] = (
    ev.TurnStarted(prompt="the retry test is flaky, please fix it"),
    ev.ReasoningDelta(text="The test sleeps for real.\nI should look at it first."),
    ev.TextDelta(text="I'll read the test and the code it covers, then fix what makes it flaky."),
    completed("I'll read the test and the code it covers, then fix what makes it flaky.", calls=True),
    planned(
        ("read_file", _READ, RiskLevel.LOW, ()),
        ("grep_search", _GREP, RiskLevel.LOW, ()),
        ("edit_file", _EDIT, RiskLevel.HIGH, (0, 1)),
        ("run_command", _RUN, RiskLevel.HIGH, (0, 1, 2)),
        ("grep_search", {"pattern": "def backoff", "path": "src/", "context_lines": 3}, RiskLevel.LOW, ()),
    ),
    ev.CallQueued(context=context(2), waiting_for=(0, 1)),
    ev.CallQueued(context=context(3), waiting_for=(0, 1, 2)),
    started("read_file", _READ),
    started("grep_search", _GREP, 1),
    started("grep_search", {"pattern": "def backoff", "path": "src/", "context_lines": 3}, 4),
    0.12,
    finished("read_file", "line\n" * 140, secs=0.12),
    0.15,
    finished("grep_search", "src/retry.py:42: time.sleep(delay)\n" * 7, 1, secs=0.27),
    asked("edit_file", _EDIT, 2, DIFF),
    0.5,
)

BATCH_FINISHED: tuple[ev.Event | float, ...] = (
    *BATCH_RUNNING,
    finished("grep_search", "src/retry.py:39: def backoff\n" * 4, 4, secs=0.77),
    ev.ReviewDecided(context=context(2), digest="", decision=DecisionLabel.APPROVED, reason=None),
    started("edit_file", _EDIT, 2, DIFF),
    0.05,
    finished("edit_file", "edited src/retry.py", 2, decision=DecisionLabel.APPROVED, secs=0.05),
    asked("run_command", _RUN, 3),
    0.2,
    ev.ReviewDecided(context=context(3), digest="", decision=DecisionLabel.APPROVED, reason=None),
    started("run_command", _RUN, 3),
    0.9,
    finished(
        "run_command",
        "....F...\n"
        + "detail\n" * 9
        + "FAILED tests/test_retry.py::test_jitter\n1 failed, 7 passed in 0.81s\n",
        3,
        decision=DecisionLabel.APPROVED,
        secs=0.9,
    ),
    completed("One test still fails: `test_jitter` expects a **negative** delay. I'd change the test next."),
)
