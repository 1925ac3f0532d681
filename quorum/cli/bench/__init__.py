"""`quorum bench`: the review of calls, measured on labelled ones."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from quorum.command_line.command import CliCommand, CommandGroup, argument, flag
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import PLACES
from quorum.command_line.values import parse_count, parse_dollars

_USUAL_CONCURRENCY = 4
_CAP = "agent.max_cost_usd"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions(StartOptions):
    """What `quorum bench review` measures: labelled calls, ballots, or both; by default a small set.

    `results` is the file for the ballots of reviewers that are asked, `concurrency` how many requests are sent
    at once. None: nobody is asked. `write_calibration` is the file to write what was measured of them into.
    """

    data: Path | None = None
    ballots: Path | None = None
    results: Path | None = None
    concurrency: int = _USUAL_CONCURRENCY
    write_calibration: Path | None = None
    svg: Path | None = None
    json: bool = False

    def find_conflict(self) -> str:
        """Which options do not go together, in a sentence; empty where all do."""
        if self.svg is not None and self.ballots is None and self.results is None:
            return "--svg draws what ballots show; name them with --ballots or --results"
        if self.results is not None and self.ballots is not None:
            return "--results asks for ballots, and --ballots has them; name one of the two"
        if self.results is None and (_CAP in self.overrides or self.models):
            return "--max-cost-usd and --model go with --results: nobody is asked without it"
        if self.results is None and self.write_calibration is not None:
            return "--write-calibration goes with --results: it takes ballots that were asked for here"
        files = (self.data, self.ballots, self.results, self.write_calibration, self.svg)
        folder = self.workdir or Path()
        named = [os.path.abspath(folder / file) for file in files if file is not None]
        if len(set(named)) < len(named):
            return "two options name the same file, and one of them would write over it"
        if any(not each.startswith("review=") for each in self.models):
            return "--model names reviewers here, as review=PROVIDER/MODEL"
        return ""


def _measure_review(options: BenchOptions, root: Path) -> int:
    if options.results is not None:
        from quorum.cli.bench.measure import ask_reviewers

        return ask_reviewers(options, root)
    from quorum.cli.bench.measure import measure_review

    return measure_review(options, root)


COMMAND = CommandGroup(
    {
        "review": CliCommand(
            BenchOptions,
            _measure_review,
            is_long_lived=True,
            summary="Measure guards, the shell gate and reviewers on labelled calls.",
            details="Nothing of the calls is run, and no model is asked but with --results. The exit code is 1 "
            "where an unsafe call would run unasked in the mode ask, 4 where a reviewer cannot be reached, and "
            "5 where a spend cap is reached. See docs/how-good-is-the-quorum.md.",
            arguments=(
                argument(
                    "--data",
                    metavar="FILE",
                    type=Path,
                    help="labelled calls, one JSON object per line, or a checkout of AmPermBench (default: the "
                    "small set that comes with quorum)",
                ),
                argument(
                    "--ballots",
                    metavar="FILE",
                    type=Path,
                    help="recorded ballots of reviewers, one JSON object per line",
                ),
                argument(
                    "--results",
                    metavar="FILE",
                    type=Path,
                    help="ask the reviewers of [models] review about the labelled calls, and write each ballot "
                    "into this file; ballots that it has are not asked for again",
                ),
                argument(
                    "--write-calibration",
                    metavar="FILE",
                    type=Path,
                    help="with --results: write what was measured of the reviewers into this file, for "
                    "quorum.calibration",
                ),
                argument(
                    "--concurrency",
                    metavar="N",
                    type=parse_count,
                    help=f"with --results: so many requests at once (default: {_USUAL_CONCURRENCY})",
                ),
                argument(
                    "--max-cost-usd",
                    dest=_CAP,
                    metavar="USD",
                    type=parse_dollars,
                    help="with --results: the most that the ballots in the file may cost, in US dollars",
                ),
                argument(
                    "-m",
                    "--model",
                    dest="models",
                    metavar="review=MODEL",
                    action="append",
                    help="with --results: a reviewer, as often as there are, in place of those of the settings",
                ),
                argument(
                    "--svg", metavar="FILE", type=Path, help="also draw misses against friction into a file"
                ),
                flag("--json", help="print one JSON object"),
                *PLACES,
            ),
            examples=(
                ("quorum bench review", "the layers that need no model, on a small set"),
                ("quorum bench review --data calls.jsonl", "the same on your own calls"),
                ("quorum bench review --ballots votes.jsonl --svg chart.svg", "recorded reviewers"),
                (
                    "quorum bench review --data calls.jsonl --results votes.jsonl --max-cost-usd 5",
                    "ask your own reviewers; the same again asks for what is missing",
                ),
            ),
        )
    },
    example=("quorum bench review", "what the layers without models miss"),
)
