from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.review.ballot import BadQuorumRule, Ballot, QuorumRule, Verdict, Vote, sort_dissent_first, tally

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
    assert count.in_words() == "1 for, 1 against, 1 abstained, 1 failed (majority): unclear"
