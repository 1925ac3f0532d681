from __future__ import annotations

import asyncio
import codecs

import pytest

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ToolError
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.tools.builtin.glob_search import GlobSearch
from quorum.infrastructure.tools.builtin.grep_search import GrepSearch
from tests.infrastructure.tools.calling import TestControls, a_context, a_tree, call


@pytest.fixture
def grep_search(tmp_path):
    return GrepSearch(Workspace([tmp_path]), PathPolicy(roots=(str(tmp_path),)))


@pytest.fixture
def glob_search(tmp_path):
    return GlobSearch(Workspace([tmp_path]))


def an_eager_search(root) -> GrepSearch:
    """A search that reports after every file."""
    return GrepSearch(Workspace([root]), PathPolicy(roots=(str(root),)), report_secs=0)


def found(result: str) -> list[str]:
    return [line for line in result.split("\n") if not line.startswith("[")]


def test_matches_come_with_path_line_and_text_in_path_order(tmp_path, grep_search):
    a_tree(tmp_path, {"b.py": "x = 1\nno\nx = 2\n", "a/c.py": "x = 3\r\n", "d.py": "no"})

    assert call(grep_search, pattern=r"^x = \d$", path=".").split("\n") == [
        "a/c.py:1:x = 3",
        "b.py:1:x = 1",
        "b.py:3:x = 2",
        "[3 matches in 2 of 3 files]",
    ]


def test_without_a_path_the_working_directory_is_searched(tmp_path, grep_search):
    (tmp_path / "a.py").write_text("x = 1\n")

    assert call(grep_search, pattern="x") == call(grep_search, pattern="x", path=".")


def test_no_match_is_said(tmp_path, grep_search):
    a_tree(tmp_path, {"a.py": "x"})

    assert call(grep_search, pattern="y", path=".") == "[no match in 1 file]"


def test_context_lines_are_marked_and_groups_parted(tmp_path, grep_search):
    a_tree(tmp_path, {"a.py": "1\n2\nx\n4\nx\n6\n7\n8\n9\nx\n"})

    assert found(call(grep_search, pattern="x", path=".", context_lines=1)) == [
        "a.py-2-2", "a.py:3:x", "a.py-4-4", "a.py:5:x", "a.py-6-6", "--", "a.py-9-9", "a.py:10:x",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("file_pattern", "files"),
    [("*.py", ["a.py", "s/b.py"]), ("s/*", ["s/b.py", "s/c.md"]), ("**/*.{md,txt}", ["s/c.md", "t.txt"])],
)
def test_a_file_pattern_narrows_by_name_or_by_path(tmp_path, grep_search, file_pattern, files):
    a_tree(tmp_path, {"a.py": "x", "s/b.py": "x", "s/c.md": "x", "t.txt": "x"})

    result = found(call(grep_search, pattern="x", path=".", file_pattern=file_pattern))

    assert [line.split(":")[0] for line in result] == files


def test_case_can_be_ignored(tmp_path, grep_search):
    a_tree(tmp_path, {"a.py": "Éclair"})

    assert found(call(grep_search, pattern="éCLAIR", path=".")) == []
    assert found(call(grep_search, pattern="éCLAIR", path=".", case_insensitive=True)) == ["a.py:1:Éclair"]


def test_a_match_never_spans_lines(tmp_path, grep_search):
    a_tree(tmp_path, {"a.py": "one\ntwo\n\n"})

    assert found(call(grep_search, pattern=r"one\stwo|one[^x]two|(?s)one.two", path=".")) == []
    assert found(call(grep_search, pattern="^$", path=".")) == ["a.py:3:"]


@pytest.mark.parametrize(
    ("pattern", "construct"),
    [
        ("(?=a)", 'lookahead "(?="'),
        ("(?!a)", 'negative lookahead "(?!"'),
        ("(?<=a)b", 'lookbehind "(?<="'),
        ("(?<!a)b", 'negative lookbehind "(?<!"'),
        ("(?>a)", 'an atomic group "(?>"'),
        (r"(a)\1", r'backreference "\1"'),
        ("(?P<n>a)(?P=n)", 'a backreference "(?P="'),
        ("a++", 'repetition "++"'),
        ("(a", "missing ): (a"),
        ("[b-a]", "invalid character class range: b-a"),
        ("", "pattern is empty"),
    ],
)
def test_unsupported_syntax_is_an_error_that_names_it(tmp_path, grep_search, capfd, pattern, construct):
    with pytest.raises(ToolError) as refusal:
        call(grep_search, pattern=pattern, path=".")

    assert construct in str(refusal.value)
    assert capfd.readouterr().err == ""


