"""What a session tells while an answer arrives, as events of the run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import assert_never

from quorum.domain.conversation import response
from quorum.domain.events import event as events


class StreamEvents:
    """Shows what a session tells while an answer arrives.

    Pieces of text that were read from the connection without waiting for it are shown as one: masking and
    drawing cost by the piece, and nobody sees them apart.
    """

    def __init__(self, show: Callable[[events.Event], None]) -> None:
        self._show = show
        self._texts: list[str] = []
        self._kind: type[events.TextDelta | events.ReasoningDelta] = events.TextDelta

    def add_event(self, event: response.StreamEvent) -> None:
        """Show it at the latest when the event loop comes round, and before anything that is taken later."""
        match event:
            case response.Delta(text):
                self._join(events.TextDelta, text)
            case response.StreamedReasoning(text):
                self._join(events.ReasoningDelta, text)
            case response.Completed() | response.CompletedResponse() | response.Error():
                self.flush()  # the answer ends here: the run tells how when that is recorded
            case _:
                self.flush()
                if (shown := translate_stream_event(event)) is not None:
                    self._show(shown)

    def flush(self) -> None:
        """Show the text that waits."""
        if self._texts:
            text, self._texts = "".join(self._texts), []
            self._show(self._kind(text=text))

    def _join(self, kind: type[events.TextDelta | events.ReasoningDelta], text: str) -> None:
        if kind is not self._kind:
            self.flush()
            self._kind = kind
        if not self._texts:
            asyncio.get_running_loop().call_soon(self.flush)
        self._texts.append(text)


def translate_stream_event(event: response.StreamEvent) -> events.Event | None:
    """The event to show for it; None where the run itself announces the same fact when it is recorded."""
    match event:
        case response.Delta(text):
            return events.TextDelta(text=text)
        case response.StreamedReasoning(text):
            return events.ReasoningDelta(text=text)
        case response.StreamedToolCall(index=index, id=id_, name=name, arguments_delta=delta):
            return events.ToolCallDelta(index=index, id=id_, name=name, arguments_delta=delta)
        case response.StreamedPromptProgress(read=read, total=total):
            return events.PromptProgressed(read=read, total=total)
        case response.StreamRetry():
            return events.RetryScheduled(
                attempt=event.attempt,
                delay_secs=event.delay_secs,
                reason=event.reason,
                attempts=event.attempts,
                kind=event.kind,
            )
        case response.Completed() | response.CompletedResponse() | response.Error():
            return None
        case _:
            assert_never(event)
