"""How much of a model's window a conversation takes: estimated from its bytes, set right by counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

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
from quorum.domain.text.json_text import count_json_bytes, count_utf8_bytes

# What a message and each of its parts cost besides their text: roles, ids, brackets.
_FRAME = 16
# Tokens per byte. English and code have about one token in four bytes, and nothing that people write is outside
# of these bounds: a count above them is not of these bytes alone, and one below them not of all of them.
_USUAL = 0.25
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
        self.per_byte = _USUAL

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
                + round(sum(each.tokens for each in attachments) / _USUAL)
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
