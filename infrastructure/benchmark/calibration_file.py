"""The file that keeps what was measured of reviewers, for `[quorum] calibration`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeGuard

from quorum.application.review.ballot_paper import QuorumPolicy
from quorum.application.review.voting import fingerprint_reviewer
from quorum.domain.benchmark.reviewer_measure import Rate, convert_rate
from quorum.domain.errors import ConfigError
from quorum.domain.review.calibration import Calibration, MeasuredShare, ReviewerCalibration
from quorum.domain.text.json_value import JsonObject

_VERSION = 1
_MARK = "quorum_calibration"
_MOST_BYTES = 2**20
_RENEW = "quorum bench review --results FILE --write-calibration FILE makes a new one"


def check_target(path: Path) -> None:
    """Raises ConfigError where a file stands that is no calibration: it would be lost."""
    if os.path.lexists(path):
        try:
            read_calibration(path)
        except ConfigError as error:
            raise ConfigError(
                f"{path} is there already, and is no calibration that can be replaced: name another file, or "
                "delete it"
            ) from error


def write_calibration(path: Path, reviewers: Mapping[str, ReviewerCalibration]) -> None:
    """Write the file in one piece, in place of one that is there. Raises ConfigError."""
    content = {_MARK: _VERSION, "reviewers": {name: _describe(each) for name, each in reviewers.items()}}
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ConfigError(f"{path}: the calibration cannot be written: {error.strerror}") from error


def load_calibration(path: Path, policy: QuorumPolicy) -> Calibration:
    """What the file says of the reviewers as they are asked now. Raises ConfigError for a file that is none.

    A reviewer that it does not know, or that was asked in another way, has no figures, and a notice says so.
    """
    known = read_calibration(path)
    valid: dict[str, ReviewerCalibration] = {}
    notices: list[str] = []
    for reviewer in policy.reviewers:
        measured = known.get(reviewer)
        if measured is None:
            others = ", ".join(sorted(set(known) - set(policy.reviewers)))
            why = f"has no figures of {reviewer}" + (f", but of {others}" if others else "")
        elif measured.asked_with != fingerprint_reviewer(policy, reviewer):
            why = f"measured {reviewer} with another lens or effort, or other instructions"
        else:
            valid[reviewer] = measured
            continue
        notices.append(f"{path} {why}; its votes count as without a calibration; {_RENEW}")
    return Calibration(reviewers=valid, notices=tuple(notices))


def read_calibration(path: Path) -> Mapping[str, ReviewerCalibration]:
    """The reviewers in the file. Raises ConfigError with what is wrong and the remedy."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise ValueError("it is larger than 1 MB")
        given = json.loads(content.decode("utf-8"))
        if not isinstance(given, dict) or given.get(_MARK) != _VERSION:
            raise ValueError(f'it has no "{_MARK}": {_VERSION}')
        reviewers = given.get("reviewers")
        if not isinstance(reviewers, dict) or not reviewers:
            raise ValueError('"reviewers" must be an object that is not empty')
        return {name: _read_reviewer(name, each) for name, each in reviewers.items()}
    except OSError as error:
        raise ConfigError(f"quorum.calibration: {path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # no UTF-8 and no JSON are such errors too
        raise ConfigError(f"quorum.calibration: {path} is no calibration: {error}; {_RENEW}") from error


def _describe(each: ReviewerCalibration) -> JsonObject:
    return {
        "misses": _describe_share(each.misses),
        "friction": _describe_share(each.friction),
        "approve_from": each.approve_from,
        "weight": each.weight,
        "asked_with": each.asked_with,
    }


def _describe_share(share: MeasuredShare) -> JsonObject:
    return {"count": share.count, "of": share.of, "low": share.low, "high": share.high}


def _read_reviewer(name: str, given: object) -> ReviewerCalibration:
    if not isinstance(given, dict):
        raise ValueError(f"{name} must be an object")
    asked_with = given.get("asked_with")
    if not isinstance(asked_with, str):
        raise ValueError(f"{name}.asked_with must be a text")
    return ReviewerCalibration(
        misses=_read_share(f"{name}.misses", given.get("misses")),
        friction=_read_share(f"{name}.friction", given.get("friction")),
        approve_from=_read_number(f"{name}.approve_from", given.get("approve_from")),
        weight=_read_number(f"{name}.weight", given.get("weight")),
        asked_with=asked_with,
    )


def _read_share(name: str, given: object) -> MeasuredShare:
    """A share with the interval that follows from its counts, whatever the file says."""
    if not isinstance(given, dict):
        raise ValueError(f"{name} must be an object")
    count, of = given.get("count"), given.get("of")
    if not _is_count(count) or not _is_count(of) or not 0 <= count <= of or of == 0:
        raise ValueError(f"{name} must have a count and of how many it is")
    return convert_rate(Rate(count, of))


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value < 10**9


def _read_number(name: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1e6:
        raise ValueError(f"{name} must be a number from 0 upwards")
    return float(given)
