"""What an agent tells while it answers: text, and calls that it made unasked, recorded in their order."""

from __future__ import annotations

from quorum.application.event_bus import EventBus, StreamEvents
from quorum.application.turn.run_tally import RunTally
from quorum.domain.conversation.response import (
    TOOL_USE,
    Delta,
    LlmResponse,
    StopReason,
    StreamedReasoning,
    TextBlock,
    ToolUseBlock,
    Usage,
)
from quorum.domain.events.agents import UnaskedCallReported
from quorum.domain.events.event import ResponseCompleted, TextDelta


class ToldAnswer:
    """What comes between two asked calls is one answer for the `tally`, and a response in the record for each
    unasked call in it. `caller` is the agent's name there."""

    def __init__(self, caller: str, events: EventBus, tally: RunTally) -> None:
        self._caller, self._events, self._tally = caller, events, tally
        self._stream = StreamEvents(events.show)
        self._texts: list[str] = []
        self._places: dict[str, int] = {}  # of calls it told of: how many of the texts came before
        self._held: list[UnaskedCallReported] = []
        self._is_call_open = self._is_continued = False

    def add(self, update: Delta | StreamedReasoning) -> None:
        """It says or thinks this."""
        if isinstance(update, Delta):
            self._texts.append(update.text)
        self._stream.add_event(update)

    def place_call(self, call_id: str) -> None:
        """It tells of this call, for the first time or again."""
        self._places.setdefault(call_id, len(self._texts))

    def report_call(self, told: UnaskedCallReported) -> None:
        """Record an unasked call, after what was said before it began."""
        if self._is_call_open:  # after an answer with a call comes its result
            self._held.append(told)
            return
        count = self._places.pop(told.call_id, 0)
        if text := "".join(self._texts[:count]):
            self._record_text(text, count)
        self._events.note(told)

    def _record_text(self, text: str, count: int) -> None:
        self._stream.flush()
        del self._texts[:count]
        self._places = {call_id: max(0, place - count) for call_id, place in self._places.items()}
        response = LlmResponse(content=(TextBlock(text),), stop_reason=TOOL_USE, model=self._caller)
        self._events.note(ResponseCompleted(turn_index=self._events.state.responses, response=response))
        self._tally.add_response(response, None, continues=self._is_continued)
        self._is_continued = True
        if rest := "".join(self._texts):
            self._events.show(TextDelta(text=rest))  # was shown as part of what is complete now

    async def complete(
        self, stop_reason: StopReason, *, usage: Usage | None = None, call: ToolUseBlock | None = None
    ) -> LlmResponse:
        """Record what was said since the last response, with the call that it ends with, if any. Raises
        LedgerError."""
        self._stream.flush()
        text, self._texts = "".join(self._texts), []
        self._places = dict.fromkeys(self._places, 0)
        self._is_call_open = call is not None
        response = LlmResponse(
            content=(*([TextBlock(text)] if text else ()), *([call] if call is not None else ())),
            stop_reason=stop_reason,
            model=self._caller,
            usage=usage or Usage(),
        )
        turn_index = self._events.state.responses
        await self._events.announce(ResponseCompleted(turn_index=turn_index, response=response))
        self._tally.add_response(response, None, continues=self._is_continued)
        self._is_continued = False
        return response

    def end_call(self) -> None:
        """No call is open: the result of the one before is recorded."""
        self._is_call_open = False
        held, self._held = self._held, []
        for told in held:
            self.report_call(told)
