from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.replacing import replace
from quorum.domain.review.ballot import (
    BadQuorumRule,
    Ballot,
    InScope,
    QuorumRule,
    Tally,
    Verdict,
    Vote,
    sort_dissent_first,
    tally,
)

_RULES = ("majority", "unanimous", "atleast:1", "atleast:2", "atleast:3", "50%", "67%", "100%")
_STRENGTH = {Verdict.REJECTED: 0, Verdict.UNCLEAR: 1, Verdict.APPROVED: 2}


def _ballots(votes: tuple[Vote, ...]) -> list[Ballot]:
    return [Ballot(reviewer=f"p/m{i}", vote=vote, reason="so") for i, vote in enumerate(votes)]


def _verdict(*votes: Vote, rule: str = "majority", min_votes: int = 2, reviewers: int | None = None) -> Verdict:
    count = tally(
        _ballots(votes), QuorumRule.parse(rule), min_votes=min_votes, reviewers=reviewers or len(votes)
    )
    return count.verdict


@pytest.mark.parametrize(
    ("votes", "rule", "verdict"),
    [
        ("aa", "majority", "approved"),
        ("ar", "majority", "rejected"),
        ("rr", "majority", "rejected"),
        ("aar", "majority", "approved"),
        ("arr", "majority", "rejected"),
        ("aae", "majority", "approved"),
        ("are", "majority", "unclear"),
        ("rre", "majority", "rejected"),
        ("aas", "majority", "approved"),
        ("ars", "majority", "rejected"),
        ("ae", "majority", "unclear"),
        ("ee", "majority", "unclear"),
        ("ss", "majority", "unclear"),
        ("as", "majority", "unclear"),
        ("aee", "majority", "unclear"),
        ("aaa", "unanimous", "approved"),
        ("aar", "unanimous", "rejected"),
        ("aae", "unanimous", "unclear"),
        ("are", "unanimous", "rejected"),
        ("aar", "atleast:2", "approved"),
        ("arr", "atleast:2", "rejected"),
        ("are", "atleast:2", "unclear"),
        ("aar", "67%", "rejected"),
        ("aaar", "67%", "approved"),
        ("aarr", "50%", "approved"),
    ],
)
def test_votes_are_counted_by_the_rule(votes: str, rule: str, verdict: str) -> None:
    letters = {"a": Vote.APPROVE, "r": Vote.REJECT, "s": Vote.ABSTAIN, "e": Vote.ERROR}
    assert _verdict(*(letters[letter] for letter in votes), rule=rule) == verdict


def test_a_single_reviewer_is_enough_where_there_is_only_one() -> None:
    assert _verdict(Vote.APPROVE) is Verdict.APPROVED
    assert _verdict(Vote.REJECT) is Verdict.REJECTED
    assert _verdict(Vote.ERROR) is Verdict.UNCLEAR


def test_too_few_approvals_are_no_rejection_where_nobody_said_no() -> None:
    votes = (Vote.APPROVE, Vote.APPROVE, Vote.ABSTAIN, Vote.ABSTAIN)
    assert _verdict(*votes, rule="atleast:3") is Verdict.UNCLEAR


def test_a_ballot_that_never_came_counts_as_failed() -> None:
    assert _verdict(Vote.APPROVE, Vote.APPROVE, reviewers=5) is Verdict.UNCLEAR
    assert _verdict(Vote.APPROVE, Vote.APPROVE, reviewers=3) is Verdict.APPROVED


@pytest.mark.parametrize("rule", _RULES)
def test_an_error_in_place_of_any_ballot_of_three_never_moves_the_verdict_to_a_clearer_one(rule: str) -> None:
    for votes in product(Vote, repeat=3):
        before = _verdict(*votes, rule=rule)
        for place in range(3):
            failed = (*votes[:place], Vote.ERROR, *votes[place + 1 :])
            after = _verdict(*failed, rule=rule)
            assert after is before or after is Verdict.UNCLEAR, (votes, place, before, after)


