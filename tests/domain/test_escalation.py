from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.review.ballot import Ballot, DecidedBy, InScope, QuorumRule, Tally, Verdict, Vote, tally
from quorum.domain.review.quorum_result import Escalation, count_votes

FIRST = Escalation(first="p/m0", below=0.8)
_RULES = ("majority", "unanimous", "atleast:1", "atleast:2", "atleast:3", "50%", "67%")
_CONFIDENCE = st.sampled_from([None, 0.0, 0.79, 0.8, 1.0])
_BALLOT = st.tuples(st.sampled_from(Vote), st.sampled_from([None, *InScope]), _CONFIDENCE)
_BALLOTS = st.lists(_BALLOT, min_size=1, max_size=5)


def _ballots(answers: Sequence[tuple[Vote, InScope | None, float | None]]) -> list[Ballot]:
    return [
        Ballot(reviewer=f"p/m{i}", vote=vote, in_scope=scope, confidence=sure, reason="so")
        for i, (vote, scope, sure) in enumerate(answers)
    ]


def _count(ballots: Sequence[Ballot], reviewers: int, rule: str = "majority", min_votes: int = 2) -> Tally:
    return count_votes(
        ballots, QuorumRule.parse(rule), min_votes=min_votes, reviewers=reviewers, escalation=FIRST
    )


def _asked(answers: Sequence[tuple[Vote, InScope | None, float | None]]) -> list[Ballot]:
    """The ballots that are asked for: the first, and the others where that leaves doubt."""
    ballots = _ballots(answers)
    return ballots[:1] if FIRST.is_settled_by(ballots[:1]) else ballots


@pytest.mark.parametrize("rule", _RULES)
def test_one_sure_approval_of_what_was_asked_is_enough_and_is_not_passed_off_as_the_rule(rule: str) -> None:
    counted = _count(_ballots([(Vote.APPROVE, InScope.YES, 0.8)]), 3, rule, min_votes=3)
    assert (counted.verdict, counted.decided_by) == (Verdict.APPROVED, DecidedBy.FIRST_VOTE)
    assert counted.describe_count() == "1 for, 0 against, 2 not asked (first vote): approved"


@pytest.mark.parametrize(
    "doubtful",
    [
        (Vote.APPROVE, InScope.YES, 0.79),
        (Vote.APPROVE, InScope.YES, None),
        (Vote.APPROVE, InScope.NO, 1.0),
        (Vote.APPROVE, InScope.UNCLEAR, 1.0),
        (Vote.APPROVE, None, 1.0),
        (Vote.REJECT, InScope.YES, 1.0),
        (Vote.ABSTAIN, InScope.YES, 1.0),
        (Vote.ERROR, None, None),
    ],
)
def test_doubt_and_an_outage_of_the_first_settle_nothing(
    doubtful: tuple[Vote, InScope | None, float | None],
) -> None:
    counted = _count(_ballots([doubtful]), 3)
    assert counted.verdict is not Verdict.APPROVED
    assert (counted.not_asked, counted.decided_by) == (0, DecidedBy.RULE)


def test_a_sure_approval_of_another_reviewer_settles_nothing() -> None:
    (other,) = [Ballot(reviewer="p/m1", vote=Vote.APPROVE, in_scope=InScope.YES, confidence=1.0, reason="so")]
    assert not FIRST.is_settled_by([other])


@given(answers=_BALLOTS, rule=st.sampled_from(_RULES), min_votes=st.integers(1, 5))
def test_where_the_others_are_asked_the_rule_counts_as_it_does_without_escalation(
    answers: list[tuple[Vote, InScope | None, float | None]], rule: str, min_votes: int
) -> None:
    ballots = _asked(answers)
    if len(ballots) < 2:
        return
    parsed = QuorumRule.parse(rule)
    plain = tally(ballots, parsed, min_votes=min_votes, reviewers=len(answers))
    assert _count(ballots, len(answers), rule, min_votes) == plain


@given(answers=_BALLOTS, rule=st.sampled_from(_RULES), min_votes=st.integers(1, 5))
def test_one_vote_rejects_nothing_unless_there_is_only_one_reviewer(
    answers: list[tuple[Vote, InScope | None, float | None]], rule: str, min_votes: int
) -> None:
    counted = _count(_asked(answers), len(answers), rule, min_votes)
    if counted.decided_by is DecidedBy.FIRST_VOTE:
        assert counted.verdict is Verdict.APPROVED


@given(answers=_BALLOTS, place=st.integers(0, 4), rule=st.sampled_from(_RULES), min_votes=st.integers(1, 5))
def test_an_outage_of_anybody_never_moves_a_call_towards_running(
    answers: list[tuple[Vote, InScope | None, float | None]], place: int, rule: str, min_votes: int
) -> None:
    failed = list(answers)
    failed[place % len(answers)] = (Vote.ERROR, None, None)
    before = _count(_asked(answers), len(answers), rule, min_votes)
    after = _count(_asked(failed), len(answers), rule, min_votes)
    assert after.verdict is not Verdict.APPROVED or before.verdict is Verdict.APPROVED
