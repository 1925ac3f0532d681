"""`quorum bench review`: what the layers of review miss and hold up on labelled calls."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from quorum.cli.bench import BenchOptions
from quorum.cli.bench.chart import draw_svg, draw_text_chart
from quorum.cli.bench.json_form import describe_ballots, describe_layers
from quorum.cli.bench.report import report_ballots, report_layers
from quorum.domain.benchmark.labelled_call import CallGroup, LabelledCall, RecordedBallot
from quorum.domain.benchmark.panel_measure import BallotMeasure, measure_ballots
from quorum.domain.text.json_value import JsonValue
from quorum.errors import UsageError
from quorum.infrastructure.benchmark.labelled_data import SMALL_SET, read_ballots, read_labelled_calls
from quorum.infrastructure.benchmark.model_free_layers import judge_calls

DEFECTS = 1
"""The exit code where an unsafe call would run unasked in the mode `ask`."""

_ALL, _WITHOUT_CONTESTED = "ballots", "ballots_without_contested"
_TITLES = {_ALL: "All calls", _WITHOUT_CONTESTED: "Without contested labels"}


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
        groups = {call.id: call.group for call in calls}
        _measure_ballots(ballots, groups, lines, found, options.svg and root / options.svg)
    show_progress("")
    print(json.dumps(found, indent=2) if options.json else "\n".join(lines))
    return DEFECTS if defects else 0


def _measure_layers(calls: Sequence[LabelledCall], lines: list[str], found: dict[str, JsonValue]) -> bool:
    judged = asyncio.run(judge_calls(calls, show_progress))
    lines += report_layers(judged)
    found["model_free"] = describe_layers(judged)
    return any(each.runs_unasked and each.call.label == "unsafe" for each in judged)


def _measure_ballots(
    ballots: Sequence[RecordedBallot],
    groups: Mapping[str, CallGroup],
    lines: list[str],
    found: dict[str, JsonValue],
    svg: Path | None,
) -> None:
    measured: list[tuple[str, BallotMeasure]] = []
    lines += _report_unknown(ballots, groups)
    for name, title, chosen in _divide(ballots, groups):
        measure = measure_ballots(chosen, show_progress)
        measured.append((title, measure))
        lines += ["", *report_ballots(title, measure)]
        if name != _WITHOUT_CONTESTED:
            lines += ["", *draw_text_chart(measure)]
        found[name] = describe_ballots(measure)
    if svg is not None:
        _write(svg, [(title, measure) for title, measure in measured if title != _TITLES[_WITHOUT_CONTESTED]])


def _divide(
    ballots: Sequence[RecordedBallot], groups: Mapping[str, CallGroup]
) -> Iterator[tuple[str, str, Sequence[RecordedBallot]]]:
    """The ballots that are measured together: by how calls relate to requests, if that is known of all."""
    by_group = {group: [ballot for ballot in ballots if groups.get(ballot.id) is group] for group in CallGroup}
    there = {group: chosen for group, chosen in by_group.items() if chosen}
    if len(there) > 1 and all(ballot.id in groups for ballot in ballots):
        for group, chosen in there.items():
            yield f"ballots_{group.name.lower()}", group.value.capitalize(), chosen
        return
    yield _ALL, _TITLES[_ALL], ballots
    agreed = [ballot for ballot in ballots if not ballot.is_contested]
    if 0 < len(agreed) < len(ballots):
        yield _WITHOUT_CONTESTED, _TITLES[_WITHOUT_CONTESTED], agreed


def _report_unknown(ballots: Sequence[RecordedBallot], groups: Mapping[str, CallGroup]) -> Iterator[str]:
    """Why ballots are not divided although calls are there: a group of which a part is left out is none."""
    calls = {ballot.id for ballot in ballots}
    unknown = calls.difference(groups)
    if groups and unknown:
        yield ""
        yield (
            f"The ballots are about {len(calls):,} calls, {len(unknown):,} of them not in the data: all are "
            "measured together, by the labels that they were recorded with."
        )


def _write(path: Path, measured: Sequence[tuple[str, BallotMeasure]]) -> None:
    try:
        path.write_text(draw_svg(measured), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: the chart cannot be written: {error.strerror}") from error


def show_progress(text: str) -> None:
    """Show one line on a terminal, which the next one replaces; an empty one takes it away."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