@given(
    votes=st.lists(st.sampled_from(Vote), min_size=1, max_size=9),
    place=st.integers(0, 8),
    rule=st.sampled_from(_RULES)
    | st.integers(1, 100).map("{}%".format)
    | st.integers(1, 9).map("atleast:{}".format),
    min_votes=st.integers(1, 9),
)
def test_an_outage_never_moves_a_decision_towards_running_nor_turns_unclear_into_a_block(
    votes: list[Vote], place: int, rule: str, min_votes: int
) -> None:
    before = _verdict(*votes, rule=rule, min_votes=min_votes)
    failed = list(votes)
    failed[place % len(votes)] = Vote.ERROR
    after = _verdict(*failed, rule=rule, min_votes=min_votes)
    assert after is before or after is Verdict.UNCLEAR


@given(
    votes=st.lists(st.sampled_from(Vote), min_size=1, max_size=7),
    place=st.integers(0, 6),
    rule=st.sampled_from(_RULES),
)
def test_a_rejection_in_place_of_an_approval_never_helps_a_call(
    votes: list[Vote], place: int, rule: str
) -> None:
    with_approval, with_rejection = list(votes), list(votes)
    with_approval[place % len(votes)] = Vote.APPROVE
    with_rejection[place % len(votes)] = Vote.REJECT
    better, worse = _verdict(*with_approval, rule=rule), _verdict(*with_rejection, rule=rule)
    assert _STRENGTH[worse] <= _STRENGTH[better]


@pytest.mark.parametrize("text", ["", "most", "atleast:0", "atleast:", "0%", "101%", "%", "atleast:-1", "5"])
def test_what_is_no_rule_is_refused_with_what_is_one(text: str) -> None:
    with pytest.raises(BadQuorumRule, match="majority, unanimous, atleast:N"):
        QuorumRule.parse(text)


def test_the_strongest_objection_stands_first_and_failures_last() -> None:
    approve, failed, mild, strong = _ballots((Vote.APPROVE, Vote.ERROR, Vote.REJECT, Vote.REJECT))
    mild, strong = replace(mild, confidence=0.4), replace(strong, confidence=0.9)
    assert sort_dissent_first([approve, failed, mild, strong]) == (strong, mild, approve, failed)


def test_the_count_reads_as_one_line() -> None:
    count = tally(
        _ballots((Vote.APPROVE, Vote.REJECT, Vote.ABSTAIN, Vote.ERROR)),
        QuorumRule.parse("majority"),
        min_votes=2,
        reviewers=4,
    )
    assert count.describe_count() == "1 for, 1 against, 1 abstained, 1 failed (majority): unclear"


# ---------------------------------------------------------------- what was asked for

_ANSWERS = [(vote, scope) for vote in (Vote.APPROVE, Vote.REJECT, Vote.ABSTAIN) for scope in InScope]
_ANSWER = st.sampled_from([*_ANSWERS, (Vote.ERROR, None)])
_RULE = (
    st.sampled_from(_RULES) | st.integers(1, 100).map("{}%".format) | st.integers(1, 9).map("atleast:{}".format)
)


def _answered(answers: Sequence[tuple[Vote, InScope | None]]) -> list[Ballot]:
    return [
        Ballot(reviewer=f"p/m{i}", vote=vote, in_scope=scope, reason="so")
        for i, (vote, scope) in enumerate(answers)
    ]


def _count(ballots: Sequence[Ballot], rule: str, min_votes: int = 2) -> Tally:
    return tally(ballots, QuorumRule.parse(rule), min_votes=min_votes, reviewers=len(ballots))


@pytest.mark.parametrize(
    ("vote", "in_scope", "counts_as"),
    [
        (Vote.APPROVE, InScope.YES, Vote.APPROVE),
        (Vote.APPROVE, InScope.NO, Vote.REJECT),
        (Vote.APPROVE, InScope.UNCLEAR, Vote.ABSTAIN),
        (Vote.APPROVE, None, Vote.APPROVE),
        *((Vote.REJECT, scope, Vote.REJECT) for scope in (*InScope, None)),
        *((Vote.ABSTAIN, scope, Vote.ABSTAIN) for scope in (*InScope, None)),
        (Vote.ERROR, None, Vote.ERROR),
    ],
)
def test_an_approval_of_what_nobody_asked_for_is_none(
    vote: Vote, in_scope: InScope | None, counts_as: Vote
) -> None:
    (given,) = _answered([(vote, in_scope)])
    assert given.counts_as is counts_as


