"""An archive of sessions that only lists."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from decimal import Decimal

from quorum.domain.errors import LedgerError
from quorum.domain.sessions.ledger_chain import Verification
from quorum.domain.sessions.session_summary import LedgerRecord, SessionSummary
from tests.support.no_folder import NO_FOLDER


class FakeArchive:
    """Lists `listed`, once it may, or fails with it."""

    def __init__(self, listed: Sequence[SessionSummary] | LedgerError = ()) -> None:
        self.listed = listed
        self.records: dict[str, tuple[LedgerRecord, ...]] = {}
        self.ended: list[str] = []
        self.may_list = asyncio.Event()
        self.may_list.set()

    async def list_sessions(self) -> tuple[SessionSummary, ...]:
        """What is listed."""
        await self.may_list.wait()
        if isinstance(self.listed, LedgerError):
            raise self.listed
        return tuple(self.listed)

    async def find(self, name: str) -> SessionSummary:
        """The listed session of that id. Raises LedgerError where there is none."""
        for session in await self.list_sessions():
            if session.id == name:
                return session
        raise LedgerError(f"there is no session {name!a}")

    async def read(self, session_id: str, types: Sequence[str] = ()) -> tuple[LedgerRecord, ...]:
        """Those of `records`; none where it does not say."""
        return self.records.get(session_id, ())

    async def end_holder(self, session_id: str) -> None:
        """Take note."""
        self.ended.append(session_id)

    async def fork(self, session_id: str, *, before: int | None = None) -> str:
        """The id of a copy that nobody made."""
        return f"{session_id}-copy"

    async def verify(self, session_id: str) -> Verification:
        """That it holds."""
        return Verification(session_id=session_id, records=0)


def a_session(
    id: str,
    title: str = "fix the flaky test",
    *,
    cwd: str = NO_FOLDER,
    model: str = "fake/model-1",
    updated_ms: int = 0,
    turns: int = 3,
    cost: str | None = None,
    open_in: int | None = None,
) -> SessionSummary:
    """A session in a list."""
    return SessionSummary(
        id=id,
        title=title,
        cwd=cwd,
        model=model,
        started_ms=0,
        updated_ms=updated_ms,
        turns=turns,
        records=10 * turns,
        cost_usd=Decimal(cost) if cost is not None else None,
        open_in=open_in,
    )
