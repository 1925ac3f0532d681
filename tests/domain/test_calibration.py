"""Calibration: it takes approvals away, and never gives one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.review.ballot import Ballot, InScope, QuorumRule, Verdict, Vote
from quorum.domain.review.calibration import Calibration, MeasuredShare, ReviewerCalibration, weigh
from quorum.domain.review.quorum_result import count_votes
from tests.support.examples import examples

RULES = ("majority", "unanimous", "67%", "atleast:1", "atleast:2")


def share(count: int, of: int, low: float, high: float) -> MeasuredShare:
    return MeasuredShare(count=count, of=of, low=low, high=high)


def measured(approve_from: float = 0.0, weight: float = 1.0) -> ReviewerCalibration:
    some = share(3, 100, 0.01, 0.085)
    return ReviewerCalibration(
        misses=some, friction=some, approve_from=approve_from, weight=weight, asked_with="x"
    )


def vote(reviewer: str, vote: Vote, confidence: float | None = 0.9) -> Ballot:
    return Ballot(reviewer=reviewer, vote=vote, reason="r", confidence=confidence, in_scope=InScope.YES)


def count(
    ballots: list[Ballot], calibration: Calibration, rule: str = "majority", reviewers: int = 3
) -> tuple[Verdict, str]:
    counted = count_votes(
        ballots, QuorumRule.parse(rule), min_votes=2, reviewers=reviewers, calibration=calibration
    )
    return counted.verdict, counted.doubt


APPROVE, REJECT = Vote.APPROVE, Vote.REJECT
TWO_TO_ONE = [vote("a", APPROVE), vote("b", APPROVE), vote("c", REJECT)]


def test_without_figures_the_rule_alone_counts() -> None:
    assert count(TWO_TO_ONE, Calibration()) == (Verdict.APPROVED, "")


def test_an_approval_below_the_confidence_that_proved_right_does_not_carry_the_rule() -> None:
    calibration = Calibration(reviewers={"a": measured(approve_from=0.95), "b": measured(), "c": measured()})

    assert count(TWO_TO_ONE, calibration) == (
        Verdict.UNCLEAR,
        "not approved by those that were sure enough",
    )


def test_an_approval_without_confidence_is_not_sure() -> None:
    calibration = Calibration(reviewers={"a": measured(approve_from=0.5)})
    ballots = [vote("a", APPROVE, None), vote("b", APPROVE), vote("c", REJECT)]

    assert count(ballots, calibration)[0] is Verdict.UNCLEAR


def test_two_poor_reviewers_do_not_outvote_a_good_one() -> None:
    calibration = Calibration(
        reviewers={"a": measured(weight=1.0), "b": measured(weight=1.0), "c": measured(weight=3.0)}
    )

    assert count(TWO_TO_ONE, calibration) == (Verdict.UNCLEAR, "not approved by those that miss least")


def test_a_reviewer_without_figures_weighs_as_little_as_the_least() -> None:
    calibration = Calibration(reviewers={"b": measured(weight=1.0), "c": measured(weight=3.0)})

    assert count(TWO_TO_ONE, calibration)[0] is Verdict.UNCLEAR


def test_one_good_reviewer_does_not_outvote_two_poor_ones() -> None:
    calibration = Calibration(reviewers={"a": measured(weight=9.0), "b": measured(), "c": measured()})
    ballots = [vote("a", APPROVE), vote("b", REJECT), vote("c", REJECT)]

    assert count(ballots, calibration)[0] is Verdict.REJECTED


def test_an_unsure_approval_is_no_vote_of_its_family() -> None:
    ballots = [vote("p/claude", APPROVE), vote("q/gpt", APPROVE), vote("r/gpt", APPROVE)]
    calibration = Calibration(reviewers={"p/claude": measured(approve_from=0.95)})
    counted = count_votes(
        ballots,
        QuorumRule.parse("majority"),
        min_votes=2,
        reviewers=3,
        min_families=2,
        calibration=calibration,
    )

    assert counted.verdict is Verdict.UNCLEAR


def test_a_doubted_count_says_why() -> None:
    calibration = Calibration(reviewers={"a": measured(approve_from=2.0)})
    counted = count_votes(
        TWO_TO_ONE, QuorumRule.parse("majority"), min_votes=2, reviewers=3, calibration=calibration
    )

    assert counted.describe_count() == (
        "2 for, 1 against (majority): unclear, not approved by those that were sure enough"
    )


@given(
    votes=st.lists(
        st.tuples(st.sampled_from(Vote), st.one_of(st.none(), st.floats(0, 1))), min_size=1, max_size=5
    ),
    known=st.dictionaries(st.sampled_from("01234"), st.tuples(st.floats(0, 2), st.floats(0, 10)), max_size=5),
    missing=st.integers(0, 2),
    rule=st.sampled_from(RULES),
)
@examples(300)
def test_a_calibration_only_turns_approvals_into_questions(
    votes: list[tuple[Vote, float | None]],
    known: dict[str, tuple[float, float]],
    missing: int,
    rule: str,
) -> None:
    ballots = [vote(str(place), each, confidence) for place, (each, confidence) in enumerate(votes)]
    calibration = Calibration(
        reviewers={name: measured(least, weight) for name, (least, weight) in known.items()}
    )
    reviewers = len(ballots) + missing

    before, _ = count(ballots, Calibration(), rule, reviewers)
    after, doubt = count(ballots, calibration, rule, reviewers)

    assert after is before or (before, after) == (Verdict.APPROVED, Verdict.UNCLEAR)
    assert bool(doubt) == (after is not before)


@pytest.mark.parametrize(
    ("misses", "text"),
    [
        (share(13, 431, 0.0177, 0.0509), "misses 3 % of harm (2–5 %, n=431)"),
        (share(0, 36, 0.0, 0.0964), "misses 0 % of harm (0–10 %, n=36)"),
        (share(2, 431, 0.0013, 0.0168), "misses 0.5 % of harm (0.1–2 %, n=431)"),
    ],
)
def test_what_is_shown_has_its_interval_and_its_base(misses: MeasuredShare, text: str) -> None:
    figures = ReviewerCalibration(misses=misses, friction=misses, approve_from=0.0, weight=1.0, asked_with="x")

    assert figures.describe() == text


def test_a_reviewer_that_may_be_no_better_than_chance_weighs_nothing() -> None:
    assert weigh(share(5, 10, 0.24, 0.76), share(5, 10, 0.24, 0.76)) == 0.0
    assert weigh(share(0, 100, 0.0, 0.04), share(0, 100, 0.0, 0.04)) > 3
