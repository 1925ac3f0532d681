"""The file of a calibration: good, stale, broken and foreign ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.application.review.ballot_paper import QuorumPolicy
from quorum.application.review.voting import fingerprint_reviewer
from quorum.domain.benchmark.reviewer_measure import Rate, convert_rate
from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import parse_lens
from quorum.domain.review.calibration import ReviewerCalibration
from quorum.infrastructure.benchmark.calibration_file import load_calibration, write_calibration

POLICY = QuorumPolicy(reviewers=("a/x",))


def figures(policy: QuorumPolicy = POLICY, reviewer: str = "a/x") -> ReviewerCalibration:
    return ReviewerCalibration(
        misses=convert_rate(Rate(3, 100)),
        friction=convert_rate(Rate(5, 100)),
        approve_from=0.9,
        weight=2.5,
        asked_with=fingerprint_reviewer(policy, reviewer),
    )


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    write_calibration(path, {"a/x": figures()})

    found = load_calibration(path, POLICY)

    assert found.reviewers == {"a/x": figures()}
    assert not found.notices
    assert [each.name for each in tmp_path.iterdir()] == ["calibration.json"]


def test_a_reviewer_that_was_not_measured_is_named_with_those_that_were(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    write_calibration(path, {"a/old": figures()})

    found = load_calibration(path, POLICY)

    assert not found.reviewers
    (notice,) = found.notices
    assert notice.startswith(f"{path} has no figures of a/x, but of a/old; its votes count as without")


def test_figures_of_a_reviewer_that_is_asked_in_another_way_do_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    write_calibration(path, {"a/x": figures()})

    found = load_calibration(path, replace(POLICY, lenses={"a/x": parse_lens("scope")}))

    assert not found.reviewers
    assert "measured a/x with another lens or effort, or other instructions" in found.notices[0]


def test_the_interval_follows_from_the_counts_whatever_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    write_calibration(path, {"a/x": figures()})
    path.write_text(path.read_text().replace('"high": 0.0845', '"high": 0.0001'))

    assert load_calibration(path, POLICY).reviewers["a/x"] == figures()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is no calibration"),
        ("[]", 'it has no "quorum_calibration": 1'),
        ('{"quorum_calibration": 2, "reviewers": {}}', 'it has no "quorum_calibration": 1'),
        ('{"quorum_calibration": 1, "reviewers": {}}', '"reviewers" must be an object that is not empty'),
        ('{"quorum_calibration": 1, "reviewers": {"a/x": 1}}', "a/x must be an object"),
        ("[" * 100_000, "is no calibration"),
        ("\udcff", "is no calibration"),
    ],
)
def test_a_file_that_is_no_calibration_is_an_error_that_names_it(
    tmp_path: Path, content: str, sentence: str
) -> None:
    path = tmp_path / "calibration.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))

    with pytest.raises(ConfigError) as refused:
        load_calibration(path, POLICY)

    assert str(refused.value).startswith(f"quorum.calibration: {path} ")
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    "change",
    [
        {"misses": {"count": 5, "of": 3}},
        {"misses": {"count": -1, "of": 3}},
        {"misses": {"count": True, "of": 3}},
        {"misses": None},
        {"weight": float("nan")},
        {"weight": float("inf")},
        {"weight": -1},
        {"approve_from": "0.9"},
        {"asked_with": None},
    ],
)
def test_figures_that_cannot_be_are_an_error(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "calibration.json"
    write_calibration(path, {"a/x": figures()})
    content = json.loads(path.read_text())
    content["reviewers"]["a/x"] |= change
    path.write_text(json.dumps(content))

    with pytest.raises(ConfigError, match=r"is no calibration: a/x\."):
        load_calibration(path, POLICY)


def test_a_file_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"quorum\.calibration: .*none\.json cannot be read"):
        load_calibration(tmp_path / "none.json", POLICY)
    with pytest.raises(ConfigError, match="cannot be written"):
        write_calibration(tmp_path / "no" / "folder.json", {"a/x": figures()})
