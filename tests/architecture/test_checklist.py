from __future__ import annotations

from docs.checklist import PAGE, REQUIREMENTS, render, shown_by


def test_every_requirement_has_a_test_that_carries_its_id() -> None:
    without = [id_ for id_, tests in shown_by().items() if not tests]

    assert without == []


def test_no_test_carries_the_id_of_a_requirement_that_does_not_exist() -> None:
    known = {id_ for requirements in REQUIREMENTS.values() for id_ in requirements}

    assert set(shown_by()) - known == set()


def test_the_page_names_exactly_the_tests_there_are() -> None:
    written = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""

    assert written == render(), "write it anew: python docs/checklist.py"
