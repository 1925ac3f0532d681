"""The right to write a session, which one process has at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from concurrent.futures import Future
from typing import Protocol, TypeVar, cast

from msgspec import Struct

from quorum.domain.errors import LedgerError, SessionInUse
from quorum.infrastructure.store.sql.connection import SqlConnection, Values

_Result = TypeVar("_Result")


async def wait_to_the_end(work: Future[_Result] | Awaitable[_Result]) -> _Result:
    """What comes of the work. Cancelled, it leaves the work to itself, and what comes of it to nobody."""
    if isinstance(work, Future):
        future = asyncio.wrap_future(work)
        future.add_done_callback(_consume_exception)
        return await asyncio.shield(future)
    task = asyncio.ensure_future(_await_outcome(work))
    if isinstance(work, Coroutine):
        # Where the loop ends at this moment it never begins, and Python would print that.
        task.add_done_callback(lambda _: work.close())
    result, failure = await asyncio.shield(task)
    if failure is not None:
        raise failure
    return cast("_Result", result)


async def _await_outcome(work: Awaitable[_Result]) -> tuple[_Result | None, Exception | None]:
    """What comes of the work, or its failure: a task that fails when the loop ends would be printed by it."""
    try:
        return await work, None
    except Exception as failure:  # noqa: BLE001 - whoever waits gets it
        return None, failure


def _consume_exception(future: asyncio.Future[_Result]) -> None:
    # A failure that nobody waits for any more would be printed, over whatever is on the screen.
    if not future.cancelled():
        future.exception()


class SessionHolder(Struct, frozen=True):
    """The process that writes a session: its id, or 0 where that is not known, and its machine.

    An empty `host` is this machine.
    """

    pid: int
    host: str = ""


class WriteLock(Protocol):
    """The right to write one session, held until `release` or the end of the process."""

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the person, where it was taken from one who did not give it back."""
        ...

    def find_loss(self, connection: SqlConnection) -> str:
        """Why the right is gone, asked in the transaction that writes; empty where it is still held.

        Where it is held, nobody can take it until that transaction ends.
        """
        ...

    def write_at_once(self, connection: SqlConnection, counted: Values, records: list[Values]) -> bool:
        """Do all that a transaction would, asking whether the right is held among it, in one statement.

        False where nothing was written: the right is gone, the session is another than `counted` says, or the
        database has no such statement. A transaction tells why.
        """
        ...

    def release(self) -> None:
        """Give the right back. Blocks; never raises."""
        ...


class SessionLocks(Protocol):
    """The locks of all sessions of one database. What they do blocks."""

    def acquire(self, session_id: str) -> WriteLock:
        """Take the lock of a session. Raises SessionInUse, or LedgerError where that cannot be."""
        ...

    def list_holders(self) -> dict[str, SessionHolder]:
        """The sessions that are being written now, each with its process."""
        ...

    def end_holder(self, session_id: str, holder: SessionHolder) -> None:
        """Ask this process, which writes the session as `list_holders` says, to end.

        Raises SessionInUse where it is not certain that it is that process, or it may not be asked.
        """
        ...

    def find_earliest_opening_ms(self) -> int | None:
        """When the first of the sessions that are being written now was opened; None where none is."""
        ...


def acquire_lock(locks: SessionLocks, session_id: str) -> WriteLock:
    """Take the lock of a session. A process that keeps it for later use only is asked for it. Blocks.

    Raises SessionInUse, or LedgerError where that cannot be.
    """
    try:
        return locks.acquire(session_id)
    except SessionInUse:
        from quorum.infrastructure.remote.session_release import ask_residents_to_release

        ask_residents_to_release(session_id)
        return locks.acquire(session_id)


def end_holder(locks: SessionLocks, session_id: str) -> None:
    """Ask the process that writes a session to end. One that keeps it for later use only gives it back. Blocks.

    Raises SessionInUse with what ends it where that cannot be done from here, and LedgerError.
    """
    if locks.list_holders().get(session_id) is None:
        raise LedgerError(f"no process has session {session_id} open any more")
    from quorum.infrastructure.remote.session_release import ask_residents_to_release

    ask_residents_to_release(session_id)
    if (holder := locks.list_holders().get(session_id)) is not None:
        locks.end_holder(session_id, holder)