def test_sensitive_files_are_counted_and_searched_only_by_name(tmp_path, grep_search):
    a_tree(
        tmp_path,
        {".env": "key=1", "s/.ssh/config": "key=2", "a.txt": "key=3", "x/.Docker/config.json": "key=4"},
    )

    result = call(grep_search, pattern="key", path=".")

    assert found(result) == ["a.txt:1:key=3"]
    assert "[3 sensitive files were not searched: name one as path to be asked]" in result
    assert found(call(grep_search, pattern="key", path=".env")) == [".env:1:key=1"]
    assert found(call(grep_search, pattern="key", path="s/.ssh")) == ["s/.ssh/config:1:key=2"]


def test_binary_and_large_files_are_skipped_and_counted(tmp_path, grep_search):
    a_tree(tmp_path, {"a.bin": b"x\0", "b.txt": b"x\n" * (3 * 1024 * 1024), "c.txt": "x"})

    result = call(grep_search, pattern="x", path=".")

    assert found(result) == ["c.txt:1:x"]
    assert "[skipped files: 1 binary, 1 over 5 MB]" in result


def test_a_named_file_is_searched_even_if_ignored_and_a_binary_one_is_an_error(tmp_path, grep_search):
    a_tree(tmp_path, {".gitignore": "*", "a.txt": "x", "a.bin": b"x\0"})

    assert found(call(grep_search, pattern="x", path="a.txt")) == ["a.txt:1:x"]
    with pytest.raises(ToolError, match=r"a\.bin is a binary file"):
        call(grep_search, pattern="x", path="a.bin")
    with pytest.raises(ToolError, match=r"none: no such file"):
        call(grep_search, pattern="x", path="none")


def test_text_in_other_encodings_is_found(tmp_path, grep_search):
    a_tree(
        tmp_path,
        {"a.txt": "größe".encode("utf-16"), "b.txt": codecs.BOM_UTF8 + "größe".encode(), "c.txt": b"x \xe9 y"},
    )

    assert found(call(grep_search, pattern="^größe", path=".")) == ["a.txt:1:größe", "b.txt:1:größe"]
    assert found(call(grep_search, pattern="y$", path=".")) == ["c.txt:1:x \ufffd y"]


def test_matches_are_capped_and_long_lines_cut(tmp_path, grep_search):
    a_tree(tmp_path, {"a.txt": "x" * 600 + "\n" + "x\n" * 600, "b.txt": "x\n" * 600})

    result = call(grep_search, pattern="x", path=".")

    assert len(found(result)) == 1000
    assert found(result)[0] == "a.txt:1:" + "x" * 500 + " … [line cut: it has 600 characters]"
    assert "[the first 1000 matches; there are more: narrow the pattern, path or file_pattern]" in result


def test_exactly_as_many_matches_as_fit_are_not_called_cut(tmp_path, grep_search):
    a_tree(tmp_path, {"a.txt": "x\n" * 1000, "b.txt": "y\n"})

    assert "[1000 matches in 1 of 2 files]" in call(grep_search, pattern="x", path=".")


def test_progress_is_reported_while_searching(tmp_path):
    grep_search = an_eager_search(tmp_path)
    a_tree(tmp_path, {"a.txt": "x", "b.txt": "x"})
    context = a_context()

    asyncio.run(grep_search.execute({"pattern": "x", "path": "."}, context))

    assert isinstance(context.controls, TestControls)
    assert context.controls.reports == ["1 files searched, 1 matches", "2 files searched, 2 matches"]


class CancelsAtFirstReport(TestControls):
    """A person who presses Esc as soon as anything shows."""

    def report(self, text: str) -> None:
        super().report(text)
        self.cancelled = True


def test_a_cancelled_search_stops(tmp_path):
    grep_search = an_eager_search(tmp_path)
    a_tree(tmp_path, {f"{n:03}.txt": "x" for n in range(50)})
    controls = CancelsAtFirstReport()
    context = a_context().with_controls(controls)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(grep_search.execute({"pattern": "x", "path": "."}, context))
    assert len(controls.reports) == 1


def test_links_are_not_followed(tmp_path, grep_search, glob_search):
    a_tree(tmp_path, {"in/a.txt": "x", "out/secret.txt": "x"})
    (tmp_path / "in/folder").symlink_to("../out")
    (tmp_path / "in/link.txt").symlink_to("../out/secret.txt")
    (tmp_path / "in/circle").symlink_to(".")

    assert found(call(grep_search, pattern="x", path="in")) == ["in/a.txt:1:x"]
    assert found(call(glob_search, pattern="**/*.txt", base_dir="in")) == ["in/a.txt", "in/link.txt"]


