"""Files that a prompt mentions reach the model over each API as text below the prompt, in its message."""

from __future__ import annotations

import pytest

from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.conversation.compaction import replace_attachments, select_attachments_to_hide
from quorum.domain.conversation.history import UserMessage
from quorum.domain.replacing import replace
from tests.contracts.test_images import CONTENT, OK, SHOT, Line, _say, _say_in, line

__all__ = ["line"]

FILE = AttachedFile(
    name="a.py", content="1\tone", first_line=1, last_line=1, total_lines=2, size_bytes=8, note="cut"
)
ASKED = UserMessage("why @a.py?", files=(FILE,))
SENT = "why @a.py?\n\n[attached: a.py, lines 1-1 of 2, 8 bytes]\n1\tone\n[cut]\n[end of a.py]"


async def test_an_attached_file_arrives_in_one_text_with_the_prompt(line: Line) -> None:
    line.script(OK)
    await _say(line, ASKED)
    assert line.last() == [("user", SENT)]


async def test_an_image_comes_before_the_text_with_the_files(line: Line) -> None:
    line.script(OK)
    await _say(line, replace(ASKED, text=SHOT.label, images=(SHOT,)))
    assert line.last()[0] == ("image", "image/png", CONTENT)
    assert line.words() == SENT.replace("why @a.py?", SHOT.label)


async def test_in_a_conversation_taken_up_again_the_file_is_still_there(line: Line) -> None:
    line.script(OK, OK)
    await _say(line, ASKED)
    await _say_in(line, (*line.conversation.messages[:1], UserMessage("in between")), "and now?")
    assert "one" in line.words()


async def test_a_file_that_gave_way_to_make_room_is_named_with_the_way_to_it(line: Line) -> None:
    line.script(OK, OK)
    await _say(line, ASKED)
    messages = line.conversation.messages
    shortened = replace_attachments(messages, select_attachments_to_hide(messages, spared=0))
    await _say_in(line, shortened, "and now?")
    assert "\tone" not in line.words()
    assert "[a.py is not attached: no longer shown, to make room; read_file shows it again]" in line.words()


@pytest.mark.parametrize("note", ["", "it is empty"])
def test_a_file_without_content_is_a_sentence(note: str) -> None:
    assert AttachedFile(name="a", note=note).sent == f"[a is not attached: {note}]"
