"""What is edited in a review: the text that matters as plain text, and nothing else of the call."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.execution import Seal
from quorum.domain.text.json_value import JsonObject
from quorum.tui.screens.review.editing import (
    EditedPart,
    NotEditable,
    apply_edit,
    name_editable,
    render_editable,
)
from tests.support.fake_agent import a_packet

SEAL = Seal(cwd="/w")
NEW = 'def f():\n\t"""Says it: \\n."""\n\treturn 1\n'
TWO = {"path": "a.py", "edits": [{"old_text": "1", "new_text": "one\n"}, {"old_text": "2", "new_text": ""}]}


@pytest.mark.parametrize(
    ("tool", "arguments", "name", "file"),
    [
        ("edit_file", {"path": "a/b.py", "old_text": "x", "new_text": NEW}, "new_text", "new_text.py"),
        ("edit_file", {"path": "Makefile", "old_text": "x", "new_text": NEW}, "new_text", "new_text.txt"),
        ("write_file", {"path": "b.rs", "content": NEW, "create_dirs": True}, "content", "new_text.rs"),
        ("write_file", {"path": "b. rm -rf", "content": ""}, "content", "new_text.txt"),
        ("apply_patch", {"patch": "*** Begin Patch\n*** End Patch"}, "patch", "changes.patch"),
        ("run_command", {"command": "make", "timeout_secs": 5}, "command", "command.sh"),
    ],
)
def test_the_text_of_a_change_is_edited_as_it_stands_and_all_else_stays(
    tool: str, arguments: JsonObject, name: str, file: str
) -> None:
    packet = a_packet(tool, dict(arguments), SEAL)

    text, part = render_editable(packet)

    assert (text, part) == (arguments[name], EditedPart.TEXT)
    assert apply_edit(packet, text, part) == arguments
    assert apply_edit(packet, "other\n", part) == {**arguments, name: "other\n"}
    assert name_editable(packet, part) == file


def test_line_ends_of_dos_are_edited_as_line_feeds_and_come_back() -> None:
    packet = a_packet("write_file", {"path": "a", "content": "one\r\ntwo\r\n"}, SEAL)

    text, part = render_editable(packet)

    assert (text, part) == ("one\ntwo\n", EditedPart.TEXT)
    assert apply_edit(packet, text + "three\n", part)["content"] == "one\r\ntwo\r\nthree\r\n"


@pytest.mark.parametrize("content", ["a\rb", "a\r\nb\n", "a\u200bb", "\x1b[2J", "\ufeffx"])
def test_what_an_editor_cannot_show_is_edited_as_json(content: str) -> None:
    packet = a_packet("write_file", {"path": "a", "content": content}, SEAL)

    text, part = render_editable(packet)

    assert part is EditedPart.ARGUMENTS
    assert apply_edit(packet, text, part) == packet.call.arguments


def test_several_edits_are_edited_below_each_other() -> None:
    packet = a_packet("edit_file", TWO, SEAL)

    text, part = render_editable(packet)
    edited = apply_edit(packet, text.replace("one", "uno"), part)

    assert part is EditedPart.TEXTS
    assert text == "--- new text 1 of 2 ---\none\n\n--- new text 2 of 2 ---\n"
    assert edited["edits"] == [{"old_text": "1", "new_text": "uno\n"}, {"old_text": "2", "new_text": ""}]


@pytest.mark.parametrize(
    "change", [("1 of 2", "1 of 3"), ("2 of 2", "1 of 2"), ("---", "", 4), ("--- new", "x\n--- new", 1)]
)
def test_a_heading_between_texts_that_is_changed_is_refused(change: tuple[str, str]) -> None:
    packet = a_packet("edit_file", TWO, SEAL)

    with pytest.raises(NotEditable, match="part the texts: leave each in its place"):
        apply_edit(packet, render_editable(packet)[0].replace(*change), EditedPart.TEXTS)


@given(st.lists(st.text(st.sampled_from("ab\n\r\t-\u200b")) | st.just("--- new text 1 of 1 ---")))
def test_unchanged_edits_come_back_as_they_were(texts: list[str]) -> None:
    edits = [{"old_text": "o", "new_text": text} for text in texts]
    packet = a_packet("edit_file", {"path": "a", "edits": edits}, SEAL)

    text, part = render_editable(packet)

    assert apply_edit(packet, text, part) == packet.call.arguments


@pytest.mark.parametrize("edits", [[], ["x"], [{"old_text": "a"}], [{"new_text": 3}], "[]", {"new_text": "a"}])
def test_edits_that_have_no_texts_are_edited_as_json(edits: object) -> None:
    packet = a_packet("edit_file", {"path": "a", "edits": edits}, SEAL)

    text, part = render_editable(packet)

    assert part is EditedPart.ARGUMENTS
    assert apply_edit(packet, text, part) == packet.call.arguments
