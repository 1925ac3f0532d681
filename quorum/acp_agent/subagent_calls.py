"""Calls of subagents as updates for the client: those that it is asked about, from the question to the end."""

from __future__ import annotations

from collections.abc import Iterator

from acp.schema import ToolCallProgress

from quorum.acp_agent.outbox import SessionUpdate
from quorum.acp_agent.tool_calls import find_call, identify_call, start_call, update_call
from quorum.application.view.session_view import SessionView
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.events import event as ev
from quorum.domain.events.reading import event_from_json

_FOLLOWED = frozenset(
    event.type
    for event in (
        ev.ReviewRequested,
        ev.ReviewDecided,
        ev.CallStarted,
        ev.CallFinished,
        ev.EffectsObserved,
    )
)


class SubagentCalls:
    """Follows the calls of subagents. Of those that nobody is asked about, the row of the task tells enough.

    `cwd` is what relative paths start at.
    """

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._views: dict[str, SessionView] = {}
        self._open: dict[str, dict[ToolExecutionContext, None]] = {}

    def map_event(self, event: ev.SubagentProgressed | ev.SubagentFinished) -> Iterator[SessionUpdate]:
        """What the event changes for the client. With its task, every call has ended."""
        match event:
            case ev.SubagentProgressed() if event.event.get("type") in _FOLLOWED:
                yield from self._follow(event.subagent_id, event_from_json(event.event))
            case ev.SubagentProgressed():
                return
            case ev.SubagentFinished():
                self._views.pop(event.subagent_id, None)
                for context in self._open.pop(event.subagent_id, {}):
                    yield ToolCallProgress(
                        session_update="tool_call_update", tool_call_id=identify_call(context), status="failed"
                    )

    def _follow(self, subagent_id: str, event: ev.Event) -> Iterator[SessionUpdate]:
        match event:
            case ev.ReviewRequested():
                known = self._open.setdefault(subagent_id, {})
                is_new = event.context not in known
                known[event.context] = None
            case ev.ReviewDecided() | ev.CallStarted() | ev.CallFinished() | ev.EffectsObserved():
                is_new = False
                if event.context not in self._open.get(subagent_id, {}):
                    return
            case _:
                return
        view = self._views.setdefault(subagent_id, SessionView())
        view.apply(event)
        if (call := find_call(view.entries, event.context)) is not None:
            show = start_call if is_new else update_call
            yield show(identify_call(event.context), call, self._cwd)
        if isinstance(event, ev.CallFinished):
            self._open[subagent_id].pop(event.context)
