"""Tells the observers of an owner what happens in the session of its subagent."""

from __future__ import annotations

from application.events.event_bus import EventBus
from application.subagents.subagent_progress import SubagentProgress
from domain.calls.execution import ToolExecutionContext
from domain.events.event import Event, SubagentProgressed
from domain.events.json_form import event_to_json


class SubagentRelay:
    """Implements `Observer` of a subagent's session. What it does now is shown as progress of the call, too."""

    def __init__(self, events: EventBus, context: ToolExecutionContext, subagent_id: str) -> None:
        self._events = events
        self._context = context
        self._subagent_id = subagent_id
        self._progress = SubagentProgress()
        self._shown = ""

    def notify(self, event: Event) -> None:
        """Pass the event on, as JSON: a stream has it in a line of its own."""
        self._events.show(
            SubagentProgressed(context=self._context, subagent_id=self._subagent_id, event=event_to_json(event))
        )
        self._progress.take(event)
        if (text := self._progress.sentence) != self._shown:
            self._shown = text
            self._context.controls.report(text)
