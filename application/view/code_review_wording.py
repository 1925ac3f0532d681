"""The sentences about the steps of a code review, for any front end."""

from __future__ import annotations

from domain.code_review.finding import CodeFinding, FindingStanding
from domain.code_review.review_result import PartReview, ReviewResult
from domain.review.ballot import Verdict, Vote
from domain.text.amounts import format_amount


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
    place = f"{report.file}:{report.line}" if report.line else report.file
    return f"{finding.id} {report.severity.value} {place} · {finding.standing.value}"
