"""The port to a queue of sessions that workers on several machines advance."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from quorum.domain.fleet_session import Advance, FleetRequest, FleetSession, LiveWorker, WorkerIdentity

AdvanceSession: TypeAlias = Callable[[FleetSession, "Callable[[], bool]"], Awaitable[Advance]]
"""Advances a session once, and says what came of it. Cancelled, it asks the second argument whether the session
is to end, and not only this worker. Raises SessionBusy where it is to be tried again later."""


class SessionBusy(Exception):
    """The session cannot be advanced now, or not here: another process has it, its record cannot be reached, or
    its folder is not there. The text says which."""


class SessionKilled(SessionBusy):
    """The process of the session was killed, and not by its worker. The text says how."""


class Fleet(Protocol):
    """Keeps submitted sessions beside their records. Methods block but for `work`; all raise LedgerError."""

    def submit(
        self, requests: Sequence[FleetRequest], *, retry_failed: bool = False
    ) -> tuple[FleetSession, ...]:
        """Have these advanced: all of them, or none. Without those whose key was submitted before.

        `retry_failed`: a session that has the key and ended without completing gives it up. It stays as it is.
        """
        ...

    def list_sessions(self) -> tuple[FleetSession, ...]:
        """All that were ever submitted, oldest first."""
        ...

    def find(self, session_id: str) -> FleetSession | None:
        """The one of exactly this id."""
        ...

    def cancel(self, session_ids: Sequence[str]) -> tuple[str, ...]:
        """Advance these no more, and interrupt those that run; the ids of those that had not ended."""
        ...

    def retry(self, session_ids: Sequence[str]) -> tuple[str, ...]:
        """Queue these again, as they were; the ids of those that had failed, or were set aside."""
        ...

    def list_workers(self) -> tuple[LiveWorker, ...]:
        """Those that give signs of life."""
        ...

    def claim_metrics(self, collector: str, sender: str, secs: float) -> str:
        """Have this sender alone send the numbers of the fleet to a collector for so long; it asks again before
        that is over. The id under which the fleet is known there, empty where another one sends. Raises
        LedgerError."""
        ...

    def read_clock_ms(self) -> int:
        """The time by which sessions are kept, in milliseconds since 1970."""
        ...

    async def advance_sessions(
        self,
        advance: AdvanceSession,
        *,
        concurrency: int,
        until_empty: bool,
        worker: WorkerIdentity | None = None,
    ) -> None:
        """Advance sessions as they are queued, at most so many at once. Cancelled, it ends when they do.

        Sessions of workers that are gone are queued again, within half a minute. `until_empty`: end when no
        session is queued. Reconnects where the database restarts.
        """
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...
