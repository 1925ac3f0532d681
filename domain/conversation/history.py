"""The single history of a session, neutral of providers; it alone keeps calls and results paired."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import is_
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct

from quorum.domain.calls.tool import ToolCall, ToolResultMessage
from quorum.domain.conversation.attachment import AttachedFile, Attachment, Document, Image, render_placeholder
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ConversationError
from quorum.domain.replacing import replace


class UserMessage(Struct, frozen=True, tag="user"):
    """What the person (or the program in their name) said, with the images, documents and files attached to it.

    Each image and document is named in the text, by its label, and each file as the person mentioned it.
    `of_call`: the message brings what the result of that call names, such as an image that a tool has read;
    nobody said it.
    """

    text: str
    images: tuple[Image, ...] = ()
    files: tuple[AttachedFile, ...] = ()
    of_call: str = ""
    documents: tuple[Document, ...] = ()

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """What is shown beside the text: the images, then the documents."""
        return (*self.images, *self.documents)

    @property
    def sent_text(self) -> str:
        """The text, and below it what is attached of the files that it mentions."""
        return "\n\n".join([self.text, *(file.sent for file in self.files)])

    def without(self, left_out: Mapping[str, str]) -> UserMessage:
        """The message without the images and documents of these hashes; in the place of each stands why it is
        not there."""
        removed = [each for each in self.attachments if each.sha256 in left_out]
        if not removed:
            return self
        text = self.text
        for each in removed:
            named = render_placeholder(each, left_out[each.sha256])
            text = text.replace(each.label, named) if each.label in text else f"{text}\n{named}"
        return replace(
            self,
            text=text,
            images=tuple(each for each in self.images if each.sha256 not in left_out),
            documents=tuple(each for each in self.documents if each.sha256 not in left_out),
        )

    def without_files(self) -> UserMessage:
        """The message with its files given way to their names."""
        return replace(self, files=tuple(file.without_content() for file in self.files))


class AssistantMessage(Struct, frozen=True, tag="assistant"):
    """A model's answer."""

    response: LlmResponse


class ToolResults(Struct, frozen=True, tag="tool_results"):
    """The results of all calls of the answer before, in the order of the calls."""

    results: tuple[ToolResultMessage, ...]


Message: TypeAlias = UserMessage | AssistantMessage | ToolResults


class Conversation:
    """The history. Every change goes through a method that keeps it legal for any provider.

    It grows at its end; only compaction and rewinding change what was there before. `left_out` says why a
    model, by its full name, is not sent an attachment, by its hash: it refused it, or takes none so large;
    `plain_schemas` are the models that do not take the schemas of tools as they are.
    """

    def __init__(
        self,
        messages: Sequence[Message] = (),
        *,
        left_out: Mapping[tuple[str, str], str] = MappingProxyType({}),
        plain_schemas: Collection[str] = (),
    ) -> None:
        self._messages: list[Message] = list(messages)
        self._rewrites = 0
        self.left_out: dict[tuple[str, str], str] = dict(left_out)
        self.plain_schemas = set(plain_schemas)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, oldest first."""
        return tuple(self._messages)

    @property
    def rewrites(self) -> int:
        """How often older messages were replaced. While it stays the same, messages are only appended."""
        return self._rewrites

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """Calls of the last answer that have no result yet."""
        if self._messages and isinstance(last := self._messages[-1], AssistantMessage):
            return last.response.tool_calls()
        return ()

    def add_user(self, said: str | UserMessage) -> None:
        """Append what the person said. Raises ConversationError while calls are open."""
        if self.open_calls:
            raise ConversationError("the calls of the last answer have no results yet")
        self._messages.append(UserMessage(said) if isinstance(said, str) else said)

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

    def compact(self, replaced: int, by: Sequence[Message]) -> None:
        """Put these messages in place of the first `replaced`. Raises ConversationError, and leaves all as it
        was, where calls and results would come apart."""
        self._put((*by, *self._messages[replaced:]))

    def restore(self, messages: Sequence[Message]) -> None:
        """Make this the whole history, as when rewinding. Raises ConversationError as `compact` does."""
        self._put(tuple(messages))

    def _put(self, messages: tuple[Message, ...]) -> None:
        """The calls of the last answer may be open; all others must have their results."""
        closed = messages[:-1] if messages and isinstance(messages[-1], AssistantMessage) else messages
        if (call := find_unpaired_call(closed)) is not None:
            raise ConversationError(f"the call {call} and its result would come apart")
        self._messages = list(messages)
        self._rewrites += 1


class Moment(Struct, frozen=True, eq=False):
    """Where a conversation stood once: its first `length` messages, and the results that open calls lacked.

    Nothing is copied, so that a session can hold one for each of its turns.
    """

    conversation: Conversation
    length: int
    context_tokens: int
    closing: tuple[Message, ...] = ()

    def __eq__(self, other: object) -> bool:
        """Whether messages and size are the same, wherever the conversations went since."""
        if not isinstance(other, Moment):
            return NotImplemented
        return self.context_tokens == other.context_tokens and self.messages == other.messages

    def __ne__(self, other: object) -> bool:  # a struct has its own, which does not ask `__eq__`
        return not self == other

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages of that moment, legal to continue from."""
        return (*self.conversation.messages[: self.length], *self.closing)


def list_attachments(messages: Iterable[Message]) -> tuple[Attachment, ...]:
    """What is attached to these messages, each content once, the newest first."""
    found = [each for message in messages if isinstance(message, UserMessage) for each in message.attachments]
    return tuple({each.sha256: each for each in reversed(found)}.values())


def select_unanswered(messages: Sequence[Message]) -> Sequence[Message]:
    """Those that the model has not answered yet."""
    for place in range(len(messages) - 1, -1, -1):
        if isinstance(messages[place], AssistantMessage):
            return messages[place + 1 :]
    return messages


def split_last_step(
    messages: Sequence[Message],
) -> tuple[Sequence[Message], Message | None, tuple[UserMessage, ...]]:
    """What a request has to answer: the messages before it, the last one, and those that bring what its results
    name."""
    end = len(messages)
    brought: list[UserMessage] = []
    while end and isinstance(last := messages[end - 1], UserMessage) and last.of_call:
        brought.insert(0, last)
        end -= 1
    if brought and end and isinstance(messages[end - 1], ToolResults):
        return messages[: end - 1], messages[end - 1], tuple(brought)
    return messages[:-1], messages[-1] if messages else None, ()


def count_common_prefix(one: Sequence[Message], other: Sequence[Message]) -> int:
    """Count the identical messages with which both begin."""
    if all(map(is_, one, other)):  # as nearly always: one of them only goes further
        return min(len(one), len(other))
    return next(place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] is not pair[1])


def find_unpaired_call(messages: Sequence[Message]) -> str | None:
    """The id of a call that its result does not follow, or of a result without its call; None if all fits."""
    awaited: list[str] = []
    for message in messages:
        given = [r.tool_use_id for r in message.results] if isinstance(message, ToolResults) else []
        if given != awaited:
            return next(iter([*awaited, *given]))
        calls = message.response.tool_calls() if isinstance(message, AssistantMessage) else ()
        awaited = [call.native_id for call in calls]
    return awaited[0] if awaited else None
