"""The sentence about a change that a merge is committed with."""

from __future__ import annotations

import pytest

from quorum.domain.worktree import describe_change


def a_diff(*files: tuple[str, str]) -> str:
    """A diff of git that does this to each file."""
    return "".join(
        f"diff --git a/{name} b/{name}\n{head}--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-new file mode\n+b\n"
        for name, head in files
    )


NEW, OLD, GONE = "new file mode 100644\n", "index 1..2 100644\n", "deleted file mode 100644\n"


@pytest.mark.parametrize(
    ("prompt", "sentence"),
    [
        ("fix the flaky retry test", "Fix the flaky retry test"),
        ("Please add a limit of retries.", "Add a limit of retries"),
        ("could you please rename foo to bar, then run the tests", "Rename foo to bar"),
        ("I want you to remove the old parser. It is unused since May.", "Remove the old parser"),
        ("make\tthe  list\nsorted", "Make the list sorted"),
        ("bump to 1.2.3 in setup.py", "Bump to 1.2.3 in setup.py"),
    ],
)
def test_a_prompt_in_the_imperative_is_the_sentence(prompt: str, sentence: str) -> None:
    assert describe_change(prompt, a_diff(("a.py", OLD))) == sentence


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "the button does not work",
        "why does it fail?",
        "fix",
        "can you fix this?",
        "@a.py look at that",
        "/review main",
        "! make",
        "please",
        "fix " + "very " * 20 + "long",
        "fix `rm -rf x`",
        "add the thing from https://example.com",
        "adding is hard",
        "fix the parser that reads the …",
    ],
)
def test_of_any_other_prompt_the_files_are_named(prompt: str) -> None:
    assert describe_change(prompt, a_diff(("a.py", OLD))) == "Change a.py"


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ((("b.py", NEW),), "Add b.py"),
        ((("b.py", NEW), ("a.py", OLD)), "Add b.py and change a.py"),
        ((("c.py", GONE), ("b.py", NEW), ("a.py", OLD)), "Add b.py, change a.py and delete c.py"),
        ((("a.py", OLD), ("b.py", OLD)), "Change a.py and b.py"),
        ((("a.py", OLD), ("b.py", OLD), ("c.py", OLD)), "Change 3 files"),
        ((("d/" * 20 + "a.py", OLD),), "Change 1 file"),
        ((("a.py", "similarity index 90%\nrename from b.py\nrename to a.py\n"),), "Rename a.py"),
        ((), ""),
    ],
)
def test_what_became_of_files_is_said_in_a_sentence(files: tuple[tuple[str, str], ...], sentence: str) -> None:
    assert describe_change("", a_diff(*files)) == sentence
