"""Unified diffs as git, diff and GitHub write them, and such as nobody should."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.code_review.change import FileStatus
from quorum.domain.code_review.unified_diff import BadDiff, parse_files
from quorum.domain.text.unified_diff import count_changes, parse_diff

PLAIN = """\
diff --git a/src/app.py b/src/app.py
index 1111111..2222222 100644
--- a/src/app.py
+++ b/src/app.py
@@ -1,3 +1,3 @@ def add
 def add(a, b):
-    return a - b
+    return a + b

"""


def test_lines_have_the_numbers_that_they_have_after_the_change() -> None:
    (file,) = parse_files(PLAIN)
    assert (file.path, file.status, file.changed_lines) == ("src/app.py", FileStatus.MODIFIED, 2)
    assert list(file.hunks[0].number_lines()) == [
        (1, " def add(a, b):"),
        (None, "-    return a - b"),
        (2, "+    return a + b"),
        (3, " "),
    ]
    assert file.find_line(2) == "    return a + b"
    assert file.find_line(9) is None


@pytest.mark.parametrize(
    ("text", "status", "path", "old"),
    [
        ("diff --git a/n b/n\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n", "added", "n", ""),
        ("diff --git a/n b/n\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "deleted", "n", ""),
        ("diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n", "renamed", "n", "o"),
        ("diff --git a/a b b/a b\nold mode 100644\nnew mode 100755\n", "modified", "a b", ""),
        ('diff --git "a/\\303\\251" "b/\\303\\251"\nnew file mode 100644\n', "added", "é", ""),
        ("diff --git a/.env b/x\ncopy from .env\ncopy to x\n--- a/.env\n+++ b/x\n", "added", "x", ".env"),
        ("diff --git o/x n/x\nrename from o/x\nrename to n/x\n--- o/x\n+++ n/x\n", "renamed", "n/x", "o/x"),
        ("--- o.txt\t2026-01-01\n+++ n.txt\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n", "renamed", "n.txt", "o.txt"),
    ],
)  # fmt: skip
def test_what_happens_to_a_file_is_told(text: str, status: str, path: str, old: str) -> None:
    (file,) = parse_files(text)
    assert (file.status.value, file.path, file.old_path) == (status, path, old)


def test_a_binary_file_is_left_out_and_said_to_be() -> None:
    (file,) = parse_files("diff --git a/x.png b/x.png\nindex 1..2\nBinary files a/x.png and b/x.png differ\n")
    assert (file.path, file.left_out) == ("x.png", "it is binary")


def test_content_that_looks_like_a_header_is_content() -> None:
    text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n-diff --git a/y b/y\n+++ b/innocent\n+@@ -1 +1 @@\n"
    (file,) = parse_files(text)
    assert file.path == "x"
    assert file.hunks[0].lines == (
        "--- a/y", "-diff --git a/y b/y", "+++ b/innocent", "+@@ -1 +1 @@",
    )  # fmt: skip


def test_line_ends_of_another_system_and_missing_ones_are_read() -> None:
    text = "--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n\\ No newline at end of file\r\n"
    (file,) = parse_files(text)
    assert (file.path, file.hunks[0].lines) == ("x", ("-a\r", "+b\r"))


HUNK = "@@ -1 +1 @@\n-a\n+b\n"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("diff --git diff --git a/x b/x\n--- a/x\n+++ b/x\n" + HUNK, "x"),
        ("diff --git x.py x.py\nold mode 100644\nnew mode 100755\n", "x.py"),
        ("diff --git a/diff --git b/diff --git\nnew file mode 100644\n", "diff --git"),
        (
            "diff --git src/long.py src/long.py\nBinary files src/long.py and src/long.py differ\n",
            "src/long.py",
        ),
        ("diff --git a/o.py b/longer.py\n--- a/o.py\n+++ b/longer.py\n" + HUNK, "longer.py"),
        ("diff --git old/x new/x\nnew file mode 100644\n", "x"),
        ("diff --git former/x y later/x y\nnew file mode 100644\n", "x y"),
        ("diff --git a/t/x b/t/x\n--- t/x\t(revision 1)\n+++ t/x\t(working copy)\n" + HUNK, "t/x"),
    ],
)
def test_names_are_those_of_the_lines_that_tell_them(text: str, path: str) -> None:
    (file,) = parse_files(text)
    assert file.path == path


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("diff --git diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "line 1 names no file"),
        ("diff --git a/x b/x\nnew file mode 100644\ndiff --git diff --git a/y b/y\n", "line 3 names no file"),
        ("diff --git \nindex 1..2\n", "line 1 names no file"),
        ('diff --git "a/x" b\n', "line 1 names no file"),
        ("diff --git a/ b/\n", "line 1 names no file"),
        ("--- a/\n+++ b/\n" + HUNK, "line 1 names no file"),
        ("--- /dev/null\n+++ /dev/null\n" + HUNK, "line 1 names no file"),
        ("diff --git a/.env b/.env\n--- a/x\n+++ b/x\n" + HUNK, "line 2 names another file than line 1"),
        ('diff --git "a/.env" "b/.env"\n--- a/x\n+++ b/x\n' + HUNK, "line 2 names another file than line 1"),
        ("hello\n", "this is no unified diff"),
        ("--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n a\n", "ends in the middle of a hunk"),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n?b\n", "line 5 is in a hunk"),
        ("--- a/x\n+++ b/x\n@@ -9999999999 +1 @@\n", "line 3 begins like a hunk"),
        ("@@ -1,3 +1,3 @@\n--- a/x\n+++ b/x\n" + HUNK, "line 1 begins a hunk, and no line above it names"),
        ("--- a/x\n+++ b/x\n@@ -1,1 +1,2 @@\n a\n b\n", "has more lines than its header says"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_place(text: str, problem: str) -> None:
    with pytest.raises(BadDiff, match=problem):
        parse_files(text)


def test_a_message_above_a_diff_that_quotes_a_hunk_hides_no_file() -> None:
    quoting = "Subject: x\n@@ -1,3 +1,3 @@\n\n--- a/x\n+++ b/x\n" + HUNK

    assert [file.path for file in parse_files(quoting)] == ["x"]
    assert count_changes(quoting) == (1, 1)
    assert [(line.sign, line.path) for line in parse_diff(quoting) if line.sign] == [
        ("@", "x"), ("-", "x"), ("+", "x"),
    ]  # fmt: skip


def test_a_hunk_ends_before_a_line_that_cannot_be_of_it() -> None:
    broken = "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n" + HUNK

    assert [line.path for line in parse_diff(broken) if line.sign] == ["x", "x", "y", "y", "y"]


@pytest.mark.parametrize("empty", ["", " ", "\r", " \r"])
def test_an_empty_line_of_a_hunk_may_have_lost_its_blank(empty: str) -> None:
    diff = f"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n{empty}\n-a\n+b\n"

    assert [(line.sign, line.old, line.new) for line in parse_diff(diff)][3:] == [
        (" ", 1, 1), ("-", 2, None), ("+", None, 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "path"),
    [
        ("--- a/x\n+++ b/x", "x"),
        ("--- a/x\n+++ /dev/null", "x"),
        ("--- /dev/null\n+++ b/x", "x"),
        ("--- x.py\t2026-01-01\n+++ y.py\t2026-01-02", "y.py"),
        ('--- "a/\\303\\251"\n+++ "b/\\303\\251"', "é"),
    ],
)
def test_a_line_knows_the_file_that_it_is_of(names: str, path: str) -> None:
    assert {line.path for line in parse_diff(f"{names}\n{HUNK}") if line.sign} == {path}


def test_nothing_is_no_file() -> None:
    assert parse_files("") == ()
    assert parse_files("\n \n") == ()


@given(st.text(alphabet='+- @\\"adiff/\n\r\t0123,x', max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    for beginning in ("", "--- a/x\n+++ b/x\n", "diff --git a/x b/x\n"):
        with suppress(BadDiff):
            parse_files(beginning + text)
