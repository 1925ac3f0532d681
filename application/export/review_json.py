"""A code review as JSON: the record `quorum_result` of the topic `code_review`.

Its schema is `docs/code-review.schema.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from quorum.domain.code_review.review_result import CodeFinding, ReviewResult
from quorum.domain.events.report import RunReport, usage_to_json
from quorum.domain.review.ballot import Ballot, Verdict, Vote
from quorum.domain.text.json_value import JsonObject, JsonValue


class ReviewOutcome(NamedTuple):
    """How a review ended; a `result` of None: none came to an end. `models` are the reviewers by their labels,
    `timestamp` is RFC 3339, UTC; `version` and `address` are those of quorum. `with_refuted`: SARIF has refuted
    findings too.
    """

    result: ReviewResult | None
    report: RunReport
    models: Mapping[str, str]
    timestamp: str
    version: str
    address: str = ""
    with_refuted: bool = False


RenderReview: TypeAlias = Callable[[ReviewOutcome], Iterable[str | JsonObject]]
"""The lines to print, each a text or an object."""


API_VERSION = 1


def render_review(outcome: ReviewOutcome) -> Iterator[JsonObject]:
    """One record. Implements `RenderReview`."""
    yield build_review_record(
        outcome.result, outcome.report, models=outcome.models, timestamp=outcome.timestamp
    )


def build_review_record(
    result: ReviewResult | None, report: RunReport, *, models: Mapping[str, str], timestamp: str
) -> JsonObject:
    """The record of a review. Without a result none came to an end, and `error` says why.

    `models` are the reviewers by their labels; `timestamp` is RFC 3339, UTC.
    """
    record: dict[str, JsonValue] = {
        "type": "quorum_result",
        "api_version": API_VERSION,
        "timestamp": timestamp,
        "session_id": report.session_id,
        "status": report.status.value,
        "topic": "code_review",
        **render_result_fields(result, models),
        "usage": usage_to_json(report.usage, report.cost_usd),
    }
    if report.error:
        record["error"] = report.error
    return record


def render_result_fields(result: ReviewResult | None, models: Mapping[str, str]) -> JsonObject:
    """What the record says of the result itself; None: no review came to an end."""
    return {
        "target": _describe_target(result),
        "approved": result is not None and result.is_approved,
        "verdict": (result.verdict if result is not None else Verdict.UNCLEAR).value,
        "rule": result.rule if result is not None else "",
        "independent": result is not None and result.is_independent,
        "votes": [_render_ballot(ballot) for ballot in result.ballots] if result is not None else [],
        "feedback": _render_feedback(result),
        "findings": [_render_finding(one, models) for one in result.findings] if result is not None else [],
        "conclusion": result.conclusion if result is not None else "",
        "agreement": list(result.agreement) if result is not None else [],
        "notices": list(result.notices) if result is not None else [],
        "sensitive_files": list(result.sensitive_files) if result is not None else [],
    }


def _describe_target(result: ReviewResult | None) -> JsonObject | None:
    if result is None:
        return None
    return {
        "description": result.description,
        "digest": result.digest,
        "base": result.base,
        "commit": result.commit,
        "files": result.files,
        "parts": result.parts,
    }


def _render_ballot(ballot: Ballot) -> JsonObject:
    return {
        "model": ballot.reviewer,
        "verdict": ballot.vote.value,
        "reasoning": ballot.reason,
        "confidence": ballot.confidence,
    }


def _render_feedback(result: ReviewResult | None) -> str | None:
    """The reasons of those who are against, where the change is not approved."""
    if result is None or result.is_approved:
        return None
    against = (ballot for ballot in result.ballots if ballot.vote is Vote.REJECT)
    return "\n".join(f"{ballot.reviewer}: {ballot.reason}" for ballot in against) or None


def _render_finding(finding: CodeFinding, models: Mapping[str, str]) -> JsonObject:
    report = finding.report
    return {
        "id": finding.id,
        "file": report.file,
        "line": report.line,
        "severity": report.severity.value,
        "kind": report.kind.value,
        "claim": report.claim,
        "evidence": report.evidence,
        "suggestion": report.suggestion,
        "standing": finding.standing.value,
        "reviewers": [models.get(label, label) for label in finding.reviewers],
        "also": [other.claim for other in finding.others],
        "trials": [
            {"model": trial.model, "ruling": trial.ruling.value, "reason": trial.reason}
            for trial in finding.trials
        ],
        "fingerprint": finding.fingerprint,
    }
