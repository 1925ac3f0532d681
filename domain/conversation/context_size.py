"""How large a conversation is in its model's window, and how long answers and results may be.

Sizes are estimated from bytes, and set right by the counts that providers give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import (
    AssistantMessage,
    Message,
    ToolResults,
    UserMessage,
    count_common_prefix,
)
from quorum.domain.conversation.response import (
    ContentBlock,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolUseBlock,
)
from quorum.domain.replacing import replace
from quorum.domain.text.json_text import count_json_bytes, count_utf8_bytes
from quorum.domain.text.pattern import compile_once

# What a message and each of its parts cost besides their text: roles, ids, brackets.
_FRAME = 16
# Tokens per byte. English and code have about one token in four bytes, and nothing that people write is outside
# of these bounds: a count above them is not of these bytes alone, and one below them not of all of them.
USUAL_TOKENS_PER_BYTE = 0.25
_LEAST, _MOST = 0.1, 0.6


def estimate_bytes(messages: Sequence[Message]) -> int:
    """Estimate the size of these messages in a request, in bytes."""
    return sum(map(_estimate_message_bytes, messages))


class ContextMeter:
    """Estimates the tokens of a request. `fixed_bytes` are those of what every request carries besides the
    messages: instructions and tools.

    Each counted request sets it right: how many tokens a byte has, and what comes on top.
    """

    def __init__(self, fixed_bytes: int = 0) -> None:
        self.fixed_bytes = fixed_bytes
        self._on_top = 0.0
        self._seen: list[Message] = []
        self._totals = [0]  # of the first so many of them
        self.per_byte = USUAL_TOKENS_PER_BYTE

    @property
    def fixed_tokens(self) -> int:
        """The tokens of a request without any message."""
        return round(self._on_top + self.per_byte * self.fixed_bytes)

    def estimate_tokens(self, messages: Sequence[Message]) -> int:
        """The tokens of a request with these messages."""
        return round(self._on_top + self.per_byte * (self.fixed_bytes + self._count_bytes(messages)))

    def learn_tokens(self, messages: Sequence[Message], tokens: int) -> None:
        """Take note that a request and its answer, all in `messages`, took so many tokens.

        A count that cannot be true, as some servers give it, changes nothing.
        """
        counted = self.fixed_bytes + self._count_bytes(messages)
        if tokens < _LEAST * counted:
            return
        self.per_byte = min(tokens / max(counted, 1), _MOST)
        self._on_top = max(0.0, tokens - self.per_byte * counted)

    def _count_bytes(self, messages: Sequence[Message]) -> int:
        """Their bytes; those of messages seen before at the same place are not counted again."""
        same = count_common_prefix(self._seen, messages)
        del self._seen[same:], self._totals[same + 1 :]
        for message in messages[same:]:
            self._seen.append(message)
            self._totals.append(self._totals[-1] + _estimate_message_bytes(message))
        return self._totals[-1]


def _estimate_message_bytes(message: Message) -> int:
    match message:
        case UserMessage(attachments=attachments):
            # as many bytes as its tokens usually have: the base64 of it is not read as text
            return (
                _FRAME
                + count_utf8_bytes(message.sent_text)
                + round(sum(each.tokens for each in attachments) / USUAL_TOKENS_PER_BYTE)
            )
        case AssistantMessage(response):
            return _FRAME + sum(map(_count_bytes_of_block, response.content))
        case ToolResults(results):
            return _FRAME + sum(_FRAME + count_utf8_bytes(result.output) for result in results)
        case _:
            assert_never(message)


def _count_bytes_of_block(block: ContentBlock) -> int:
    match block:
        case TextBlock(text):
            return count_utf8_bytes(text)
        case ToolUseBlock(name=name, input=arguments):
            return _FRAME + count_utf8_bytes(name) + count_json_bytes(arguments)
        case ReasoningBlock(payload=payload) | OpaqueBlock(payload=payload):
            return count_json_bytes(payload)
        case _:
            assert_never(block)


# The first that fits counts. A model that is not named here may take more or less: nobody can tell by its name.
_MOST_TOKENS = (
    (r"claude-3-(?:haiku|sonnet|opus)", 4_096),
    (r"claude-3[.-]5", 8_192),
    (r"claude-3[.-]7", 64_000),
    (r"claude-(?:opus|sonnet)-4[.-][6-9]", 128_000),
    (r"claude-(?:haiku|opus|sonnet)-4[.-]5", 64_000),
    (r"claude-opus-4(?:[.-][01])?(?![.-][2-9](?![0-9]))", 32_000),
    (r"claude-sonnet-4(?:[.-]0)?(?![.-][1-9](?![0-9]))", 64_000),
    (r"gpt-3\.5-turbo", 4_096),
    (r"gpt-4-turbo", 4_096),
    (r"gpt-4o-2024-05-13", 4_096),
    (r"gpt-4o", 16_384),
    (r"gpt-4\.1", 32_768),
    (r"gpt-5(?:\.\d+)?-chat", 16_384),
    (r"gpt-5(?:\.\d+)?(?!\.|\d|[a-z0-9.-]*-pro)", 128_000),
    (r"o1-mini", 65_536),
    (r"o1-preview", 32_768),
    (r"(?:o1|o3|o3-mini|o4-mini)(?=$|[:@]|-\d{4}|-high|-low)", 100_000),
)


# an answer that was cut off gets this many times its tokens when it is asked for again
_LARGER = 4
LEAST_FOR_A_CALL = 16_384
LEAST_FOR_A_FORM = 4_096


def compute_larger_output(model: str, used: int, *, least: int) -> int:
    """How many tokens to ask for where an answer of so many was cut off: at least `least`, at most what
    the model gives."""
    larger = max(_LARGER * used, least)
    most = find_output_limit(model)
    return larger if most is None else min(larger, most)


def find_output_limit(model: str) -> int | None:
    """The most that one answer of this model may have; None for a model of which that is not known.

    `model` is its name, whatever stands before it: `claude-opus-4-1`, `openai/gpt-4.1`,
    `bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0`.
    """
    return next(
        (
            most
            for named, most in _MOST_TOKENS
            if compile_once(rf"(?i)(?:^|[/.]){named}(?![0-9])").search(model)
        ),
        None,
    )


_CUT = "\n[… {count} characters left out: they do not fit the window of the model; ask for a smaller part …]\n"
_CUT_BYTES = 160  # what the sentence takes, with the frame of a result
_SHORTEST_OUTPUT = 400


def shorten_outputs(results: ToolResults, most: int) -> ToolResults:
    """The results with no more than some `most` bytes of output: the longest ones keep their ends alone."""
    sizes = sorted(len(each.output.encode(errors="surrogatepass")) for each in results.results)
    left, each_most = most, 0
    for count, size in zip(range(len(sizes), 0, -1), sizes, strict=True):
        each_most = left // count
        if size > each_most:
            break
        left -= size
    else:
        return results
    return ToolResults(tuple(_shorten(each, max(each_most, _SHORTEST_OUTPUT)) for each in results.results))


def _shorten(result: ToolResultMessage, most: int) -> ToolResultMessage:
    text = result.output
    size = len(text.encode(errors="surrogatepass"))
    if size <= most:
        return result
    kept = (most - _CUT_BYTES) * len(text) // size  # characters: they take several bytes in some scripts
    head, tail = kept * 2 // 3, kept // 3
    cut = _CUT.format(count=len(text) - head - tail)
    return replace(result, output=f"{text[:head]}{cut}{text[len(text) - tail :]}")
