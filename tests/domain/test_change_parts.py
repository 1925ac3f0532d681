"""A change as text for reviewers, in parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.code_review.change import (
    Change,
    ChangeHunk,
    FileDiff,
    FileStatus,
    leave_out_generated,
    list_hidden_characters,
    list_left_out,
    render_around,
    split_change,
)


def file(path: str = "a.py", *lines: str, start: int = 1) -> FileDiff:
    hunk = ChangeHunk(old_start=start, new_start=start, lines=tuple(lines))
    return FileDiff(path=path, status=FileStatus.MODIFIED, hunks=(hunk,) if lines else ())


def change(*files: FileDiff) -> Change:
    return Change(description="c", files=files)


def test_each_line_stands_behind_its_number_after_the_change() -> None:
    (part,) = split_change(change(file("a.py", " one", "-two", "+three", start=9)), 9_000)
    assert part.text == "=== a.py · modified\n@@ from line 9 @@\n     9  one\n       -two\n    10 +three"


@given(st.lists(st.integers(1, 60), min_size=1, max_size=12))
def test_no_line_is_lost_however_a_change_is_split(lengths: list[int]) -> None:
    files = [file(f"f{n}.py", *(f"+x{n}.{k}" for k in range(size))) for n, size in enumerate(lengths)]
    parts = split_change(change(*files), 1_100)
    text = "\n".join(part.text for part in parts)
    for n, size in enumerate(lengths):
        assert [row for row in text.splitlines() if row[8:].startswith(f"x{n}.")] == [
            f"{k + 1:>6} +x{n}.{k}" for k in range(size)
        ]
    assert [part.number for part in parts] == list(range(1, len(parts) + 1))
    assert all(len(part.text.encode()) < 2_400 for part in parts)


def test_a_file_longer_than_a_part_continues_in_the_next_with_its_line_numbers() -> None:
    parts = split_change(change(file("a.py", *(f"+line {n}" for n in range(400)))), 4_000)
    assert len(parts) > 1
    assert parts[1].text.startswith("=== a.py · modified (continued)\n")
    assert all(part.paths == ("a.py",) for part in parts)


def test_characters_that_hide_are_shown_and_their_lines_named() -> None:
    hostile = change(file("a.py", "+ok\t\r", "+if x:\u202e # }", "-\u200b", "+\x1b[2J"))
    (part,) = split_change(hostile, 9_000)
    assert "⟨U+202E⟩" in part.text
    assert "\x1b" not in part.text
    assert list_hidden_characters(hostile) == (
        "a.py has control or invisible characters in the lines 2, 3; they are shown as escapes",
    )


def test_a_name_cannot_begin_a_line_of_its_own() -> None:
    (part,) = split_change(change(file("a\n=== b.py · added", "+x")), 9_000)
    assert part.text.startswith("=== a⏎=== b.py · added · modified\n")


@pytest.mark.parametrize(
    ("path", "lines", "shown"), [("uv.lock", 401, False), ("uv.lock", 400, True), ("a.py", 900, True)]
)
def test_only_long_files_with_names_of_generated_ones_are_left_out(path: str, lines: int, shown: bool) -> None:
    left = leave_out_generated(file(path, *["+// @generated"] * lines))
    assert bool(left.hunks) is shown
    assert bool(list_left_out(change(left))) is not shown


def test_an_endless_line_is_cut_and_says_so() -> None:
    (part,) = split_change(change(file("a.js", "+" + "x" * 100_000)), 9_000)
    assert part.text.endswith("[… 98,000 characters more]")


def test_around_a_line_is_what_is_nearest_to_it() -> None:
    text = render_around(file("a.py", *(f"+line {n}" for n in range(1, 500))), 250, lines=2)
    assert [row.split()[-1] for row in text.splitlines()[1:]] == ["248", "249", "250", "251"]
    assert render_around(file("a.py"), 3) == "=== a.py · modified"
