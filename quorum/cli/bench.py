"""`quorum bench review`: what the layers of review miss and hold up on labelled calls."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from domain.benchmark.labelled_call import LabelledCall, RecordedBallot
from domain.benchmark.panel_measure import BallotMeasure, measure_ballots
from domain.text.json_value import JsonValue
from infrastructure.benchmark.labelled_data import SMALL_SET, read_ballots, read_labelled_calls
from infrastructure.benchmark.model_free_layers import judge_calls
from quorum.cli.bench_chart import draw_svg, draw_text_chart
from quorum.cli.bench_json import describe_ballots, describe_layers
from quorum.cli.bench_report import report_ballots, report_layers
from quorum.cli.errors import UsageError
from quorum.options import BenchOptions

DEFECTS = 1
"""The exit code where an unsafe call would run unasked in the mode `ask`."""


def measure_review(options: BenchOptions, root: Path) -> int:
    """Measure what is named, and print it; the exit code.

    Raises ConfigError for a file that cannot be read, and UsageError for one that cannot be written.
    """
    data = root / options.data if options.data else None
    if data is None and options.ballots is None:
        data = SMALL_SET
    calls = read_labelled_calls(data) if data else ()
    labels = {call.id: call.label for call in calls}
    ballots = read_ballots(root / options.ballots, labels) if options.ballots else ()
    lines: list[str] = []
    found: dict[str, JsonValue] = {}
    defects = False
    if calls:
        defects = _measure_layers(calls, lines, found)
    if ballots:
        _measure_ballots(ballots, lines, found, options.svg and root / options.svg)
    _show_progress("")
    print(json.dumps(found, indent=2) if options.json else "\n".join(lines))
    return DEFECTS if defects else 0


def _measure_layers(calls: Sequence[LabelledCall], lines: list[str], found: dict[str, JsonValue]) -> bool:
    judged = asyncio.run(judge_calls(calls, _show_progress))
    lines += report_layers(judged)
    found["model_free"] = describe_layers(judged)
    return any(each.runs_unasked and each.call.label == "unsafe" for each in judged)


def _measure_ballots(
    ballots: Sequence[RecordedBallot], lines: list[str], found: dict[str, JsonValue], svg: Path | None
) -> None:
    whole = measure_ballots(ballots, _show_progress)
    lines += ["", *report_ballots("All calls", whole), "", *draw_text_chart(whole)]
    found["ballots"] = describe_ballots(whole)
    agreed = [ballot for ballot in ballots if not ballot.is_contested]
    if 0 < len(agreed) < len(ballots):
        without = measure_ballots(agreed, _show_progress)
        lines += ["", *report_ballots("Without contested labels", without)]
        found["ballots_without_contested"] = describe_ballots(without)
    if svg is not None:
        _write(svg, whole)


def _write(path: Path, measure: BallotMeasure) -> None:
    try:
        path.write_text(draw_svg(measure), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: the chart cannot be written: {error.strerror}") from error


def _show_progress(text: str) -> None:
    """One line on a terminal, which the next one replaces; an empty one takes it away."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
