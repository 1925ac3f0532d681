"""What a session tells while an answer arrives."""

from __future__ import annotations

from typing import TypeAlias

from domain.conversation.response import LlmResponse
from domain.errors import ProviderError, ProviderErrorKind
from domain.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of answer text."""

    text: str


@dataclass(frozen=True, slots=True)
class StreamedReasoning:
    """A piece of readable reasoning."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedToolCall:
    """A piece of a call. `id` and `name` come with the first piece of an index, and only there."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments_delta: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedPromptProgress:
    """The server has read so many of the `total` tokens of the prompt; nothing of the answer is there yet."""

    read: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRetry:
    """The request failed before its first byte and will be sent again after `delay_secs`.

    It is the `attempt`-th repetition of at most `attempts`; `kind` says why it failed in a word.
    """

    attempt: int
    delay_secs: float
    reason: str
    attempts: int | None = None
    kind: ProviderErrorKind | None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """The text answer is complete."""

    text: str


@dataclass(frozen=True, slots=True)
class CompletedResponse:
    """The structured answer is complete."""

    response: LlmResponse


@dataclass(frozen=True, slots=True)
class Error:
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
