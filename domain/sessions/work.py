"""Whether anything runs in a session, as its records tell."""

from __future__ import annotations

from collections.abc import Sequence

from quorum.domain.events.event import JobEnded, JobStarted, SessionResumed, TurnFinished, TurnStarted
from quorum.domain.sessions.session_summary import LedgerRecord

WORK_EVENTS = tuple(kind.type for kind in (SessionResumed, TurnStarted, TurnFinished, JobStarted, JobEnded))


def is_at_work(records: Sequence[LedgerRecord]) -> bool:
    """Whether a turn or a background command runs, by the records of `WORK_EVENTS` of a session that a process
    has. What ran in a process before that one ended with it."""
    in_turn, jobs = False, set[str]()
    for record in records:
        match record.event:
            case SessionResumed():
                in_turn, jobs = False, set()
            case TurnStarted():
                in_turn = True
            case TurnFinished():
                in_turn = False
            case JobStarted(job_id=job_id):
                jobs.add(job_id)
            case JobEnded(job_id=job_id):
                jobs.discard(job_id)
    return in_turn or bool(jobs)
