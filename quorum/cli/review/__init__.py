"""`quorum review`: a change reviewed by several models, without a screen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from quorum.command_line import shared
from quorum.command_line.command import ArgumentGroup, CliCommand, argument, flag
from quorum.command_line.options import SessionOptions
from quorum.command_line.values import parse_pull_request, parse_session_name, refuse_value
from quorum.run_signals import RunSignals

FORMATS = {
    "markdown": "",
    "json": "quorum.application.export.review_json",
    "stream-json": "",
    "sarif": "quorum.application.export.review_sarif",
    "github": "quorum.application.export.review_github",
}
"""The module whose `render_review` renders a review in each format; empty: it is printed as a run is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOptions(SessionOptions):
    """What `quorum review` reviews: a diff ("-": on standard input), a pull request, a range of commits, or
    else what is not committed; what to look at above all; and the format of the result. `all`: also what was
    approved before. `with_refuted`: SARIF has refuted findings too.
    """

    kind: ClassVar[str] = "review"
    diff: str = ""
    pr: int | None = None
    range: str = ""
    focus: str = ""
    format: str = "markdown"
    all: bool = False
    with_refuted: bool = False

    def find_conflict(self) -> str:
        """Which options do not go together, in a sentence; empty where all do."""
        if self.all and self.pr is None:
            return "--all goes with --pr: all else is always reviewed whole"
        if self.with_refuted and self.format != "sarif":
            return "--with-refuted goes with --format sarif: json and markdown always have them"
        return ""


def _review(options: ReviewOptions, root: Path, signals: RunSignals) -> int:
    from quorum.starting import explain_start_failures

    with explain_start_failures():
        from quorum.cli.review.review_change import review_change
    return review_change(options, root, signals)


def _parse_range(text: str) -> str:
    first, dots, last = text.partition("...") if "..." in text else text.partition("..")
    if not dots or not (first or last) or ".." in last or text.startswith("-") or last.startswith("-"):
        raise refuse_value(f"{text!r} is not a range of commits such as main..HEAD")
    return text


COMMAND = CliCommand(
    ReviewOptions,
    answer=_review,
    details="The exit code is 0 where the change is approved, 1 where it is not, 2 where there is nothing to "
    "review, and 4 where no reviewer answered. See docs/code-review.md.",
    arguments=(
        ArgumentGroup(
            (
                argument("--diff", metavar="FILE", help="a unified diff; - reads it from stdin"),
                argument(
                    "--pr", metavar="N", type=parse_pull_request, help="a pull request of the remote origin"
                ),
                argument(
                    "--range",
                    metavar="A..B",
                    type=_parse_range,
                    help="what differs between two commits; A...B: since they have parted",
                ),
            ),
            is_exclusive=True,
        ),
        argument("--focus", metavar="TEXT", help="what to look at above all"),
        flag("--all", help="with --pr: review everything, also what was approved before"),
        argument(
            "--format",
            metavar="FORMAT",
            choices=tuple(FORMATS),
            help=f"what stdout carries: one of {', '.join(FORMATS)}",
        ),
        flag("--with-refuted", help="with --format sarif: refuted findings too, as suppressed results"),
        argument(
            shared.RESUME,
            metavar="ID",
            type=parse_session_name,
            help="continue a review of the same change that was cut off, in this session: "
            f"{shared.SESSION_HELP}",
        ),
        *shared.MODELS,
        *shared.LIMITS,
        *shared.PLACES_OF_PROMPTS,
        shared.SAFE,
        shared.DEBUG,
    ),
    examples=(
        ("quorum review", "the uncommitted changes"),
        ("quorum review --range main...HEAD --format json", "a branch; one JSON object"),
        ('quorum review --pr 12 --focus "the retry limit"', "a pull request, read with gh"),
        ("git diff --cached | quorum review --diff -", "a diff from stdin"),
    ),
)
