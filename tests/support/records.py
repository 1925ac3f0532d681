"""Records of sessions for tests that are about something else."""

from __future__ import annotations

from quorum.application.session.session_record import SessionRecord
from quorum.domain.conversation.session_kind import SessionKind
from tests.support.fake_storage import FakeStorage


async def _nothing() -> None:
    """There is nothing to let go of."""


def no_record(session_id: str = "session-1", form: SessionKind = SessionKind.AGENT) -> SessionRecord:
    """A session that is not recorded anywhere."""
    return SessionRecord(
        session_id=session_id,
        ledger=None,
        storage=FakeStorage(),
        release=_nothing,
        begun_as=form,
    )
