"""A line that is appended to the text of an instruction file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.errors import MemoryRefused
from quorum.domain.events.event import MemoryAdded, MemoryApproved, event_from_json
from quorum.domain.events.masking import SecretMask
from quorum.domain.instructions.instruction import (
    MOST_CHARACTERS,
    InstructionScope,
    append_bullet,
    require_memory_line,
)
from tests.support.examples import examples


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "- use tabs\n"),
        ("Be brief.\n", "Be brief.\n\n- use tabs\n"),
        ("Be brief.", "Be brief.\n\n- use tabs\n"),
        ("# Style\n\n", "# Style\n\n- use tabs\n"),
        ("- one\n- two\n", "- one\n- two\n- use tabs\n"),
        ("* one", "* one\n* use tabs\n"),
        ("- one\n  more of it\n", "- one\n  more of it\n\n- use tabs\n"),
        ("---\n", "---\n\n- use tabs\n"),
        ("Be brief.\r\n- one\r\n", "Be brief.\r\n- one\r\n- use tabs\r\n"),
        ("```sh\nmake\n```\n", "```sh\nmake\n```\n\n- use tabs\n"),
    ],
)
def test_a_line_becomes_the_last_item_of_a_list_at_the_end(text: str, expected: str) -> None:
    assert append_bullet(text, "use tabs") == expected


@given(st.text(), st.text(alphabet=st.characters(exclude_categories=["C", "Z"]), min_size=1))
@examples(60)
def test_nothing_that_is_there_is_changed(text: str, line: str) -> None:
    try:
        appended = append_bullet(text, line)
    except MemoryRefused:
        return
    assert appended.startswith(text)
    assert appended.rstrip("\r\n").endswith(f" {line}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [("- use tabs\nmore\n", "has this line already"), ("~~~\nmake\n", "code block that is not closed")],
)
def test_a_line_that_would_say_nothing_new_or_not_be_read_is_refused(text: str, reason: str) -> None:
    with pytest.raises(MemoryRefused, match=reason):
        append_bullet(text, "use tabs")


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("  ", "type what to remember"),
        ("one\ntwo", "only a single line"),
        ("one\u2028two", "only a single line"),
        ("x" * (MOST_CHARACTERS + 1), "at most 2,000 characters, and this one has 2,001"),
    ],
)
def test_what_is_no_single_short_line_is_refused(typed: str, reason: str) -> None:
    with pytest.raises(MemoryRefused, match=reason):
        require_memory_line(typed)


def test_its_events_are_read_back_as_they_were_and_hide_secrets_but_no_digest() -> None:
    approved = MemoryApproved(
        file="/ws/AGENTS.md",
        scope=InstructionScope.PROJECT,
        line="the key is hunter2-hunter2",
        sha256="ab12" * 16,
        former_sha256="cd34" * 16,
    )
    added = MemoryAdded(file="/ws/AGENTS.md", scope=InstructionScope.USER, line="x", sha256="ab12" * 16)
    mask = SecretMask()
    mask.learn("X", "hunter2-hunter2")
    shown = mask.mask_event(approved)

    assert event_from_json(approved.to_json()) == approved
    assert event_from_json(added.to_json()) == added
    assert isinstance(shown, MemoryApproved)
    assert shown.line == "the key is [secret:X]"
    assert (shown.sha256, shown.former_sha256) == (approved.sha256, approved.former_sha256)
