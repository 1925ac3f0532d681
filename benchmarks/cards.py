"""What cards and the timeline cost. Run `python benchmarks/cards.py`.

Prints CPU milliseconds for drawing one card of each kind whose output has 200 kB, folded and open: the first
time, and again after something changed (the median of five). Then those of the timeline of a session with
10,000 calls: taking it in, reckoning its totals, drawing a screen of its rows.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from quorum.application.view.entries import Batch, Call, Kept, Phase
from quorum.application.view.session_view import SessionView
from quorum.application.view.turn_timings import Totals, sum_totals
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events import event as ev
from quorum.domain.events.calls import PlannedLane
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.text.json_value import JsonObject
from quorum.tui.screens.timeline.chart import Axis, Columns, draw_row, list_rows
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.draw.cards import draw_batch

_SIZE = 200_000
_WIDTH = 110
_LINE = "word and another one of them, and then some more of it until here\n"
_COLOURED = "\x1b[32mPASS\x1b[0m tests/test_one.py \x1b[2m0.1s\x1b[0m and \x1b[1;31mmore\x1b[0m\n"
_BAR = "50 %\r" * 20 + "done\n"


def _times(line: str) -> str:
    return line * (_SIZE // len(line))


def _lines(count: int, line: Callable[[int], str]) -> str:
    return "\n".join(map(line, range(count)))


_DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,2000 +1,2000 @@\n" + _lines(
    2_000, lambda n: f"-    value = compute({n}, 'a')\n+    value = compute({n}, 'b')"
)
CASES: dict[str, tuple[str, JsonObject, str]] = {
    "text": ("other", {}, _times(_LINE)),
    "command": ("run_command", {"command": "make"}, _times(_LINE) + "exit code 0"),
    "command, colours": ("run_command", {"command": "make"}, _times(_COLOURED) + "exit code 0"),
    "command, progress bars": ("run_command", {"command": "make"}, _times(_BAR) + "exit code 0"),
    "command, one line": ("run_command", {"command": "make"}, "y" * _SIZE),
    "command, CJK": ("run_command", {"command": "make"}, _times("待機" * 30 + "\n")),
    "file": (
        "read_file",
        {"path": "a.py"},
        _lines(2_000, lambda n: f"{n}\t    return compute({n}, 'abc')  # x"),
    ),
    "matches": (
        "grep_search",
        {"pattern": "comp", "path": "."},
        _lines(1_000, lambda n: f"src/f{n // 9}.py:{n}:    return compute({n}, 'abc')")
        + "\n[1000 matches in 20 of 30 files]",
    ),
    "tree": ("glob_search", {"pattern": "x"}, _lines(8_000, lambda n: f"src/a{n // 50}/b{n // 9}/f{n}.py")),
    "JSON": ("other", {}, json.dumps([{"id": n, "name": "n" * 20, "tags": [1, 2, 3]} for n in range(3_000)])),
    "damaged JSON": ("other", {}, "[" * _SIZE),
    "diff": ("edit_file", {"path": "x.py"}, "edited x.py"),
}


def cost_of_card(name: str, *, expanded: bool) -> tuple[float, float, int]:
    """Milliseconds for the first drawing and for another one, and how many lines it has."""
    tool, arguments, output = CASES[name]
    call = Call(
        index=0,
        tool=tool,
        arguments=arguments,
        risk=RiskLevel.HIGH,
        phase=Phase.FINISHED,
        outcome=Outcome.OK,
        output=Kept.of(output),
        diff=_DIFF if name == "diff" else None,
        expanded=expanded,
    )
    batch = Batch("b", [call])
    costs = [_cost(lambda: draw_batch(batch, _WIDTH, TERMINAL, 0.0)) for _ in range(6)]
    return costs[0], sorted(costs[1:])[2], len(draw_batch(batch, _WIDTH, TERMINAL, 0.0).strips)


def _cost(act: Callable[[], object]) -> float:
    begun = time.process_time()
    act()
    return (time.process_time() - begun) * 1000


def long_session(turns: int, calls: int) -> SessionView:
    """A session of so many turns with so many calls each."""
    view = SessionView()
    report = RunReport(session_id="s", status=RunStatus.COMPLETED, stop_reason=None, text="", turns=1)
    for turn in range(turns):
        contexts = [
            ToolExecutionContext(call_id=f"{turn}-{n}", batch_id=str(turn), call_index=n, turn_index=0)
            for n in range(calls)
        ]
        lanes = tuple(
            PlannedLane(
                context=each, tool="read_file", arguments={"path": "a.py"}, risk=RiskLevel.LOW, follows=()
            )
            for each in contexts
        )
        view.apply(ev.TurnStarted(prompt=f"prompt {turn}"))
        view.apply(ev.BatchPlanned(batch_id=str(turn), lanes=lanes))
        for each in contexts:
            view.apply(ev.CallStarted(context=each, tool="read_file", arguments={"path": "a.py"}))
            view.apply(
                ev.CallFinished(
                    context=each,
                    tool="read_file",
                    outcome=Outcome.OK,
                    decision=DecisionLabel.ALLOWED,
                    output="x",
                    duration_secs=0.001,
                )
            )
        view.apply(ev.TurnFinished(report=report))
    return view


def main() -> None:
    """Print everything."""
    print(
        f"{'one of 200 kB':24} {'folded: first':>14} {'again':>7} {'open: first':>14} {'again':>7} {'lines':>6}"
    )
    for name in CASES:
        first, again, _ = cost_of_card(name, expanded=False)
        first_open, again_open, lines = cost_of_card(name, expanded=True)
        print(f"{name:24} {first:14.1f} {again:7.1f} {first_open:14.1f} {again_open:7.1f} {lines:6}")
    box: list[SessionView] = []
    built = _cost(lambda: box.append(long_session(1_000, 10)))
    timings, now = box[0].timings, time.monotonic()
    rows = list_rows(timings)
    print(f"\ntimeline of 10,000 calls, {len(rows):,} rows (the events alone took {built:.0f} ms)")
    print(f"rows      {_cost(lambda: list_rows(timings)):8.1f} ms")
    print(
        f"totals    {_cost(lambda: sum((sum_totals(turn, now) for turn in timings.turns), Totals())):8.1f} ms"
    )
    drawn = _cost(lambda: [draw_row(row, Columns.of(120), Axis(), TERMINAL, now) for row in rows[-40:]])
    print(f"40 rows   {drawn:8.1f} ms")


if __name__ == "__main__":
    main()
