"""The sentences about the steps of a code review, for any front end."""

from __future__ import annotations

from quorum.domain.code_review.finding import CodeFinding, FindingStanding, ReportedFinding
from quorum.domain.code_review.review_result import PartReview, ReviewResult
from quorum.domain.review.ballot import Verdict, Vote
from quorum.domain.text.amounts import format_amount


def describe_part_review(review: PartReview) -> str:
    """What one reviewer says of one part, in a line."""
    where = f"{review.label} {review.model}, part {review.part}"
    if review.vote is Vote.ERROR:
        return f"{where}: no answer: {review.reason}"
    return f"{where}: {review.vote.value}, {format_amount(len(review.findings), 'finding')}. {review.reason}"


def describe_review_result(result: ReviewResult) -> str:
    """What a code review came to, in a line."""
    votes = ", ".join(f"{ballot.reviewer} {ballot.vote.value}" for ballot in result.ballots)
    found = format_amount(len(result.findings), "finding")
    return f"{result.description}: {result.verdict.value} ({result.rule}) · {found} · {votes}"


def describe_verdict_and_findings(result: ReviewResult) -> str:
    """Whether a change is approved, and how many findings there are, in a few words."""
    verdict = {
        Verdict.APPROVED: "approved",
        Verdict.REJECTED: "not approved",
        Verdict.UNCLEAR: "not approved, too few votes",
    }[result.verdict]
    sure = sum(finding.standing is FindingStanding.CONFIRMED for finding in result.findings)
    found = format_amount(len(result.findings), "finding")
    return f"{verdict} · {found}, {sure} confirmed" if result.findings else f"{verdict} · no findings"


def describe_finding(finding: CodeFinding) -> str:
    """What a finding is, where, and how it stands, in a line."""
    report = finding.report
    return f"{finding.id} {report.severity.value} {describe_finding_place(report)} · {finding.standing.value}"


def describe_finding_place(report: ReportedFinding) -> str:
    """The file of a finding, with its line where it is about one."""
    return f"{report.file}:{report.line}" if report.line else report.file


def explain_finding(finding: CodeFinding) -> str:
    """All that was said of a finding: by who reported it, and by who tried it."""
    report = finding.report
    found_by = format_amount(len(finding.reviewers), "reviewer")
    kind = report.kind.value.replace("_", " ")
    lines = [report.claim, "", f"Evidence: {report.evidence}"]
    lines += [f"Suggestion: {report.suggestion}"] if report.suggestion else []
    lines += ["", f"{kind}, found by {found_by} ({', '.join(finding.reviewers)})"]
    lines += [f"Also: {other.claim}" for other in finding.others]
    lines += [f"{trial.model}: {trial.ruling.value}. {trial.reason}" for trial in finding.trials]
    return "\n".join(lines)
