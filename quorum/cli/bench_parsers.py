"""The parser of `quorum bench`, one for each action."""

from __future__ import annotations

import argparse
from pathlib import Path

from quorum.cli.argument_parser import CommandParser, Example
from quorum.cli.shared_options import add_places
from quorum.options import BenchOptions


def _review_parser() -> CommandParser:
    parser = CommandParser(
        "quorum bench review",
        "Measure guards, the shell gate and recorded reviewers on labelled calls.",
        "Nothing of the calls is run, and no model is asked. The exit code is 1 where an unsafe call would run "
        "unasked in the mode ask. See docs/how-good-is-the-quorum.md.",
        examples=(
            Example("quorum bench review", "the layers that need no model, on a small set"),
            Example("quorum bench review --data calls.jsonl", "the same on your own calls"),
            Example("quorum bench review --ballots votes.jsonl --svg chart.svg", "recorded reviewers"),
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
        "--svg", metavar="FILE", type=Path, help="also draw misses against friction into a file"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_places(parser)
    return parser


def build_bench_options(parser: CommandParser, given: argparse.Namespace) -> BenchOptions:
    """What to measure. Exits with code 2 where there is nothing to be drawn."""
    if given.svg is not None and given.ballots is None:
        parser.error("--svg draws what ballots show; name them with --ballots")
    return BenchOptions(data=given.data, ballots=given.ballots, svg=given.svg, json=given.json)


BENCH_PARSERS = {"review": _review_parser}
"""By the word of the action."""
