"""The conversation, replayed from a session's events. What does not fit is closed or left out, and reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import Conversation, Message, Moment, ToolResults, UserMessage
from quorum.domain.conversation.response import LlmResponse, OpaqueBlock, ReasoningBlock
from quorum.domain.errors import ConversationError
from quorum.domain.events.event import ConversationCompacted
from quorum.domain.events.masking import holds_mask
from quorum.domain.replacing import replace
from quorum.domain.sessions.replayed_calls import CallEvent, ReplayedCalls
from quorum.domain.sessions.state import OpenCall


class ReplayedConversation:
    """Grows with a record. `mended` tells, in sentences, what of it did not fit.

    A conversation that is taken apart gives way to another, so that each moment can be had again without a
    copy of it.
    """

    def __init__(self) -> None:
        self.context_tokens = 0
        self.mended: list[str] = []
        self._conversation = Conversation()
        self._length = 0
        self._calls = ReplayedCalls()

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, oldest first."""
        return self._conversation.messages

    @property
    def open_calls(self) -> tuple[OpenCall, ...]:
        """The calls of the last answer that have no result yet."""
        return self._calls.open_calls

    def follow(self, event: CallEvent) -> None:
        self._calls.apply(event)

    def add(self, message: UserMessage | ToolResults) -> None:
        """Append a message of the person, or the results of the open calls."""
        match message:
            case UserMessage():
                self._close_calls()
                self._conversation.add_user(message)
                self._length += 1
            case ToolResults(results):
                self._give(results)
            case _:
                assert_never(message)

    def answer(self, response: LlmResponse) -> None:
        """Append an answer, as far as it may be part of a conversation."""
        self._close_calls()
        try:
            self._conversation.add_response(_drop_masked_blocks(response))
        except ConversationError as error:
            self.mended.append(f"a recorded answer was left out: {error}")
            return
        self._length += bool(response.without_unfinished_calls().content)
        self.context_tokens = response.usage.context
        self._calls.open(self._conversation.open_calls)

    def compact(self, event: ConversationCompacted) -> None:
        """Put other messages in place of the first ones."""
        if not 0 <= event.replaced <= self._length:
            self.mended.append(
                f"a recorded compaction was left out: it is of {event.replaced} messages, and there were"
                f" {self._length}"
            )
            return
        compacted = Conversation(self._conversation.messages)
        try:
            compacted.compact(event.replaced, event.by)
        except ConversationError as error:
            self.mended.append(f"a recorded compaction was left out: {error}")
            return
        if event.replaced == self._length:  # the last answer is another now
            self._calls.open(compacted.open_calls)
        self._put(compacted, self._length - event.replaced + len(event.by))
        self.context_tokens = event.tokens_after

    def capture_moment(self) -> Moment:
        """Return the present moment of the conversation."""
        results = self._calls.build_results()
        closing = (ToolResults(results),) if results else ()
        return Moment(self._conversation, self._length, self.context_tokens, closing)

    def restore(self, moment: Moment) -> None:
        """Return to an earlier moment."""
        messages = moment.messages
        self._put(Conversation(messages), len(messages))
        self._calls.open(())
        self.context_tokens = moment.context_tokens

    def _put(self, conversation: Conversation, length: int) -> None:
        self._conversation, self._length = conversation, length

    def _give(self, results: Sequence[ToolResultMessage]) -> None:
        expected = [result.tool_use_id for result in self._calls.build_results()]
        if not expected:
            self.mended.append("recorded results were left out: no call waited for them")
            return
        if expected != [result.tool_use_id for result in results]:
            self.mended.append("recorded results did not fit their calls; those that are missing were closed")
            given = {result.tool_use_id: result for result in results}
            results = [given.get(result.tool_use_id, result) for result in self._calls.build_results()]
        self._conversation.add_results(results)
        self._length += 1
        self._calls.open(())

    def _close_calls(self) -> None:
        """Nothing may follow open calls but their results: what is missing of those is said in their place."""
        if results := self._calls.build_results():
            self.mended.append(f"recorded calls had no results and were closed: {len(results)} of them")
            self._give(results)


def _drop_masked_blocks(response: LlmResponse) -> LlmResponse:
    """The answer without the blocks of its provider in which something was hidden before they were kept.

    They may be signed, and would be refused.
    """
    kept = tuple(
        block
        for block in response.content
        if not (isinstance(block, ReasoningBlock | OpaqueBlock) and holds_mask(block.payload))
    )
    return response if len(kept) == len(response.content) else replace(response, content=kept)
