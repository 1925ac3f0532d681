"""What names stand for while code is gone through."""

from __future__ import annotations

from quorum.domain.review.effects.noted_names import NotedNames


def test_a_name_that_is_asked_about_before_it_is_known_came_late() -> None:
    names = NotedNames[str]()

    assert names.find("path") is None
    names.note("path", "a.txt")

    assert names.came_late
    assert names.find("path") == "a.txt"


def test_a_name_that_is_known_first_or_does_not_change_did_not() -> None:
    names = NotedNames[str]()

    names.note("path", "a.txt")
    names.note("path", "b.txt")
    assert names.find("path") == "b.txt"
    names.note("path", "b.txt")

    assert not names.came_late
