"""What fills a model's window: the parts of a conversation by kind, and the largest of its entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.conversation.compaction import is_summary
from quorum.domain.conversation.context_size import estimate_bytes
from quorum.domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from quorum.domain.conversation.response import (
    ContentBlock,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolUseBlock,
)
from quorum.domain.replacing import replace

_FRAME = estimate_bytes((UserMessage(""),))
_MOST_LARGE = 8
_LONGEST_LABEL = 200


class ContextKind(StrEnum):
    """The kinds of what a request carries."""

    INSTRUCTIONS = "instructions"
    TOOLS = "tools"
    SUMMARY = "summary"
    PROMPTS = "prompts"
    IMAGES = "images"
    DOCUMENTS = "documents"
    FILES = "files"
    ANSWERS = "answers"
    REASONING = "reasoning"
    CALLS = "calls"
    OUTPUTS = "outputs"


class ContextShare(Struct, frozen=True, kw_only=True):
    """What one kind takes, in tokens; `name` says which tool an output is of."""

    kind: ContextKind
    name: str = ""
    tokens: int


class ContextEntry(Struct, frozen=True, kw_only=True):
    """One entry of the conversation: its kind, the beginning of what it says, and its tokens."""

    kind: ContextKind
    label: str
    tokens: int


class ContextAccount(Struct, frozen=True, kw_only=True):
    """What the next request takes of its model's window, all in tokens and all estimated.

    `window` is 0 where it is not known or the model has none; `limit` is where room is made by itself, 0 for
    never. `freed` is what letting a summary take the place of the past would free at least.
    """

    tokens: int
    window: int
    limit: int
    freed: int
    shares: tuple[ContextShare, ...]
    largest: tuple[ContextEntry, ...]


class ContextPiece(Struct, frozen=True, kw_only=True):
    """A part of one message: its kind, of an output its tool, its size in bytes, and the beginning of it."""

    kind: ContextKind
    size: int
    label: str
    name: str = ""


def split_into_pieces(messages: Sequence[Message]) -> Iterator[ContextPiece]:
    """The parts of these messages; together they have the size of all."""
    tools: dict[str, str] = {}
    for message in messages:
        match message:
            case UserMessage(text, images, files, documents=documents):
                kind = ContextKind.SUMMARY if is_summary(message) else ContextKind.PROMPTS
                words = estimate_bytes((UserMessage(text),))
                yield ContextPiece(kind=kind, size=words, label=_label(text))
                if images:
                    named = ", ".join(image.label for image in images)
                    size = estimate_bytes((UserMessage(text, images),)) - words
                    yield ContextPiece(kind=ContextKind.IMAGES, size=size, label=_label(named))
                for document in documents:
                    size = estimate_bytes((UserMessage(text, documents=(document,)),)) - words
                    yield ContextPiece(kind=ContextKind.DOCUMENTS, size=size, label=document.label)
                shown = words
                for place, file in enumerate(files, 1):
                    size = estimate_bytes((UserMessage(text, files=files[:place]),)) - shown
                    shown += size
                    yield ContextPiece(kind=ContextKind.FILES, size=size, label=_label(file.name))
            case AssistantMessage(response):
                tools |= {each.id: _label(each) for each in response.content if isinstance(each, ToolUseBlock)}
                yield from _account_answer(message)
            case ToolResults(results):
                frame = _FRAME
                for result in results:
                    size = estimate_bytes((ToolResults((result,)),)) - _FRAME + frame
                    frame = 0
                    label = tools.get(result.tool_use_id, result.tool_name)
                    yield ContextPiece(kind=ContextKind.OUTPUTS, name=result.tool_name, size=size, label=label)
            case _:
                assert_never(message)


def sum_shares(pieces: Sequence[ContextPiece], per_byte: float) -> tuple[ContextShare, ...]:
    """What each kind takes at so many tokens per byte, in the order of the kinds, large outputs first."""
    sizes: dict[tuple[ContextKind, str], int] = {}
    for piece in pieces:
        sizes[piece.kind, piece.name] = sizes.get((piece.kind, piece.name), 0) + piece.size
    order = list(ContextKind)
    found = [
        ContextShare(kind=kind, name=name, tokens=round(size * per_byte))
        for (kind, name), size in sizes.items()
    ]
    return tuple(sorted(found, key=lambda share: (order.index(share.kind), -share.tokens)))


def find_largest(pieces: Sequence[ContextPiece], per_byte: float) -> tuple[ContextEntry, ...]:
    """The largest of them, largest first."""
    sized = sorted(pieces, key=lambda piece: -piece.size)[:_MOST_LARGE]
    return tuple(
        ContextEntry(kind=piece.kind, label=piece.label, tokens=round(piece.size * per_byte)) for piece in sized
    )


def _account_answer(message: AssistantMessage) -> Iterator[ContextPiece]:
    """An answer's blocks; the frame of the message is the first one's."""
    frame = _FRAME
    for block in message.response.content:
        alone = AssistantMessage(replace(message.response, content=(block,)))
        size = estimate_bytes((alone,)) - _FRAME + frame
        frame = 0
        yield ContextPiece(kind=_classify_block(block), size=size, label=_label(block))
    if frame:
        yield ContextPiece(kind=ContextKind.ANSWERS, size=frame, label="")


def _classify_block(block: ContentBlock) -> ContextKind:
    match block:
        case TextBlock():
            return ContextKind.ANSWERS
        case ToolUseBlock():
            return ContextKind.CALLS
        case ReasoningBlock() | OpaqueBlock():
            return ContextKind.REASONING
        case _:
            assert_never(block)


def _label(what: ContentBlock | str) -> str:
    match what:
        case str() | TextBlock():
            text = what if isinstance(what, str) else what.text
        case ToolUseBlock(name=name, input=arguments):
            given = next((value for value in arguments.values() if isinstance(value, str)), "")
            text = f"{format_tool_name(name)} {given}"
        case ReasoningBlock() | OpaqueBlock():
            text = "what the model thought"
        case _:
            assert_never(what)
    return " ".join(text[: 4 * _LONGEST_LABEL].split())[:_LONGEST_LABEL]
