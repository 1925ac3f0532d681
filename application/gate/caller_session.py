"""The session of another agent as it begins, or continues: what a process before left open is closed."""

from __future__ import annotations

from quorum.application.events.event_bus import EventBus
from quorum.application.review.review import Review
from quorum.application.turn.recovery import Recovery, plan_recovery
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import ToolResults
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.events.event import MessageAdded, SessionStarted
from quorum.domain.review.requested_scope import RequestedScope


async def begin_caller_session(
    events: EventBus,
    review: Review,
    *,
    session_id: str,
    caller: str,
    cwd: str,
    form: SessionKind = SessionKind.AGENT,
) -> str | None:
    """Announce the session where it is new; the answer is why the review mode is another than the settings
    want, if it is. Raises LedgerError."""
    state = events.state
    fallen_back = await review.fall_back()
    if not state.session_id:
        await events.announce(
            SessionStarted(session_id=session_id, model=caller, mode=review.mode, cwd=cwd, form=form)
        )
    recovery = plan_recovery(state.open_calls, turn_index=state.responses - 1, scope=RequestedScope())
    if recovery is not None:
        await _close(events, recovery.drop_reviews() if recovery.pending else recovery)
    return fallen_back


async def _close(events: EventBus, recovery: Recovery) -> None:
    """Record that nothing was answered about these calls, as far as that is known."""
    for finished in recovery.list_ends():
        await events.announce(finished)
    results = [
        ToolResultMessage(
            tool_use_id=context.call_id,
            tool_name=call.tool_name,
            output=end.message,
            is_error=end.outcome.is_error,
            is_rejected=end.outcome.is_rejected,
        )
        for context, call in recovery.batch.calls
        if (end := recovery.batch.ends.get(context.call_id)) is not None
    ]
    await events.announce(MessageAdded(message=ToolResults(tuple(results))))
