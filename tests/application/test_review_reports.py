"""A code review as SARIF and as annotations: what code hosts read of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from quorum.application.export.review_github import render_annotations
from quorum.application.export.review_sarif import build_sarif
from quorum.domain.code_review.review_result import (
    CodeFinding,
    FindingKind,
    ReportedFinding,
    ReviewResult,
    Ruling,
    Trial,
)
from quorum.domain.review.ballot import Verdict
from quorum.domain.review.severity import Severity

TEXT: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {"text": {"type": "string"}},
}
# What the standard demands of the objects that are used, and no property beside those it has.
SARIF = Draft202012Validator(
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["version", "runs"],
        "properties": {
            "$schema": {"type": "string", "format": "uri"},
            "version": {"const": "2.1.0"},
            "runs": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["tool"],
                    "properties": {
                        "tool": {
                            "type": "object",
                            "required": ["driver"],
                            "additionalProperties": False,
                            "properties": {
                                "driver": {
                                    "type": "object",
                                    "required": ["name"],
                                    "additionalProperties": False,
                                    "properties": {
                                        "name": {"type": "string"},
                                        "semanticVersion": {"type": "string"},
                                        "informationUri": {"type": "string", "format": "uri"},
                                        "rules": {
                                            "type": "array",
                                            "uniqueItems": True,
                                            "items": {
                                                "type": "object",
                                                "required": ["id"],
                                                "additionalProperties": False,
                                                "properties": {
                                                    "id": {"type": "string"},
                                                    "name": {"type": "string"},
                                                    "shortDescription": TEXT,
                                                    "fullDescription": TEXT,
                                                    "help": TEXT,
                                                    "defaultConfiguration": {
                                                        "type": "object",
                                                        "additionalProperties": False,
                                                        "properties": {
                                                            "level": {
                                                                "enum": ["none", "note", "warning", "error"]
                                                            }
                                                        },
                                                    },
                                                    "properties": {"type": "object"},
                                                },
                                            },
                                        },
                                    },
                                }
                            },
                        },
                        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                        "originalUriBaseIds": {
                            "type": "object",
                            "additionalProperties": {
                                "type": "object",
                                "additionalProperties": False,
                                "properties": {"uri": {"type": "string"}, "description": TEXT},
                            },
                        },
                        "invocations": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "required": ["executionSuccessful"],
                                "additionalProperties": False,
                                "properties": {
                                    "executionSuccessful": {"type": "boolean"},
                                    "toolExecutionNotifications": {
                                        "type": "array",
                                        "items": {
                                            "type": "object",
                                            "required": ["message"],
                                            "additionalProperties": False,
                                            "properties": {
                                                "level": {"enum": ["none", "note", "warning", "error"]},
                                                "message": TEXT,
                                            },
                                        },
                                    },
                                },
                            },
                        },
                        "properties": {"type": "object"},
                        "results": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "required": ["message"],
                                "additionalProperties": False,
                                "properties": {
                                    "ruleId": {"type": "string"},
                                    "ruleIndex": {"type": "integer", "minimum": -1},
                                    "level": {"enum": ["none", "note", "warning", "error"]},
                                    "message": TEXT,
                                    "partialFingerprints": {
                                        "type": "object",
                                        "additionalProperties": {"type": "string"},
                                    },
                                    "properties": {"type": "object"},
                                    "suppressions": {
                                        "type": "array",
                                        "items": {
                                            "type": "object",
                                            "required": ["kind"],
                                            "additionalProperties": False,
                                            "properties": {
                                                "kind": {"enum": ["inSource", "external"]},
                                                "status": {"enum": ["accepted", "underReview", "rejected"]},
                                                "justification": {"type": "string"},
                                            },
                                        },
                                    },
                                    "locations": {
                                        "type": "array",
                                        "items": {
                                            "type": "object",
                                            "additionalProperties": False,
                                            "properties": {
                                                "physicalLocation": {
                                                    "type": "object",
                                                    "required": ["artifactLocation"],
                                                    "additionalProperties": False,
                                                    "properties": {
                                                        "artifactLocation": {
                                                            "type": "object",
                                                            "additionalProperties": False,
                                                            "properties": {
                                                                "uri": {
                                                                    "type": "string",
                                                                    "pattern": r"^[A-Za-z0-9._~/%-]+$",
                                                                },
                                                                "uriBaseId": {"type": "string"},
                                                            },
                                                        },
                                                        "region": {
                                                            "type": "object",
                                                            "additionalProperties": False,
                                                            "properties": {
                                                                "startLine": {"type": "integer", "minimum": 1}
                                                            },
                                                        },
                                                    },
                                                }
                                            },
                                        },
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    }
)


def finding(id_: str = "F1", *, ruling: Ruling | None = None, **more: Any) -> CodeFinding:
    usual = {
        "file": "src/a.py",
        "line": 3,
        "severity": Severity.HIGH,
        "kind": FindingKind.SECURITY,
        "claim": "leaks",
        "evidence": "e",
        "suggestion": "close it",
    } | more
    trials = (Trial(finding=id_, model="p/m", ruling=ruling, reason="no"),) if ruling else ()
    return CodeFinding(
        id=id_, report=ReportedFinding(**usual), reviewers=("A",), trials=trials, fingerprint="f" * 32
    )


def result(*findings: CodeFinding, verdict: Verdict = Verdict.REJECTED) -> ReviewResult:
    return ReviewResult(
        description="the change", digest="d", base="", commit="c", verdict=verdict, rule="majority", ballots=(),
        is_independent=True, findings=findings, files=1, parts=1, notices=("b.png is not shown",),
    )  # fmt: skip


def test_a_finding_is_a_result_with_place_level_and_fingerprint() -> None:
    log: Any = build_sarif(result(finding()), version="1.2.3")
    SARIF.validate(log)
    (run,) = log["runs"]
    (one,) = run["results"]
    assert run["tool"]["driver"]["informationUri"] == "pkg:pypi/quorum-agent@1.2.3"
    rule = run["tool"]["driver"]["rules"][one["ruleIndex"]]
    assert rule["id"] == one["ruleId"] == "quorum/security-high"
    assert rule["properties"] == {"tags": ["security"], "security-severity": "8.0"}
    place = one["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]) == ("src/a.py", {"startLine": 3})
    assert one["level"] == rule["defaultConfiguration"]["level"] == "error"
    assert one["partialFingerprints"] == {"quorumFinding/v1": "f" * 32}
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == "b.png is not shown"


@pytest.mark.parametrize("severity", list(Severity))
@pytest.mark.parametrize("kind", list(FindingKind))
def test_every_kind_and_severity_is_valid(severity: Severity, kind: FindingKind) -> None:
    log: Any = build_sarif(
        result(finding(severity=severity, kind=kind)), version="1.2.3", address="https://a.test/"
    )
    SARIF.validate(json.loads(json.dumps(log)))
    driver, (one,) = log["runs"][0]["tool"]["driver"], log["runs"][0]["results"]
    assert driver["informationUri"] == "https://a.test/"
    rule = driver["rules"][one["ruleIndex"]]
    assert rule["id"] == one["ruleId"]
    assert ("security-severity" in rule.get("properties", {})) is (kind is FindingKind.SECURITY)


def test_refuted_findings_are_left_out_unless_they_are_asked_for() -> None:
    refuted = result(finding(), finding("F2", ruling=Ruling.REFUTED))
    log: Any = build_sarif(refuted, version="1.2.3")
    asked: Any = build_sarif(refuted, version="1.2.3", with_refuted=True)
    SARIF.validate(asked)
    assert "suppressions" not in json.dumps(log)
    assert len(log["runs"][0]["results"]) == 1
    notice = log["runs"][0]["invocations"][0]["toolExecutionNotifications"][-1]["message"]["text"]
    assert notice == "1 refuted finding left out; --with-refuted keeps them"
    assert asked["runs"][0]["results"][1]["suppressions"][0]["justification"] == "no"


def test_a_finding_about_a_whole_file_stands_at_its_first_line() -> None:
    log: Any = build_sarif(result(finding(line=0)), version="1.2.3")
    (one,) = log["runs"][0]["results"]
    assert one["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


def test_names_with_unusual_characters_are_legal_addresses() -> None:
    SARIF.validate(build_sarif(result(finding(file='a b/é?#"\n.py')), version="1.2.3"))


def test_a_review_that_failed_is_a_run_that_failed() -> None:
    log: Any = build_sarif(None, version="1.2.3", error="no reviewer answered")
    SARIF.validate(log)
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_annotations_stand_at_their_lines_and_the_verdict_comes_first() -> None:
    lines = list(render_annotations(result(finding(), finding("F2", ruling=Ruling.REFUTED))))
    assert lines == [
        "::error title=quorum review::the change: rejected (majority)",
        "::error file=src/a.py,line=3,title=high%2C untried::leaks%0A%0Aclose it",
    ]
    assert next(render_annotations(result(verdict=Verdict.APPROVED))).startswith("::notice ")


def test_what_a_model_says_cannot_be_a_command_of_its_own() -> None:
    hostile = "x\n::set-output name=a::b\r\n::add-mask::\u2028::error::%0A\x1b[2J"
    lines = list(render_annotations(result(finding(claim=hostile, file="a,line=9::error::x\n::debug::y"))))
    assert len(lines) == 2
    assert not any(re.search(r"[\r\n\u2028\x1b]", line) for line in lines)
    assert lines[1].startswith("::error file=a%2Cline=9%3A%3Aerror%3A%3Ax%0A%3A%3Adebug%3A%3Ay,line=3,")
