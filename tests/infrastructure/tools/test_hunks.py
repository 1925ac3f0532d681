from __future__ import annotations

from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.errors import ToolError
from quorum.domain.text.patch import BadPatch, UpdateFile, parse_patch
from quorum.infrastructure.tools.builtin.apply_patch import apply_hunks
from tests.support.examples import examples

LINE = st.sampled_from(["a", "b", "  c", "d  ", "", "}", "+", "- x", "@@ y", "*** z"])
HUNK_LINE = st.sampled_from(["@@", " a", "-a", "+b", "-", "+", " "])


def a_patch(before: list[str], after: list[str]) -> str:
    """The whole file as one hunk: context that fits one place only."""
    lines = ["*** Begin Patch", "*** Update File: a", "@@"]
    for tag, low, high, new_low, new_high in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [f" {line}" for line in before[low:high]]
        else:
            lines += [f"-{line}" for line in before[low:high]]
            lines += [f"+{line}" for line in after[new_low:new_high]]
    return "\n".join([*lines, "*** End Patch"])


@examples(300)
@given(st.lists(LINE, min_size=1, max_size=12), st.lists(LINE, max_size=12), st.sampled_from(["\n", "\r\n"]))
def test_a_patch_made_from_two_texts_turns_the_one_into_the_other(before, after, end):
    if before == after:
        return
    (operation,) = parse_patch(a_patch(before, after))
    assert isinstance(operation, UpdateFile)

    changed = apply_hunks("".join(line + end for line in before), operation.hunks, "a")

    assert changed == "".join(line + end for line in after)


@examples(300)
@given(st.text(alphabet="ab \r\n", max_size=30), st.lists(HUNK_LINE, max_size=8))
def test_hunks_are_applied_as_a_whole_or_refused(content, lines):
    patch = "\n".join(["*** Begin Patch", "*** Update File: a", *lines, "*** End Patch"])
    try:
        (operation,) = parse_patch(patch)
        assert isinstance(operation, UpdateFile)
        changed = apply_hunks(content, operation.hunks, "a")
    except (BadPatch, ToolError):
        return

    signs = [sign for hunk in operation.hunks for sign, _ in hunk.lines]
    assert changed.count("b") >= signs.count("+") - sum(
        text != "b" for hunk in operation.hunks for sign, text in hunk.lines if sign == "+"
    )
    assert abs(len(lines_of(changed)) - (len(lines_of(content)) - signs.count("-") + signs.count("+"))) <= 1


def lines_of(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def test_a_hunk_that_does_not_fit_is_answered_with_what_resembles_it():
    (operation,) = parse_patch("*** Begin Patch\n*** Update File: a\n-def greet(name):\n*** End Patch")
    assert isinstance(operation, UpdateFile)

    with pytest.raises(ToolError, match=r"most similar lines are:\n2\tdef greet\(nam\)"):
        apply_hunks("import x\ndef greet(nam):\n", operation.hunks, "a")