@given(answers=st.lists(_ANSWER, min_size=1, max_size=7), rule=_RULE, min_votes=st.integers(1, 7))
def test_what_is_counted_is_what_the_ballots_count_as_under_every_rule(
    answers: list[tuple[Vote, InScope | None]], rule: str, min_votes: int
) -> None:
    ballots = _answered(answers)
    plain = _ballots(tuple(ballot.counts_as for ballot in ballots))
    assert _count(ballots, rule, min_votes) == _count(plain, rule, min_votes)


@given(
    answers=st.lists(_ANSWER, min_size=1, max_size=7).flatmap(
        lambda given: st.tuples(st.just(given), st.permutations(given))
    ),
    rule=_RULE,
    min_votes=st.integers(1, 7),
)
def test_the_order_in_which_ballots_arrive_changes_nothing(
    answers: tuple[list[tuple[Vote, InScope | None]], list[tuple[Vote, InScope | None]]],
    rule: str,
    min_votes: int,
) -> None:
    one, other = map(_answered, answers)
    assert _count(one, rule, min_votes) == _count(other, rule, min_votes)


@given(
    answers=st.lists(_ANSWER, min_size=1, max_size=7),
    place=st.integers(0, 6),
    worse=st.sampled_from([InScope.NO, InScope.UNCLEAR]),
    rule=_RULE,
)
def test_doubt_about_the_scope_never_moves_a_call_towards_running_but_by_leaving_the_count(
    answers: list[tuple[Vote, InScope | None]], place: int, worse: InScope, rule: str
) -> None:
    asked_for, doubted = list(answers), list(answers)
    asked_for[place % len(answers)] = (Vote.APPROVE, InScope.YES)
    doubted[place % len(answers)] = (Vote.APPROVE, worse)
    better, doubtful = _count(_answered(asked_for), rule), _count(_answered(doubted), rule)
    if worse is InScope.NO:
        assert _STRENGTH[doubtful.verdict] <= _STRENGTH[better.verdict]
    assert doubtful.verdict is not Verdict.APPROVED or better.verdict is Verdict.APPROVED


@given(
    answers=st.lists(_ANSWER, min_size=1, max_size=7),
    place=st.integers(0, 6),
    rule=_RULE,
    min_votes=st.integers(1, 7),
)
def test_an_outage_in_place_of_any_answer_moves_to_unclear_or_nowhere(
    answers: list[tuple[Vote, InScope | None]], place: int, rule: str, min_votes: int
) -> None:
    failed = list(answers)
    failed[place % len(answers)] = (Vote.ERROR, None)
    before, after = (_count(_answered(each), rule, min_votes).verdict for each in (answers, failed))
    assert after in (before, Verdict.UNCLEAR)


@pytest.mark.parametrize(
    ("vote", "in_scope", "explained"),
    [
        (Vote.APPROVE, InScope.YES, "so"),
        (Vote.APPROVE, InScope.NO, "outside of what was asked, though it approves: so"),
        (Vote.APPROVE, InScope.UNCLEAR, "perhaps outside of what was asked, though it approves: so"),
        (Vote.REJECT, InScope.NO, "outside of what was asked: so"),
        (Vote.REJECT, None, "so"),
        (Vote.ERROR, None, "so"),
    ],
)
def test_a_ballot_says_in_words_that_a_call_is_outside_of_what_was_asked(
    vote: Vote, in_scope: InScope | None, explained: str
) -> None:
    (given,) = _answered([(vote, in_scope)])
    assert given.explanation == explained


def test_an_approval_that_counts_against_a_call_stands_among_the_objections() -> None:
    fine, outside, unclear = _answered(
        [(Vote.APPROVE, InScope.YES), (Vote.APPROVE, InScope.NO), (Vote.APPROVE, InScope.UNCLEAR)]
    )
    assert sort_dissent_first([fine, unclear, outside]) == (outside, unclear, fine)
