"""Findings of several reviewers: what is one, what stays two, and what trials make of them."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.code_review.change import Change, ChangeHunk, FileDiff, FileStatus
from quorum.domain.code_review.review_result import (
    CodeFinding,
    FindingKind,
    FindingStanding,
    ReportedFinding,
    Ruling,
    Trial,
    merge_findings,
    sort_findings,
)
from quorum.domain.replacing import replace
from quorum.domain.review.severity import Severity

CLAIM = "the retry limit is never checked so the loop does not end"


def finding(line: int = 10, claim: str = CLAIM, **more: object) -> ReportedFinding:
    usual = {
        "file": "a.py", "severity": Severity.HIGH, "kind": FindingKind.CORRECTNESS, "evidence": "e",
    } | more  # fmt: skip
    return ReportedFinding(line=line, claim=claim, **usual)  # type: ignore[arg-type]


def change(*lines: str, start: int = 10) -> Change:
    hunk = ChangeHunk(old_start=start, new_start=start, lines=tuple(f"+{line}" for line in lines))
    return Change(description="c", files=(FileDiff(path="a.py", status=FileStatus.MODIFIED, hunks=(hunk,)),))


def ruled(*rulings: Ruling) -> tuple[Trial, ...]:
    return tuple(Trial(finding="F1", model="p/m", ruling=ruling, reason="r") for ruling in rulings)


def test_what_two_reviewers_say_of_the_same_lines_is_one_finding_of_both() -> None:
    other = finding(12, "retry limit is not checked, the loop never ends", severity=Severity.CRITICAL)
    (merged,) = merge_findings([("A", finding()), ("B", other)], change("x"))
    assert merged.reviewers == ("A", "B")
    assert merged.report.severity is Severity.CRITICAL
    assert merged.others == (finding(),)
    assert merged.standing is FindingStanding.CONFIRMED


def test_what_one_reviewer_reports_in_each_of_several_parts_is_said_once() -> None:
    (merged,) = merge_findings([("A", finding()), ("B", finding()), ("A", finding())], change("x"))
    assert merged.reviewers == ("A", "B")
    assert merged.others == (finding(),)


@pytest.mark.parametrize(
    "other",
    [
        finding(20),
        finding(file="b.py"),
        finding(10, "user input reaches the shell", kind=FindingKind.SECURITY),
    ],
)
def test_another_place_or_another_defect_is_another_finding(other: ReportedFinding) -> None:
    assert len(merge_findings([("A", finding()), ("B", other)], change("x"))) == 2


def test_two_findings_of_one_reviewer_stay_two() -> None:
    nearly = finding(11, CLAIM + " at all")
    assert len(merge_findings([("A", finding()), ("A", nearly)], change("x"))) == 2
    assert len(merge_findings([("A", finding()), ("A", finding())], change("x"))) == 1


def test_what_a_reviewer_says_twice_is_in_one_finding_though_others_lead_to_another_between() -> None:
    again = ("C", finding(20))
    merged = merge_findings([("A", finding(15)), again, ("B", finding(17)), again], change("x"))
    assert sorted((each.reviewers, 1 + len(each.others)) for each in merged) == [(("A", "B"), 2), (("C",), 1)]


@given(
    st.lists(
        st.tuples(
            st.sampled_from("ABC"),
            st.builds(finding, st.integers(0, 20), st.sampled_from([CLAIM, "the index is wrong", "leaks"])),
        ),
        max_size=8,
    )
)
def test_nothing_that_was_reported_is_lost(reported: list[tuple[str, ReportedFinding]]) -> None:
    merged = merge_findings(reported, change("x"))
    kept = [one for each in merged for one in (each.report, *each.others)]
    assert sorted(map(repr, kept)) == sorted(repr(one) for _, one in dict.fromkeys(reported))
    assert {label for each in merged for label in each.reviewers} == {label for label, _ in reported}


@pytest.mark.parametrize(
    ("rulings", "standing"),
    [
        ((), FindingStanding.UNTRIED),
        ((Ruling.UNCLEAR,), FindingStanding.UNTRIED),
        ((Ruling.CONFIRMED,), FindingStanding.CONFIRMED),
        ((Ruling.REFUTED,), FindingStanding.REFUTED),
        ((Ruling.REFUTED, Ruling.CONFIRMED), FindingStanding.CONTESTED),
    ],
)
def test_trials_decide_how_a_finding_stands(rulings: tuple[Ruling, ...], standing: FindingStanding) -> None:
    for order in permutations(rulings):
        assert (
            CodeFinding(id="F1", report=finding(), reviewers=("A",), trials=ruled(*order)).standing is standing
        )


@given(st.lists(st.sampled_from(Ruling), max_size=5), st.integers(1, 4))
def test_agreement_never_lowers_a_finding(rulings: list[Ruling], reviewers: int) -> None:
    order = list(FindingStanding)
    before = CodeFinding(
        id="F1", report=finding(), reviewers=tuple("ABCDE"[:reviewers]), trials=ruled(*rulings)
    )
    raised = replace(before, reviewers=(*before.reviewers, "X"))
    confirmed = replace(before, trials=(*before.trials, *ruled(Ruling.CONFIRMED)))
    for after in (raised, confirmed):
        assert order.index(after.standing) <= order.index(before.standing)


def test_the_surest_and_gravest_come_first_and_refuted_ones_last() -> None:
    grave = CodeFinding(
        id="F1", report=finding(severity=Severity.CRITICAL), reviewers=("A",), trials=ruled(Ruling.REFUTED)
    )
    sure = CodeFinding(id="F2", report=finding(severity=Severity.LOW), reviewers=("A", "B"))
    assert sort_findings([grave, sure]) == (sure, grave)


def test_a_fingerprint_survives_moved_lines_and_other_words() -> None:
    (before,) = merge_findings([("A", finding(11))], change("x", "  loop()"))
    (after,) = merge_findings([("B", finding(41, "it loops"))], change("y", "loop()", start=40))
    assert before.fingerprint == after.fingerprint
    (other,) = merge_findings([("A", finding(11))], change("x", "stop()"))
    assert other.fingerprint != before.fingerprint


def test_two_defects_of_one_line_have_two_fingerprints() -> None:
    found = merge_findings([("A", finding(10)), ("A", finding(10, "leaks memory"))], change("x"))
    assert len({one.fingerprint for one in found}) == 2
