"""Files attached to a prompt as the transcript draws them, at any width."""

import pytest

from quorum.application.view.entries import PromptEntry
from quorum.domain.conversation.attachment import AttachedFile
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.draw.entry_renderer import EntryRenderer

FILES = (
    AttachedFile(name="src/a.py", content="x", first_line=2, last_line=3, total_lines=9, size_bytes=14),
    AttachedFile(name="a\x1b[31m.env", note="it is sensitive; read_file asks you first, every single time"),
)


def drawn(width: int) -> list[str]:
    entry = PromptEntry("look at @src/a.py", files=FILES)
    return [strip.text.rstrip() for strip in EntryRenderer(width, TERMINAL).draw(entry, 0.0).strips]


def test_each_has_a_line_below_the_prompt_and_why_one_is_missing_is_never_cut() -> None:
    lines = drawn(60)

    assert lines[1:3] == [" › look at @src/a.py", "   + src/a.py · lines 2-3 of 9 · 14 bytes"]
    assert lines[3].startswith("   - a␛[31m.env · not attached: it is sensitive")
    assert " ".join(" ".join(lines[3:]).split()).endswith("read_file asks you first, every single time")


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_no_line_is_wider_than_the_transcript_and_none_holds_a_control_character(width: int) -> None:
    for line in drawn(width):
        assert len(line) <= width
        assert line.isprintable()
