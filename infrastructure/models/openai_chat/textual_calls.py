"""The calls of an answer that its model wrote as text; loaded only where a parser for them is set."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from quorum.application.ports.models import OnStreamEvent
from quorum.domain.conversation.response import StreamedToolCall, ToolUseBlock
from quorum.domain.replacing import replace
from quorum.domain.textual_calls.forms import TextualCall
from quorum.domain.textual_calls.reader import (
    CallBegun,
    Piece,
    ResultBegun,
    TextualCallReader,
    ThinkingEnded,
    ThoughtPiece,
    Words,
)
from quorum.infrastructure.models.shared.call_arguments import CallIds, build_call_block


class TextualCalls:
    """Collects the textual calls of one answer and tells of them.

    `say` and `think` get the words and the thoughts of the text; `end_thinking` is called where all of it
    turned out to be thinking so far.
    """

    def __init__(
        self,
        reader: TextualCallReader,
        on_event: OnStreamEvent,
        *,
        say: Callable[[str], None],
        think: Callable[[str], None],
        end_thinking: Callable[[], None],
    ) -> None:
        self._reader = reader
        self._say, self._think, self._end_thinking = say, think, end_thinking
        self._on_event = on_event
        self._ids = CallIds()
        self._announced = 0
        self._begun: tuple[int, str, str] | None = None
        self._calls: list[tuple[str, TextualCall]] = []
        self.are_whole = False  # what follows is made up
        self.ended_thinking = False

    def feed(self, text: str) -> None:
        self._take(self._reader.feed(text))

    def rule_out_thinking(self) -> None:
        """Thinking comes by itself: none of it is in the text."""
        self._reader.begins_in_thought = False

    def finish(self, *, is_cut: bool) -> tuple[ToolUseBlock, ...]:
        """Take the end of the text, and return its calls in their order. A limit cut it off if `is_cut`."""
        self._take(self._reader.finish(is_cut=is_cut))
        return tuple(
            replace(block, repairs=(*call.repairs, *block.repairs))
            for call_id, call in self._calls
            for block in (build_call_block(call_id, call.name, call.arguments),)
        )

    def _take(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            match piece:
                case Words(text):
                    self._say(text)
                case ThoughtPiece(text):
                    self._think(text)
                case ThinkingEnded():
                    self.ended_thinking = True
                    self._end_thinking()
                    self._calls.clear()
                case CallBegun(name):
                    self._begin(name)
                case TextualCall():
                    self._add(piece)
                case ResultBegun():
                    self.are_whole = True

    def _begin(self, name: str) -> tuple[int, str, str]:
        """Announce a call of this tool, whose arguments are still being written."""
        self._begun = (self._announced, self._ids.claim(""), name)
        self._announced += 1
        self._on_event(StreamedToolCall(index=self._begun[0], id=self._begun[1], name=name))
        return self._begun

    def _add(self, call: TextualCall) -> None:
        """Take a call that is whole."""
        begun = (
            self._begun if self._begun is not None and self._begun[2] == call.name else self._begin(call.name)
        )
        self._begun = None
        self._on_event(StreamedToolCall(index=begun[0], arguments_delta=call.arguments))
        self._calls.append((begun[1], call))
