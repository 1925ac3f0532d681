"""Reviews of changes with known defects: what scripted reviewers find is all in the result, once."""

from __future__ import annotations

import pytest

from quorum.domain.code_review.change import Change, CodeReviewPolicy
from quorum.domain.code_review.review_result import FindingStanding
from quorum.domain.code_review.unified_diff import parse_files
from tests.benchmarks.seeded_defects import SEEDED_DEFECTS
from tests.support.code_review_bench import DOWN, Bench, make_change, report, synthesis

DIFF = "".join(defect.diff for defect in SEEDED_DEFECTS)
CHANGE = Change(description="ten changes", files=parse_files(DIFF), commit="c" * 40)


def test_each_defect_is_in_the_line_that_it_names() -> None:
    assert len(SEEDED_DEFECTS) == 10
    for defect in SEEDED_DEFECTS:
        file = CHANGE.find_file(defect.path)
        assert file is not None
        assert file.find_line(defect.line) == defect.text.splitlines()[defect.line - 1]


def test_nearly_all_are_of_a_kind_that_is_catalogued_and_some_became_known_as_vulnerabilities() -> None:
    assert sum(bool(defect.weakness) for defect in SEEDED_DEFECTS) == 9
    assert sum(bool(defect.published) for defect in SEEDED_DEFECTS) == 4
    assert len({defect.weakness for defect in SEEDED_DEFECTS}) == 10, "no two are of one kind"


async def test_the_union_of_reviewers_finds_what_none_finds_alone() -> None:
    places = [(defect.path, defect.line, defect.claim) for defect in SEEDED_DEFECTS]
    noise = ("close.py", 5, "the name of the variable could be better")
    both = places[4:6]  # found by two of them, in other words and a line beside
    again = [(path, line - 1, f"I think that {claim}") for path, line, claim in both]
    bench = Bench(
        {
            "a": [report("reject", *places[:6], noise), DOWN],
            "b": [report("reject", *again, *places[6:]), DOWN],
            "mod": [synthesis()],
        },
        CHANGE,
    )
    await bench.run()
    found = bench.result.findings
    assert {(one.report.file, one.report.line) for one in found} >= {
        (path, line) for path, line, _ in [*places[:4], *places[6:]]
    }
    assert len(found) == 11, "ten defects and one false alarm"
    twice = [one for one in found if len(one.reviewers) == 2]
    assert {one.report.file for one in twice} == {path for path, _, _ in both}
    assert all(one.standing is FindingStanding.CONFIRMED for one in twice)


@pytest.mark.long
async def test_twenty_thousand_lines_are_reviewed_in_parts() -> None:
    change = make_change(*(f"f{n}.py" for n in range(20)), lines=1_000)
    replies = [report("approve")] * 60
    bench = Bench({"a": list(replies), "b": list(replies), "mod": []}, change, policy=CodeReviewPolicy())
    await bench.run()
    assert bench.result.is_approved
    assert bench.result.parts > 1
    assert bench.requests("a") == bench.requests("b") == bench.result.parts
