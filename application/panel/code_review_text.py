"""A code review as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from quorum.domain.code_review.finding import CodeFinding, FindingStanding, Ruling
from quorum.domain.code_review.review_result import PartReview, ReviewResult
from quorum.domain.review.ballot import Ballot, Verdict, Vote
from quorum.domain.text.amounts import format_amount, format_confidence

_VERDICTS = {
    Verdict.APPROVED: "Approved",
    Verdict.REJECTED: "Not approved",
    Verdict.UNCLEAR: "Not approved: the votes are not enough to decide",
}
_STANDINGS = {
    FindingStanding.CONFIRMED: "Findings",
    FindingStanding.UNTRIED: "Findings that no other model has tried",
    FindingStanding.CONTESTED: "Findings on which the models differ",
    FindingStanding.REFUTED: "Refuted findings",
}
_VOTES = {
    Vote.APPROVE: "approves",
    Vote.REJECT: "rejects",
    Vote.ABSTAIN: "abstains",
    Vote.ERROR: "gave no answer",
}


def render_review_result(result: ReviewResult) -> str:
    """The verdict and the votes, the conclusion, then all findings."""
    parts = [f"**{_VERDICTS[result.verdict]}** · {_put_in_one_line(result.description)} ({result.rule})"]
    parts.append("\n".join(_render_ballot(ballot) for ballot in result.ballots))
    if not result.is_independent and len(result.ballots) > 1:
        parts.append("*The reviewers are not independent: all models are of one family.*")
    if result.notices:
        parts.append("\n".join(f"- {_put_in_one_line(notice)}" for notice in result.notices))
    if result.conclusion:
        parts.append(f"## Conclusion\n\n{result.conclusion}")
    if result.agreement:
        parts.append(
            "\n".join(("## Agreement", "", *(f"- {_put_in_one_line(one)}" for one in result.agreement)))
        )
    for standing, heading in _STANDINGS.items():
        those = [finding for finding in result.findings if finding.standing is standing]
        if those:
            parts.append(f"## {heading}")
            parts += ["\n".join(_render_finding(finding)) for finding in those]
    if not result.findings:
        parts.append("No reviewer found anything.")
    return "\n\n".join(parts)


def render_reviewer_answer(reviews: tuple[PartReview, ...], parts: int) -> str:
    """What one reviewer says of all parts, for the other models and for the person."""
    lines = []
    for review in reviews:
        where = f"Part {review.part} of {parts}: " if parts > 1 else ""
        lines.append(f"{where}{_VOTES[review.vote]}. {review.reason}")
        lines += [
            f"- {each.severity.value} · {each.file}:{each.line} · {_put_in_one_line(each.claim)} "
            f"Evidence: {_put_in_one_line(each.evidence)}"
            for each in review.findings
        ]
    return "\n".join(lines)


def _render_ballot(ballot: Ballot) -> str:
    sure = f" ({format_confidence(ballot.confidence)} sure)" if ballot.confidence is not None else ""
    return f"- {ballot.reviewer} {_VOTES[ballot.vote]}{sure}: {_put_in_one_line(ballot.reason)}"


def _render_finding(finding: CodeFinding) -> Iterator[str]:
    report = finding.report
    place = f"{report.file}:{report.line}" if report.line else report.file
    count = format_amount(len(finding.reviewers), "reviewer")
    yield f"### {finding.id} {report.severity.value} · `{place.replace('`', '')}`"
    yield ""
    yield f"{report.claim}"
    yield ""
    yield f"- Evidence: {_put_in_one_line(report.evidence)}"
    if report.suggestion:
        yield f"- Suggestion: {_put_in_one_line(report.suggestion)}"
    yield f"- {report.kind.value.replace('_', ' ')}, found by {count} ({', '.join(finding.reviewers)})"
    for other in finding.others:
        yield f"- Also: {_put_in_one_line(other.claim)}"
    for trial in finding.trials:
        verb = "confirmed" if trial.ruling is Ruling.CONFIRMED else trial.ruling.value
        yield f"- {trial.model}: {verb}. {_put_in_one_line(trial.reason)}"


def _put_in_one_line(text: str) -> str:
    return " ".join(text.split())
