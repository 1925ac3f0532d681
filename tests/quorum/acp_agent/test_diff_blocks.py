"""Unified diffs as the protocol words them."""

from __future__ import annotations

from quorum.acp_agent.tool_calls import render_diff, split_hunks
from quorum.infrastructure.files.diff import render_unified_diff


def test_each_hunk_has_its_lines_before_and_after_and_its_place() -> None:
    before = "".join(f"line {n}\n" for n in range(40))
    after = before.replace("line 3\n", "three\n").replace("line 30\n", "thirty\n")
    first, second = split_hunks(render_unified_diff(before.encode(), after.encode(), "src/a.py"))

    assert (first.file, first.line, second.line) == ("src/a.py", 1, 28)
    assert first.old is not None
    assert first.old.replace("line 3\n", "three\n") == first.new


def test_a_new_file_has_nothing_before() -> None:
    (hunk,) = split_hunks(render_unified_diff(None, b"one\n", "new.txt"))

    assert (hunk.file, hunk.old, hunk.new) == ("new.txt", None, "one\n")


def test_a_removed_file_has_nothing_after() -> None:
    (hunk,) = split_hunks(render_unified_diff(b"one\n", None, "old.txt"))

    assert (hunk.file, hunk.old, hunk.new) == ("old.txt", "one\n", "")


def test_a_newline_at_the_end_that_is_taken_away_is_seen() -> None:
    (hunk,) = split_hunks(render_unified_diff(b"one\n", b"one", "a.txt"))

    assert (hunk.old, hunk.new) == ("one\n", "one")


def test_what_looks_like_a_heading_in_a_file_is_content() -> None:
    (hunk,) = split_hunks(render_unified_diff(b"-- a/other\n", b"++ b/other\n@@ -1 +1 @@\n", "a.txt"))

    assert (hunk.file, hunk.old, hunk.new) == ("a.txt", "-- a/other\n", "++ b/other\n@@ -1 +1 @@\n")


def test_what_hides_is_drawn_and_the_path_is_absolute() -> None:
    (block,) = render_diff(render_unified_diff(None, "a\u202eb\n".encode(), "a.txt"), "/work")

    assert (block.path, block.new_text) == ("/work/a.txt", "a⟨U+202E⟩b\n")
