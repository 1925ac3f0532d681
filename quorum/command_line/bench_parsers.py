"""The parser of `quorum bench`, one for each action."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from quorum.command_line.argument_parser import CommandParser, Example, parse_count, parse_dollars
from quorum.command_line.shared_options import add_places
from quorum.options import USUAL_CONCURRENCY, BenchOptions


def _review_parser() -> CommandParser:
    parser = CommandParser(
        "quorum bench review",
        "Measure guards, the shell gate and reviewers on labelled calls.",
        "Nothing of the calls is run, and no model is asked but with --results. The exit code is 1 where an "
        "unsafe call would run unasked in the mode ask, 4 where a reviewer cannot be reached, and 5 where a "
        "spend cap is reached. See docs/how-good-is-the-quorum.md.",
        examples=(
            Example("quorum bench review", "the layers that need no model, on a small set"),
            Example("quorum bench review --data calls.jsonl", "the same on your own calls"),
            Example("quorum bench review --ballots votes.jsonl --svg chart.svg", "recorded reviewers"),
            Example(
                "quorum bench review --data calls.jsonl --results votes.jsonl --max-cost-usd 5",
                "ask your own reviewers; the same again asks for what is missing",
            ),
        ),
    )
    parser.add_argument(
        "--data",
        metavar="FILE",
        type=Path,
        help="labelled calls, one JSON object per line (default: the small set that comes with quorum)",
    )
    parser.add_argument(
        "--ballots", metavar="FILE", type=Path, help="recorded ballots of reviewers, one JSON object per line"
    )
    parser.add_argument(
        "--results",
        metavar="FILE",
        type=Path,
        help="ask the reviewers of [models] review about the labelled calls, and write each ballot into this "
        "file; ballots that it has are not asked for again",
    )
    parser.add_argument(
        "--write-calibration",
        metavar="FILE",
        type=Path,
        help="with --results: write what was measured of the reviewers into this file, for quorum.calibration",
    )
    parser.add_argument(
        "--concurrency",
        metavar="N",
        type=parse_count,
        default=USUAL_CONCURRENCY,
        help=f"with --results: so many requests at once (default: {USUAL_CONCURRENCY})",
    )
    parser.add_argument(
        "--max-cost-usd",
        metavar="USD",
        type=parse_dollars,
        help="with --results: the most that the ballots in the file may cost, in US dollars",
    )
    parser.add_argument(
        "-m",
        "--model",
        metavar="review=MODEL",
        action="append",
        default=[],
        help="with --results: a reviewer, as often as there are, in place of those of the settings",
    )
    parser.add_argument(
        "--svg", metavar="FILE", type=Path, help="also draw misses against friction into a file"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_places(parser)
    return parser


def build_bench_options(parser: CommandParser, given: argparse.Namespace) -> BenchOptions:
    """What to measure. Exits with code 2 where there is nothing to be drawn."""
    if given.svg is not None and given.ballots is None and given.results is None:
        parser.error("--svg draws what ballots show; name them with --ballots or --results")
    if given.results is not None and given.ballots is not None:
        parser.error("--results asks for ballots, and --ballots has them; name one of the two")
    if given.results is None and (given.max_cost_usd is not None or given.model):
        parser.error("--max-cost-usd and --model go with --results: nobody is asked without it")
    if given.results is None and given.write_calibration is not None:
        parser.error("--write-calibration goes with --results: it takes ballots that were asked for here")
    files = (given.data, given.ballots, given.results, given.write_calibration, given.svg)
    named = [os.path.abspath(given.workdir / file) for file in files if file is not None]
    if len(set(named)) < len(named):
        parser.error("two options name the same file, and one of them would write over it")
    if any(not each.startswith("review=") for each in given.model):
        parser.error("--model names reviewers here, as review=PROVIDER/MODEL")
    return BenchOptions(
        data=given.data,
        ballots=given.ballots,
        results=given.results,
        concurrency=given.concurrency,
        calibration=given.write_calibration,
        svg=given.svg,
        json=given.json,
    )


BENCH_PARSERS = {"review": _review_parser}
"""By the word of the action."""
