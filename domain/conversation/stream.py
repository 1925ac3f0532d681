"""What a session tells while an answer arrives."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ProviderError, ProviderErrorKind


class Delta(Struct, frozen=True):
    """A piece of answer text."""

    text: str


class StreamedReasoning(Struct, frozen=True):
    """A piece of readable reasoning."""

    text: str


class StreamedToolCall(Struct, frozen=True, kw_only=True):
    """A piece of a call. `id` and `name` come with the first piece of an index, and only there."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments_delta: str = ""


class StreamedPromptProgress(Struct, frozen=True, kw_only=True):
    """The server has read so many of the `total` tokens of the prompt; nothing of the answer is there yet."""

    read: int
    total: int


class StreamRetry(Struct, frozen=True, kw_only=True):
    """The request failed before its first byte and will be sent again after `delay_secs`.

    It is the `attempt`-th repetition of at most `attempts`; `kind` says why it failed in a word. `without_tool`
    names a tool that was refused and is not offered again.
    """

    attempt: int
    delay_secs: float
    reason: str
    attempts: int | None = None
    kind: ProviderErrorKind | None = None
    without_tool: str = ""


class Completed(Struct, frozen=True):
    """The text answer is complete."""

    text: str


class CompletedResponse(Struct, frozen=True):
    """The structured answer is complete."""

    response: LlmResponse


class Error(Struct, frozen=True):
    """The request failed for good; the same error is raised to the caller."""

    error: ProviderError


StreamEvent: TypeAlias = (
    Delta
    | StreamedReasoning
    | StreamedToolCall
    | StreamedPromptProgress
    | StreamRetry
    | Completed
    | CompletedResponse
    | Error
)
