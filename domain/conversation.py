"""The single history of a session, neutral of providers; it alone keeps calls and results paired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from domain.errors import ConversationError
from domain.response import LlmResponse
from domain.tool import ToolCall, ToolResultMessage


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the person (or the program in their name) said."""

    text: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """A model's answer."""

    response: LlmResponse


@dataclass(frozen=True, slots=True)
class ToolResults:
    """The results of all calls of the answer before, in the order of the calls."""

    results: tuple[ToolResultMessage, ...]


Message: TypeAlias = UserMessage | AssistantMessage | ToolResults


class Conversation:
    """Append-only history. Every change goes through a method that keeps it legal for any provider."""

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._messages: list[Message] = list(messages)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, oldest first."""
        return tuple(self._messages)

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """Calls of the last answer that have no result yet."""
        if self._messages and isinstance(last := self._messages[-1], AssistantMessage):
            return last.response.tool_calls()
        return ()

    def add_user(self, text: str) -> None:
        """Append what the person said. Raises ConversationError while calls are open."""
        if self.open_calls:
            raise ConversationError("the calls of the last answer have no results yet")
        self._messages.append(UserMessage(text))

    def add_response(self, response: LlmResponse) -> None:
        """Append an answer. Calls that may not be executed are dropped, and so is an answer without content.

        Raises ConversationError while calls are open, or when an answer's calls repeat an id.
        """
        if self.open_calls:
            raise ConversationError("an answer arrived while calls of the one before are open")
        kept = response.without_unfinished_calls()
        ids = [call.native_id for call in kept.tool_calls()]
        if len(set(ids)) != len(ids):
            raise ConversationError("two calls of one answer carry the same id")
        if kept.content:
            self._messages.append(AssistantMessage(kept))

    def add_results(self, results: Sequence[ToolResultMessage]) -> None:
        """Append the results of the open calls: one each, in their order, or ConversationError."""
        expected = [call.native_id for call in self.open_calls]
        given = [result.tool_use_id for result in results]
        if not expected:
            raise ConversationError("there is no open call that results could belong to")
        if expected != given:
            raise ConversationError(f"results must be those of {expected} in this order, not {given}")
        self._messages.append(ToolResults(tuple(results)))


def unpaired_call(messages: Sequence[Message]) -> str | None:
    """The id of a call that its result does not follow, or of a result without its call; None if all fits."""
    awaited: list[str] = []
    for message in messages:
        given = [r.tool_use_id for r in message.results] if isinstance(message, ToolResults) else []
        if given != awaited:
            return next(iter([*awaited, *given]))
        calls = message.response.tool_calls() if isinstance(message, AssistantMessage) else ()
        awaited = [call.native_id for call in calls]
    return awaited[0] if awaited else None
