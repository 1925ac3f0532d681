"""The texts of an entry that can be found, in the order they are drawn in."""

from __future__ import annotations

import json
from typing import NamedTuple, assert_never

from application.view.entries import AnswerEntry, Batch, Call, Entry, Notice, PromptEntry, Restoration
from tui.transcript.cells.lines import program_text


class Passage(NamedTuple):
    """One text. `part` is what lines of it are targets for in the entry's drawing, None where they are none;
    `is_written`: it is Markdown.
    """

    part: int | None
    text: str
    is_written: bool = False


def passages_of(entry: Entry) -> list[Passage]:
    """What can be found in an entry, folded parts included."""
    match entry:
        case PromptEntry() | Notice():
            return [Passage(None, entry.text)]
        case AnswerEntry():
            return [Passage(0, "".join(entry.reasoning)), Passage(None, entry.text, is_written=True)]
        case Batch():
            return [Passage(place, _text_of(call)) for place, call in enumerate(entry.calls)]
        case Restoration():
            return [Passage(0, "\n".join(change.path for change in entry.changes))]
        case _:
            assert_never(entry)


def _text_of(call: Call) -> str:
    arguments = (value if isinstance(value, str) else json.dumps(value) for value in call.arguments.values())
    remarks = (remark.text for remark in call.remarks)
    output = (call.output.head, call.output.tail) if call.output is not None else call.progress.shown()
    texts = [call.tool, *arguments, call.reason or "", *remarks, call.diff or "", *map(_plain, output)]
    return "\n".join(text for text in texts if text)


def _plain(text: str) -> str:
    """Output without terminal sequences, which most has none of."""
    return program_text(text) if "\x1b" in text else text
