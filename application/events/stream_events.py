"""What a session tells while an answer arrives, as events of the run."""

from __future__ import annotations

from typing import assert_never

from domain.conversation import stream
from domain.events import event as events


def translate_stream_event(event: stream.StreamEvent) -> events.Event | None:
    """The event to show for it; None where the run itself announces the same fact when it is recorded."""
    match event:
        case stream.Delta(text):
            return events.TextDelta(text=text)
        case stream.StreamedReasoning(text):
            return events.ReasoningDelta(text=text)
        case stream.StreamedToolCall(index=index, id=id_, name=name, arguments_delta=delta):
            return events.ToolCallDelta(index=index, id=id_, name=name, arguments_delta=delta)
        case stream.StreamRetry():
            return events.RetryScheduled(
                attempt=event.attempt,
                delay_secs=event.delay_secs,
                reason=event.reason,
                attempts=event.attempts,
                kind=event.kind,
            )
        case stream.Completed() | stream.CompletedResponse() | stream.Error():
            return None
        case _:
            assert_never(event)
