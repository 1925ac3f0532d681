import pytest

from domain.text.unified_diff import DiffLine, parse_diff


def test_content_that_looks_like_a_heading_of_a_diff_is_content():
    diff = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n--- a/secret\n-@@ -1 +1 @@\n+++ b/other\n+x\n"

    signs = [(line.sign, line.text) for line in parse_diff(diff)][3:]

    assert signs == [("-", "-- a/secret"), ("-", "@@ -1 +1 @@"), ("+", "++ b/other"), ("+", "x")]


def test_lines_are_numbered_as_in_the_file_before_and_after():
    diff = "@@ -7,3 +9,3 @@ def f():\n same\n-gone\n+new\n\n"

    assert list(parse_diff(diff)) == [
        DiffLine("@", "@@ -7,3 +9,3 @@ def f():"),
        DiffLine(" ", "same", 7, 9),
        DiffLine("-", "gone", old=8),
        DiffLine("+", "new", new=10),
        DiffLine(" ", "", 9, 11),
    ]


@pytest.mark.parametrize(
    "line", ["\\ No newline at end of file", "diff --git a/x b/x", "binary: 3 → 4 bytes", "+late"]
)
def test_what_stands_outside_of_the_counted_lines_is_kept_whole(line):
    assert list(parse_diff(f"@@ -1 +1 @@\n-a\n+b\n{line}\n"))[-1] == DiffLine("", line)


def test_a_hunk_that_is_cut_short_has_the_lines_that_are_there():
    assert [line.sign for line in parse_diff("@@ -1,9 +1,9 @@\n same\n-gone\n")] == ["@", " ", "-"]
