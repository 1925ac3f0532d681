from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.tool import is_offered
from quorum.domain.text.patch import (
    AddFile,
    BadPatch,
    DeleteFile,
    PatchHunk,
    UpdateFile,
    list_paths,
    parse_patch,
)
from tests.support.examples import examples

LINES = st.sampled_from(
    [
        *("*** Begin Patch", "*** End Patch", "*** Add File: a", "*** Delete File: b", "*** Update File: c"),
        *(
            "*** Update File:",
            "*** Move to: d",
            "*** End of File",
            "@@",
            "@@ def f():",
            "@@ -1,2 +3 @@",
            "",
            " ",
        ),
        *(" x", "+x", "-x", "x", "+", "-", "*** x", "\\ No newline at end of file", "\r", "+\r"),
    ]
)


def test_a_patch_is_taken_apart_into_its_operations():
    patch = """
*** Begin Patch
*** Update File: src/a.py
*** Move to: src/b.py
@@ class A:
@@ def f():
 one
-two

+three
*** End of File
@@ -1,2 +3,4 @@ def g():
+x
*** Add File: new.txt
+a
+
*** Delete File: old file.txt
*** End Patch
"""

    operations = parse_patch(patch)

    assert operations == (
        UpdateFile(
            path="src/a.py",
            move_to="src/b.py",
            hunks=(
                PatchHunk(
                    headers=("class A:", "def f():"),
                    lines=((" ", "one"), ("-", "two"), (" ", ""), ("+", "three")),
                    at_end=True,
                    number=5,
                ),
                PatchHunk(headers=("def g():",), lines=(("+", "x"),), at_end=False, number=12),
            ),
        ),
        AddFile(path="new.txt", lines=("a", "")),
        DeleteFile(path="old file.txt"),
    )
    assert list_paths(operations) == ("src/a.py", "src/b.py", "new.txt", "old file.txt")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([""], "the patch is empty"),
        (["x"], "line 1: a patch begins with"),
        (["*** Begin Patch"], "breaks off after line 1"),
        (["*** Begin Patch", "*** End Patch"], "names no file"),
        (["*** Begin Patch", "*** Add File: a", "+x"], "breaks off after line 3"),
        (["*** Begin Patch", "*** Add File: "], "line 2: .* names no file"),
        (["*** Begin Patch", "hello"], "line 2: 'hello' is no part of a patch"),
        (["*** Begin Patch", "*** Update File: a", "*** End Patch"], "line 2: .* has no hunks"),
        (["*** Begin Patch", "*** Update File: a", "@@", " x", "*** End Patch"], "line 3: the hunk changes"),
        (["*** Begin Patch", "*** Update File: a", "@@", "-x", "y", "*** End Patch"], "line 5: every line"),
        (["*** Begin Patch", "*** Delete File: a", "*** End Patch", "x"], "line 4: nothing may follow"),
    ],
)
def test_what_is_no_patch_is_refused_with_the_line_and_what_belongs_there(lines, problem):
    with pytest.raises(BadPatch, match=problem):
        parse_patch("\n".join(lines))


@examples(300)
@given(st.text() | st.lists(LINES, max_size=12).map(lambda lines: "\n".join(["*** Begin Patch", *lines])))
def test_any_text_is_a_patch_or_refused(text):
    try:
        operations = parse_patch(text)
    except BadPatch:
        return

    assert all(list_paths(operations))


@pytest.mark.parametrize(
    ("model", "offered"),
    [
        *((f"openai/{name}", True) for name in ("gpt-5", "gpt-5.1-codex", "gpt-4.1-mini", "o3", "o4-mini")),
        *(
            (name, True)
            for name in ("copilot/gpt-5", "router/openai/GPT-5", "local/gpt-oss:20b", "x/codex-mini")
        ),
        *((f"openai/{name}", False) for name in ("gpt-4o", "gpt-4-turbo", "gpt-3.5-turbo", "o1")),
        *((name, False) for name in ("anthropic/claude-opus-4", "local/qwen3", "fake/model", "x/foo3")),
    ],
)
def test_the_patch_tool_is_offered_to_models_trained_on_it_and_other_tools_to_all(model, offered):
    assert is_offered("apply_patch", model) is offered
    assert is_offered("edit_file", model)
