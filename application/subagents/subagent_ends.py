"""Ends of subagents that are on their own records, and not yet on that of their owner, whose process died."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from quorum.domain.errors import LedgerError
from quorum.domain.events.event import SessionFinished, SessionResumed, SubagentFinished
from quorum.domain.events.subagent_outcome import SubagentOutcome
from quorum.domain.sessions.past_session import LedgerRecord
from quorum.domain.sessions.state import OpenCall


async def find_subagent_ends(
    calls: Sequence[OpenCall], read: Callable[[str], Awaitable[Sequence[LedgerRecord]]]
) -> tuple[SubagentFinished, ...]:
    """The ends that the owner of these open calls has yet to record, in the order of the calls.

    `read` answers the records of a session, oldest first, and raises LedgerError where it cannot. A task
    whose record has no end, or is not there or cannot be read, has none: it was interrupted.
    """
    ends: list[SubagentFinished] = []
    for call in calls:
        id_, context = call.subagent_id, call.context
        if id_ is None or context is None or call.end is not None or call.subagent_end is not None:
            continue
        try:
            records = await read(id_)
        except LedgerError:  # it had not begun, or nobody can say how it ended
            continue
        if (outcome := _find_outcome(records)) is not None:
            ends.append(SubagentFinished(context=context, subagent_id=id_, outcome=outcome))
    return tuple(ends)


def _find_outcome(records: Sequence[LedgerRecord]) -> SubagentOutcome | None:
    """What came of the task; what the person asked in that session later is no part of it."""
    for record in records:
        match record.event:
            case SessionResumed():
                return None
            case SessionFinished(report=report):
                return SubagentOutcome.of(report)
            case _:
                continue
    return None
