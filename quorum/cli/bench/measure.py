"""`quorum bench review`: what the layers of review and the reviewers of the settings do with labelled calls."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from quorum.application.review.approvers import NonInteractiveApprover
from quorum.application.review.ballot_paper import QuorumPolicy
from quorum.application.review.voting import (
    BallotQuestion,
    PolledBallot,
    PollEnd,
    ReviewerPoll,
    fingerprint_reviewer,
    make_questions,
)
from quorum.cli.bench import BenchOptions
from quorum.cli.bench.report import (
    describe_ballots,
    describe_layers,
    draw_svg,
    draw_text_chart,
    report_ballots,
    report_layers,
)
from quorum.domain.benchmark.labelled_call import CallGroup, LabelledCall, RecordedBallot
from quorum.domain.benchmark.panel_measure import BallotMeasure, measure_ballots
from quorum.domain.benchmark.reviewer_measure import calibrate_reviewer, group_by_model
from quorum.domain.replacing import replace
from quorum.domain.review.calibration import ReviewerCalibration
from quorum.domain.text.json_value import JsonValue
from quorum.errors import UsageError, complain, show_progress
from quorum.headless.printer import Unobserved
from quorum.infrastructure.benchmark.calibration_file import check_target, write_calibration
from quorum.infrastructure.benchmark.labelled_data import (
    SMALL_SET,
    BallotFile,
    read_ballots,
    read_labelled_calls,
)
from quorum.infrastructure.benchmark.model_free_layers import judge_calls
from quorum.infrastructure.bootstrap import build_unused
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.container import Container
from quorum.settings import load
from quorum.starting import explain_start_failures

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


UNREACHED = 4
"""The exit code where a reviewer could not be reached."""
CAP_REACHED = 5
"""The exit code where a spend cap was reached."""
INTERRUPTED = 130
_CAP = "agent.max_cost_usd"


def ask_reviewers(options: BenchOptions, root: Path) -> int:
    """Ask for the ballots that the results file lacks, then measure all that it has; the exit code.

    Raises ConfigError, ProviderError and UsageError where no reviewer can be asked.
    """
    assert options.results is not None
    path = root / options.results
    calls = read_labelled_calls(root / options.data if options.data else SMALL_SET)
    # Reviewers are measured as they are: a calibration that cannot be read must not be in the way of a new one.
    options = replace(options, overrides={**options.overrides, "quorum.calibration": ""})
    with explain_start_failures():
        loaded = load(options, root)
    complain(loaded.warnings)
    if not loaded.settings.models.review:
        raise UsageError("there are no reviewers to ask: name them in [models] review, or with -m review=MODEL")
    if options.write_calibration is not None:
        check_target(root / options.write_calibration)
    with BallotFile(path) as file:
        loaded = _reduce_cap(options, root, loaded, file.sum_costs())
        container = build_unused(loaded, root, approver=NonInteractiveApprover(), observer=Unobserved())
        questions = make_questions(calls, container.parts().reviews.quorum_policy)
        left = file.select_open(questions)
        kept: list[PolledBallot] = []
        try:
            end = asyncio.run(_ask(container, left, file, kept, options.concurrency, len(questions)))
        except KeyboardInterrupt:
            show_progress("")
            _report_rest(path, len(left) - len(kept), len(questions))
            return INTERRUPTED
    show_progress("")
    _report_end(end)
    if len(kept) < len(left):
        _report_rest(path, len(left) - len(kept), len(questions))
    code = 0
    if kept or len(left) < len(questions):
        code = measure_review(replace(options, data=options.data or SMALL_SET, ballots=options.results), root)
    if options.write_calibration is not None:
        _write_calibration(
            root / options.write_calibration, path, calls, container.parts().reviews.quorum_policy
        )
    return CAP_REACHED if end.cap_reached else UNREACHED if end.unreached else code


def _write_calibration(
    target: Path, results: Path, calls: Sequence[LabelledCall], policy: QuorumPolicy
) -> None:
    """Write what was measured of the reviewers that answered about all calls, and name the others."""
    groups = {call.id: call.group for call in calls}
    by_model = group_by_model(read_ballots(results, {}) if results.stat().st_size else ())
    found: dict[str, ReviewerCalibration] = {}
    for reviewer in policy.reviewers:
        ballots = by_model.get(reviewer, ())
        measured = None
        if len(ballots) == len(calls):
            measured = calibrate_reviewer(ballots, groups, fingerprint_reviewer(policy, reviewer))
        if measured is None:
            complain(
                [
                    f"{reviewer} is not in the calibration: that takes ballots about all calls, unsafe and "
                    "safe ones, and at most a fifth of errors"
                ]
            )
        else:
            found[reviewer] = measured
    if not found:
        raise UsageError(f"{target} is not written: no reviewer can be calibrated")
    write_calibration(target, found)


def _reduce_cap(options: BenchOptions, root: Path, loaded: LoadedSettings, spent: float) -> LoadedSettings:
    """The settings with what is left of the cap: it holds for all ballots in the file."""
    cap = loaded.settings.agent.max_cost_usd
    if not cap or not spent:
        return loaded
    if spent >= cap:
        raise UsageError(
            f"the ballots in the results file cost ${spent:.2f}, and the cap is ${cap:.2f}; "
            "raise it with --max-cost-usd"
        )
    return load(replace(options, overrides={**options.overrides, _CAP: cap - spent}), root)


async def _ask(
    container: Container,
    left: Sequence[BallotQuestion],
    file: BallotFile,
    kept: list[PolledBallot],
    concurrency: int,
    whole: int,
) -> PollEnd:
    def keep(polled: PolledBallot) -> None:
        file.append(polled)
        kept.append(polled)
        show_progress(f"ballot {whole - len(left) + len(kept):,} of {whole:,}")

    if sys.stderr.isatty() and left:
        show_progress(f"asking for {len(left):,} of {whole:,} ballots")
    poll = ReviewerPoll(
        gateway=container.parts().reviews.review_gateway,
        policy=container.parts().reviews.quorum_policy,
        prices=container.parts().shared.prices,
        keep=keep,
    )
    try:
        return await poll.ask(left, concurrency=concurrency)
    finally:
        await container.gateway().aclose()


def _report_end(end: PollEnd) -> None:
    complain(f"{reviewer} is not asked any more: {why}" for reviewer, why in end.unreached.items())
    if end.cap_reached:
        complain([end.cap_reached])


def _report_rest(path: Path, missing: int, whole: int) -> None:
    complain(
        [
            f"{whole - missing:,} of {whole:,} ballots are in {path}; "
            "the same command asks for the rest and for nothing twice"
        ]
    )