def test_ignore_files_of_every_level_are_honoured(tmp_path, glob_search):
    a_tree(
        tmp_path,
        {
            ".git/config": "",
            ".git/info/exclude": "private\n",
            ".gitignore": "*.log\nbuild/\n/top\n!\n[z-a]\n",
            ".ignore": "!kept.log\nnoise\n",
            "a.log": "", "kept.log": "", "noise": "", "top": "", "private": "",
            "build/a.txt": "",
            "sub/top": "",
            "sub/.gitignore": "!b.log\n*.tmp\n",
            "sub/a.log": "", "sub/b.log": "", "sub/c.tmp": "",
            "sub/build/x": "",
        },
    )  # fmt: skip

    assert found(call(glob_search, pattern="**")) == [
        ".gitignore", ".ignore", "kept.log", "sub/.gitignore", "sub/b.log", "sub/top",
    ]  # fmt: skip
    assert found(call(glob_search, pattern="*", base_dir="sub")) == ["sub/.gitignore", "sub/b.log", "sub/top"]


def test_a_named_ignored_folder_is_searched(tmp_path, glob_search):
    a_tree(tmp_path, {".gitignore": "build/\n", "build/deep/a.txt": ""})

    assert found(call(glob_search, pattern="**/*.txt")) == ["no file in . matches **/*.txt"]
    assert found(call(glob_search, pattern="**/*.txt", base_dir="build/deep")) == ["build/deep/a.txt"]


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*.py", ["a.py"]),
        ("./*.py", ["a.py"]),
        ("**/*.py", ["a.py", "s/b.py", "s/t/c.py"]),
        ("s/**", ["s/b.py", "s/t/[d].md", "s/t/c.py"]),
        ("s/**/c.py", ["s/t/c.py"]),
        ("**/t/*", ["s/t/[d].md", "s/t/c.py"]),
        ("?.py", ["a.py"]),
        ("**/[!a].py", ["s/b.py", "s/t/c.py"]),
        ("**/{a,c}.{py,md}", ["a.py", "s/t/c.py"]),
        ("**/\\[d\\].md", ["s/t/[d].md"]),
    ],
)
def test_globs_mean_what_they_usually_do(tmp_path, glob_search, pattern, paths):
    a_tree(tmp_path, {"a.py": "", "s/b.py": "", "s/t/c.py": "", "s/t/[d].md": ""})

    assert found(call(glob_search, pattern=pattern)) == paths


@pytest.mark.parametrize("pattern", ["", "/etc/*", "../*", "a/../*", "{a", "[z-a]"])
def test_a_glob_that_can_mean_nothing_is_an_error(glob_search, pattern):
    with pytest.raises(ToolError, match="pattern"):
        call(glob_search, pattern=pattern)


def test_results_are_cut_in_path_order_and_said_to_be(tmp_path, glob_search):
    a_tree(tmp_path, dict.fromkeys(("c", "a", "b/x", "d"), ""))

    result = call(glob_search, pattern="**", max_results=2).split("\n")

    assert result == [
        "a",
        "b/x",
        "[the first 2 in path order; there are more: narrow the pattern or raise max_results]",
    ]
    assert len(call(glob_search, pattern="**", max_results=4).split("\n")) == 4


def test_a_pattern_without_folders_that_finds_nothing_is_answered_with_a_hint(tmp_path, glob_search):
    a_tree(tmp_path, {"s/a.py": ""})

    assert call(glob_search, pattern="*.py").endswith("use **/*.py to look in the folders below as well")


def test_names_that_are_no_text_are_found_and_shown_escaped(tmp_path, glob_search, grep_search):
    (tmp_path / "a\udcff\n.txt").write_text("x")

    assert call(glob_search, pattern="*.txt") == "a\\udcff\\n.txt"
    assert found(call(grep_search, pattern="x", path=".")) == ["a\\udcff\\n.txt:1:x"]


def test_searching_declares_the_folder_and_is_low_risk(tmp_path, glob_search, grep_search):
    for tool, arguments in ((glob_search, {"base_dir": "s"}), (grep_search, {"path": "s"})):
        access = tool.definition.determine_access(arguments)

        assert tool.definition.risk is RiskLevel.LOW
        assert access.reads == {str(tmp_path / "s")}
        assert access.is_concurrency_safe


def test_an_ignore_file_of_any_length_is_obeyed_in_its_order(tmp_path, glob_search):
    lines = ["*.log", *(f"none-{number}" for number in range(300)), "!kept.log", "x" * 5000, "a\0b"]
    a_tree(tmp_path, {".gitignore": "\n".join(lines), "a.log": "", "kept.log": "", "none-299": "", "b.txt": ""})

    assert found(call(glob_search, pattern="*")) == [".gitignore", "b.txt", "kept.log"]
