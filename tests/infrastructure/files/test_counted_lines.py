"""Lines that come and go are counted as the diff shows them, which is not rendered for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.text.unified_diff import count_changes
from quorum.infrastructure.files.diff import count_changed_lines, render_unified_diff
from tests.support.examples import examples

LINES = st.lists(st.sampled_from([b"a", b"b", b"", b"\xff", b"-- x", b"@@ -1 +1 @@", b"\\"]), max_size=12)
SIDES = st.one_of(
    st.none(),
    st.just(b"\0binary"),
    st.tuples(LINES, st.booleans()).map(lambda side: b"\n".join(side[0]) + b"\n" * side[1]),
)


@examples(150)
@given(before=SIDES, after=SIDES)
def test_the_count_is_that_of_the_diff(before: bytes | None, after: bytes | None) -> None:
    assert count_changed_lines(before, after) == count_changes(render_unified_diff(before, after, "f"))


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        (None, b"a\nb\n", (2, 0)),
        (b"a\nb", None, (0, 2)),
        (b"a\nb\nc\n", b"a\nx\nc\n", (1, 1)),
        (b"a\n", b"a", (1, 1)),
        (b"\0", b"\0\0", (0, 0)),
        ("é\n".encode("utf-16"), "è\n".encode("utf-16"), (1, 1)),
    ],
)
def test_they_are_counted(before: bytes | None, after: bytes | None, counts: tuple[int, int]) -> None:
    assert count_changed_lines(before, after) == counts
