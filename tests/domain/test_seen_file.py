from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.run_state import FileKnowledge, SeenFile, build_seen_file, collect_knowledge


def page(first: int, last: int, *, of: int = 9, sha256: str = "new", path: str = "/a") -> SeenFile:
    return SeenFile(path=path, sha256=sha256, first_line=first, last_line=last, lines=of)


@pytest.mark.parametrize(
    ("seen", "known"),
    [
        ([], None),
        ([page(1, 9, path="/b")], None),
        ([page(1, 9)], FileKnowledge(sha256="new", is_whole=True)),
        ([page(5, 9), page(1, 4)], FileKnowledge(sha256="new", is_whole=True)),
        ([page(1, 4), page(6, 9)], FileKnowledge(sha256="new", is_whole=False)),
        ([page(1, 9, sha256="old"), page(1, 4)], FileKnowledge(sha256="new", is_whole=False)),
        ([page(1, 4), page(1, 9, sha256="old"), page(5, 9)], FileKnowledge(sha256="new", is_whole=False)),
        ([page(1, 4), SeenFile(path="/a", sha256="new")], FileKnowledge(sha256="new", is_whole=True)),
    ],
)
def test_pages_of_one_content_add_up_and_another_content_ends_them(seen, known):
    assert collect_knowledge("/a", seen) == known


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), max_size=6))
def test_a_file_is_seen_whole_exactly_if_every_line_is_on_a_page(pages):
    known = collect_knowledge("/a", [page(first, last) for first, last in pages])

    lines = {line for first, last in pages for line in range(first, last + 1)}
    assert (known is not None and known.is_whole) == (lines == set(range(1, 10)))


@pytest.mark.parametrize(
    ("known", "whole"),
    [
        (None, False),
        (FileKnowledge(sha256="old", is_whole=False), False),
        (FileKnowledge(sha256="old", is_whole=True), True),
    ],
)
def test_an_edit_shows_no_line_that_was_not_known_before(known, whole):
    after = collect_knowledge("/a", [build_seen_file("/a", "new", known)])

    assert after == FileKnowledge(sha256="new", is_whole=whole)
