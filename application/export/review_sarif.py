"""A code review as SARIF 2.1.0, the format in which scanners report to code hosts."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from quorum.application.export.review_json import ReviewOutcome
from quorum.domain.code_review.review_result import CodeFinding, FindingKind, FindingStanding, ReviewResult
from quorum.domain.review.severity import Severity
from quorum.domain.text.json_value import JsonObject, JsonValue

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {
    Severity.CRITICAL: "error",
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "note",
}
# What code hosts sort by: the ranges of CVSS.
_SECURITY_SEVERITIES = {
    Severity.CRITICAL: "9.5",
    Severity.HIGH: "8.0",
    Severity.MEDIUM: "5.5",
    Severity.LOW: "2.0",
}
_FINGERPRINT = "quorumFinding/v1"


def render_review(outcome: ReviewOutcome) -> Iterator[JsonObject]:
    """One log. Implements `RenderReview`."""
    report = outcome.report
    yield build_sarif(outcome.result, version=outcome.version, error=report.error or report.status.value)


def build_sarif(result: ReviewResult | None, *, version: str, error: str = "") -> JsonObject:
    """The log of one run. Without a result the run failed, and `error` says why; `version` is that of quorum.

    Refuted findings are there as suppressed results.
    """
    findings = result.findings if result is not None else ()
    invocation: dict[str, JsonValue] = {"executionSuccessful": result is not None}
    if notices := [error] if result is None else list(result.notices):
        invocation["toolExecutionNotifications"] = [
            {"level": "error" if result is None else "note", "message": {"text": notice}}
            for notice in notices
            if notice
        ]
    run: dict[str, JsonValue] = {
        "tool": {
            "driver": {
                "name": "quorum",
                "semanticVersion": version,
                "rules": [_describe_rule(kind) for kind in FindingKind],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"ROOT": {"description": {"text": "The root of the repository."}}},
        "invocations": [invocation],
        "results": [_render_result(finding) for finding in findings],
    }
    if result is not None:
        run["properties"] = {
            "approved": result.is_approved,
            "verdict": result.verdict.value,
            "rule": result.rule,
            "commit": result.commit,
        }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _describe_rule(kind: FindingKind) -> JsonObject:
    words = kind.value.replace("_", " ")
    return {
        "id": f"quorum/{kind.value}",
        "name": "".join(word.capitalize() for word in words.split()),
        "shortDescription": {"text": f"A defect of {words} that a reviewer found."},
    }


def _render_result(finding: CodeFinding) -> JsonObject:
    report = finding.report
    place: dict[str, JsonValue] = {"artifactLocation": {"uri": quote(report.file), "uriBaseId": "ROOT"}}
    if report.line:
        place["region"] = {"startLine": report.line}
    text = report.claim if not report.suggestion else f"{report.claim}\n\n{report.suggestion}"
    properties: dict[str, JsonValue] = {
        "standing": finding.standing.value,
        "reviewers": len(finding.reviewers),
        "evidence": report.evidence,
    }
    if report.kind is FindingKind.SECURITY:
        properties["security-severity"] = _SECURITY_SEVERITIES[report.severity]
    shown: dict[str, JsonValue] = {
        "ruleId": f"quorum/{report.kind.value}",
        "ruleIndex": list(FindingKind).index(report.kind),
        "level": _LEVELS[report.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {_FINGERPRINT: finding.fingerprint},
        "properties": properties,
    }
    if finding.standing is FindingStanding.REFUTED:
        reasons = " ".join(trial.reason for trial in finding.trials)
        shown["suppressions"] = [{"kind": "external", "status": "accepted", "justification": reasons}]
    return shown
