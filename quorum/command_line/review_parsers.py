"""The parser of `quorum review`."""

from __future__ import annotations

import argparse

from quorum.command_line.argument_parser import CommandParser, Example, parse_session_name
from quorum.command_line.shared_options import (
    RESUME,
    SESSION,
    add_debug,
    add_limits,
    add_models,
    add_places,
)
from quorum.options import ReviewOptions

FORMATS = ("markdown", "json", "stream-json", "sarif", "github")


def build_review_parser() -> CommandParser:
    """Of a code review without a screen."""
    parser = CommandParser(
        "quorum review",
        "Have several models review a change; by default what is not committed.",
        "The exit code is 0 where the change is approved, 1 where it is not, 2 where there is nothing to "
        "review, and 4 where no reviewer answered. See docs/code-review.md.",
        examples=(
            Example("quorum review", "the uncommitted changes"),
            Example("quorum review --range main...HEAD --format json", "a branch; one JSON object"),
            Example('quorum review --pr 12 --focus "the retry limit"', "a pull request, read with gh"),
            Example("git diff --cached | quorum review --diff -", "a diff from stdin"),
        ),
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--diff", metavar="FILE", default="", help="a unified diff; - reads it from stdin")
    what.add_argument("--pr", metavar="N", type=_parse_number, help="a pull request of the remote origin")
    what.add_argument(
        "--range",
        metavar="A..B",
        type=_parse_range,
        help="what differs between two commits; A...B: since they have parted",
    )
    parser.add_argument("--focus", metavar="TEXT", default="", help="what to look at above all")
    parser.add_argument(
        "--all",
        action="store_true",
        help="with --pr: review everything, also what was approved before",
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        choices=FORMATS,
        default=FORMATS[0],
        help=f"what stdout carries: one of {', '.join(FORMATS)}",
    )
    parser.add_argument(
        RESUME,
        metavar="ID",
        type=parse_session_name,
        help=f"continue a review of the same change that was cut off, in this session: {SESSION}",
    )
    add_models(parser)
    add_limits(parser)
    add_places(parser, quiet="print only errors on stderr", verbose="print more on stderr")
    add_debug(parser)
    return parser


def build_review_options(parser: CommandParser, given: argparse.Namespace) -> ReviewOptions:
    """What its options come to."""
    if given.all and given.pr is None:
        parser.error("--all goes with --pr: all else is always reviewed whole")
    return ReviewOptions(
        diff=given.diff,
        pull_request=given.pr,
        commits=given.range or "",
        focus=given.focus.strip(),
        format=given.format,
        all=given.all,
    )


def _parse_number(text: str) -> int:
    if not text.removeprefix("#").isdecimal() or not 0 < int(text.removeprefix("#")) < 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a pull request")
    return int(text.removeprefix("#"))


def _parse_range(text: str) -> str:
    first, dots, last = text.partition("...") if "..." in text else text.partition("..")
    if not dots or not (first or last) or ".." in last or text.startswith("-") or last.startswith("-"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a range of commits such as main..HEAD")
    return text
