"""What can be copied as a whole: answers, blocks of code in them, outputs and prompts, the latest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from quorum.application.view.entries import AnswerEntry, Batch, Call, Entry, Kept, PromptEntry
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.text.amounts import format_amount
from quorum.tui.transcript.draw.rows import shorten_arguments
from quorum.tui.transcript.model.blocks import make_parser

KINDS = ("answer", "code", "output", "prompt")


@dataclass(frozen=True, slots=True)
class Piece:
    """A text, and in a few words what it is. Of an output that is stored, the call knows where all of it is."""

    text: str
    what: str
    call: Call | None = None


def list_pieces(entries: Sequence[Entry], kind: str) -> Iterator[Piece]:
    """All pieces of one of the KINDS, the latest first."""
    for entry in reversed(entries):
        match entry, kind:
            case AnswerEntry(), "answer" if text := entry.text.strip("\n"):
                yield Piece(text, "the answer")
            case AnswerEntry(), "code":
                yield from reversed(find_code(entry.text))
            case Batch(), "output":
                yield from (
                    build_output_piece(call) for call in reversed(entry.calls) if call.output is not None
                )
            case PromptEntry(), "prompt":
                yield Piece(entry.text, "the prompt")


def find_piece(entries: Sequence[Entry], kind: str, nth: int) -> Piece | None:
    """The nth latest piece of a kind (1: the latest), or None where there are fewer."""
    return next(islice(list_pieces(entries, kind), nth - 1, None), None)


def find_code(text: str) -> list[Piece]:
    """The blocks of code in Markdown, also those inside lists, without the indentation of these."""
    if "```" not in text and "~~~" not in text and "    " not in text:
        return []
    blocks = (token for token in make_parser().parse(text) if token.type in ("fence", "code_block"))
    return [
        Piece(block.content.removesuffix("\n"), block.info.strip().partition(" ")[0] or "code")
        for block in blocks
        if block.content.strip()
    ]


def build_output_piece(call: Call) -> Piece:
    return Piece(
        _get_kept_text(call.output),
        f"the output of {format_tool_name(call.tool)} {shorten_arguments(call)[0]}".strip(),
        call,
    )


def _get_kept_text(output: Kept | None) -> str:
    if output is None:
        return ""
    if not output.tail:
        return output.head
    return f"{output.head}\n… {format_amount(output.left_out_lines, 'line')} not kept here …\n{output.tail}"
