"""What waits for the person, what is open and what ended in the sessions of one storage."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from quorum.application.inbox.inbox import Inbox
from quorum.application.ports.storage import SessionArchive
from quorum.domain.sessions.past_session import SessionSummary, select_own_sessions
from quorum.domain.sessions.waiting_review import WaitingReview

_ENDED_SHOWN = 20


class SessionBoard(Struct, frozen=True, kw_only=True):
    """Reviews that wait, the longest first; other sessions that a process has; and those that ended last."""

    waiting: tuple[WaitingReview, ...] = ()
    open: tuple[SessionSummary, ...] = ()
    ended: tuple[SessionSummary, ...] = ()


async def read_board(inbox: Inbox, archive: SessionArchive, *, without: Collection[str] = ()) -> SessionBoard:
    """All sessions but those of the ids `without`; a session whose review waits is not listed again.

    Raises LedgerError.
    """
    waiting = await inbox.list_waiting(without)
    asking = {review.session.owner or review.session.id for review in waiting}
    others = [
        session
        for session in select_own_sessions(await archive.list_sessions())
        if session.is_begun and session.id not in without and session.id not in asking
    ]
    return SessionBoard(
        waiting=waiting,
        open=tuple(session for session in others if session.open_in is not None),
        ended=tuple(session for session in others if session.open_in is None)[:_ENDED_SHOWN],
    )
