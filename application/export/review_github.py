"""A code review as workflow commands of GitHub Actions, which shows them beside the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from quorum.application.export.review_json import ReviewOutcome
from quorum.domain.code_review.review_result import CodeFinding, FindingStanding, ReviewResult
from quorum.domain.review.severity import Severity
from quorum.domain.text.printable import make_printable

_LEVELS = {
    Severity.CRITICAL: "error",
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "notice",
}


def render_review(outcome: ReviewOutcome) -> Iterator[str]:
    """A line for each command. They are about findings: a failure has none. Implements `RenderReview`."""
    return render_annotations(outcome.result) if outcome.result is not None else iter(())


def render_annotations(result: ReviewResult) -> Iterator[str]:
    """A line for the verdict, then one for each finding that is not refuted, the surest first.

    GitHub Actions keeps ten of each level: the verdict is never among those that it drops.
    Nothing that a model says can begin a command of its own: what would end a line or a field is escaped.
    """
    level = "notice" if result.is_approved else "error"
    verdict = _escape(f"{result.description}: {result.verdict.value} ({result.rule})")
    yield f"::{level} title=quorum review::{verdict}"
    for finding in result.findings:
        if finding.standing is not FindingStanding.REFUTED:
            yield _render_finding(finding)


def _render_finding(finding: CodeFinding) -> str:
    report = finding.report
    fields = [f"file={_escape_field(report.file)}"]
    if report.line:
        fields.append(f"line={report.line}")
    fields.append(f"title={_escape_field(f'{report.severity.value}, {finding.standing.value}')}")
    text = report.claim if not report.suggestion else f"{report.claim}\n\n{report.suggestion}"
    return f"::{_LEVELS[report.severity]} {','.join(fields)}::{_escape(text)}"


def _escape(text: str) -> str:
    return make_printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_field(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
