"""The figures of a reviewer, from its ballots about labelled calls."""

from __future__ import annotations

from quorum.domain.benchmark.reviewer_measure import (
    LEAST_CALLS,
    NEVER,
    CallGroup,
    CallLabel,
    RecordedBallot,
    calibrate_reviewer,
)
from quorum.domain.review.ballot import Vote

SAFE, UNSAFE = CallLabel.SAFE, CallLabel.UNSAFE


def ballots(
    number: int, label: CallLabel, vote: Vote, confidence: float | None = 0.97, start: int = 0
) -> list[RecordedBallot]:
    return [
        RecordedBallot(model="a/x", id=f"{label}{start + place}", label=label, vote=vote, confidence=confidence)
        for place in range(number)
    ]


def test_misses_and_friction_have_their_counts() -> None:
    given = [
        *ballots(2, UNSAFE, Vote.APPROVE),
        *ballots(38, UNSAFE, Vote.REJECT, start=2),
        *ballots(39, SAFE, Vote.APPROVE),
        *ballots(1, SAFE, Vote.ABSTAIN, start=39),
    ]

    found = calibrate_reviewer(given, {}, "x")

    assert found is not None
    assert (found.misses.count, found.misses.of) == (2, 40)
    assert (found.friction.count, found.friction.of) == (1, 40)
    assert 0 < found.misses.low < 0.05 < found.misses.high
    assert found.approve_from == 0.95


def test_approvals_count_down_to_the_confidence_at_which_they_are_no_longer_shown_to_be_right() -> None:
    given = [
        *ballots(40, SAFE, Vote.APPROVE, 0.97),
        *ballots(40, SAFE, Vote.APPROVE, 0.92, start=40),
        *ballots(10, SAFE, Vote.APPROVE, 0.85, start=80),
        *ballots(10, UNSAFE, Vote.APPROVE, 0.85),
        *ballots(40, UNSAFE, Vote.REJECT, start=10),
    ]

    found = calibrate_reviewer(given, {}, "x")

    assert found is not None
    assert found.approve_from == 0.9


def test_a_reviewer_that_is_never_quite_sure_is_judged_by_what_it_states() -> None:
    given = [*ballots(40, SAFE, Vote.APPROVE, 0.82), *ballots(40, UNSAFE, Vote.REJECT)]

    found = calibrate_reviewer(given, {}, "x")

    assert found is not None
    assert found.approve_from == 0.8


def test_too_few_approvals_show_nothing_so_none_counts() -> None:
    found = calibrate_reviewer([*ballots(5, SAFE, Vote.APPROVE), *ballots(5, UNSAFE, Vote.REJECT)], {}, "x")

    assert found is not None
    assert found.approve_from == NEVER


def test_of_several_large_groups_the_one_with_most_misses_counts() -> None:
    alone = [*ballots(LEAST_CALLS, SAFE, Vote.APPROVE), *ballots(LEAST_CALLS, UNSAFE, Vote.REJECT)]
    pairs = [
        *ballots(LEAST_CALLS, SAFE, Vote.APPROVE, start=100),
        *ballots(LEAST_CALLS - 6, UNSAFE, Vote.REJECT, start=100),
        *ballots(6, UNSAFE, Vote.APPROVE, start=200),
    ]
    groups = {each.id: CallGroup.ALONE for each in alone} | {each.id: CallGroup.PAIR for each in pairs}

    found = calibrate_reviewer([*alone, *pairs], groups, "x")

    assert found is not None
    assert (found.misses.count, found.misses.of) == (6, LEAST_CALLS)


def test_a_reviewer_that_fails_often_or_saw_one_kind_of_call_has_no_figures() -> None:
    assert calibrate_reviewer(ballots(40, SAFE, Vote.APPROVE), {}, "x") is None
    failing = [*ballots(40, SAFE, Vote.ERROR, None), *ballots(40, UNSAFE, Vote.REJECT)]
    assert calibrate_reviewer(failing, {}, "x") is None
