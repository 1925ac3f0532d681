"""A code review as SARIF 2.1.0, the format in which scanners report to code hosts.

Code hosts read how grave a security finding is from its rule and not from the result, so each severity is a
rule of its own there. They show suppressed results like all others, and none without a region.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias
from urllib.parse import quote

from quorum.application.export.review_json import ReviewOutcome
from quorum.domain.code_review.review_result import (
    CodeFinding,
    FindingKind,
    FindingStanding,
    ReportedFinding,
    ReviewResult,
)
from quorum.domain.review.severity import Severity
from quorum.domain.text.amounts import format_amount
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
_Rule: TypeAlias = tuple[FindingKind, Severity | None]
_RULES: tuple[_Rule, ...] = tuple(
    (kind, severity)
    for kind in FindingKind
    for severity in (Severity if kind is FindingKind.SECURITY else (None,))
)
_PACKAGE = "pkg:pypi/quorum-agent"
"""A package URL, which a release has that names no address."""
_FINGERPRINT = "quorumFinding/v1"


def render_review(outcome: ReviewOutcome) -> Iterator[JsonObject]:
    """One log. Implements `RenderReview`."""
    report = outcome.report
    yield build_sarif(
        outcome.result,
        version=outcome.version,
        address=outcome.address,
        error=report.error or report.status.value,
        with_refuted=outcome.with_refuted,
    )


def build_sarif(
    result: ReviewResult | None, *, version: str, address: str = "", error: str = "", with_refuted: bool = False
) -> JsonObject:
    """The log of one run. Without a result the run failed, and `error` says why; `version` and `address` are
    those of quorum. `with_refuted`: refuted findings are there too, as suppressed results.
    """
    findings = list(result.findings) if result is not None else []
    shown = [each for each in findings if with_refuted or each.standing is not FindingStanding.REFUTED]
    notices = [error] if result is None else list(result.notices)
    if left_out := len(findings) - len(shown):
        notices.append(f"{format_amount(left_out, 'refuted finding')} left out; --with-refuted keeps them")
    invocation: dict[str, JsonValue] = {"executionSuccessful": result is not None}
    if notices:
        invocation["toolExecutionNotifications"] = [
            {"level": "error" if result is None else "note", "message": {"text": notice}}
            for notice in notices
            if notice
        ]
    driver: dict[str, JsonValue] = {
        "name": "quorum",
        "semanticVersion": version,
        "informationUri": address or f"{_PACKAGE}@{version}",
        "rules": [_describe_rule(*rule) for rule in _RULES],
    }
    run: dict[str, JsonValue] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"ROOT": {"description": {"text": "The root of the repository."}}},
        "invocations": [invocation],
        "results": [_render_result(finding) for finding in shown],
    }
    if result is not None:
        run["properties"] = {
            "approved": result.is_approved,
            "verdict": result.verdict.value,
            "rule": result.rule,
            "commit": result.commit,
        }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _find_rule(report: ReportedFinding) -> _Rule:
    return report.kind, report.severity if report.kind is FindingKind.SECURITY else None


def _name_rule(kind: FindingKind, severity: Severity | None) -> str:
    return f"quorum/{kind.value}" if severity is None else f"quorum/{kind.value}-{severity.value}"


def _describe_rule(kind: FindingKind, severity: Severity | None) -> JsonObject:
    words = kind.value.replace("_", " ")
    text = f"A defect of {words} that a reviewer found."
    rule: dict[str, JsonValue] = {
        "id": _name_rule(kind, severity),
        "shortDescription": {"text": text},
        "fullDescription": {"text": text},
        "help": {"text": "Models reviewed the change, and others checked each finding."},
    }
    if severity is not None:
        words = f"{words} {severity.value}"
        rule["defaultConfiguration"] = {"level": _LEVELS[severity]}
        rule["properties"] = {
            "tags": ["security"],
            "security-severity": _SECURITY_SEVERITIES[severity],
        }
    return {**rule, "name": "".join(word.capitalize() for word in words.split())}


def _render_result(finding: CodeFinding) -> JsonObject:
    report, rule = finding.report, _find_rule(finding.report)
    text = report.claim if not report.suggestion else f"{report.claim}\n\n{report.suggestion}"
    shown: dict[str, JsonValue] = {
        "ruleId": _name_rule(*rule),
        "ruleIndex": _RULES.index(rule),
        "level": _LEVELS[report.severity],
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(report.file), "uriBaseId": "ROOT"},
                    "region": {"startLine": report.line or 1},
                }
            }
        ],
        "partialFingerprints": {_FINGERPRINT: finding.fingerprint},
        "properties": {
            "standing": finding.standing.value,
            "reviewers": len(finding.reviewers),
            "evidence": report.evidence,
        },
    }
    if finding.standing is FindingStanding.REFUTED:
        reasons = " ".join(trial.reason for trial in finding.trials)
        shown["suppressions"] = [{"kind": "external", "status": "accepted", "justification": reasons}]
    return shown
