"""The record of one session in the database."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from quorum.domain.errors import LedgerError, QuorumError
from quorum.domain.events.event import Event
from quorum.domain.sessions.ledger_chain import encode_payload
from quorum.infrastructure.store.sql.session_chain import SessionChain
from quorum.infrastructure.store.sql.session_locks import WriteLock
from quorum.infrastructure.store.sql.waiting import wait_to_the_end
from quorum.infrastructure.store.sql.writer import EncodedEvent, LedgerEntry, Writer

_MOST_BYTES = 1 << 29  # beyond 1 GB the database refuses, and whatever waits behind would never be written


class SqlLedger:
    """Writes one session, and holds its lock until `aclose`."""

    def __init__(self, chain: SessionChain, writer: Writer, lock: WriteLock, clock: Callable[[], int]) -> None:
        self._chain = chain
        self._writer = writer
        self._lock = lock
        self._clock = clock
        self._closed = False

    @property
    def session_id(self) -> str:
        return self._chain.session_id

    async def append(self, event: Event, *, urgent: bool = False) -> None:
        """Put a durable event on the record; it is there when this returns, also if the process is killed then.

        `urgent`: also if the machine loses its power. Raises LedgerError where that cannot be; the event is
        then written with the next one that can be. Only an event that has no JSON form, or one beyond 512 MiB,
        is refused for good. Cancelled, it lets the event be written all the same.
        """
        if self._closed:
            raise LedgerError(f"the session {self.session_id} is closed")
        entry = self._build_entry(event, urgent)
        self._writer.append(entry)
        await entry.done

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            await wait_to_the_end(self._writer.flush())
        finally:
            self._lock.release()

    def _build_entry(self, event: Event, urgent: bool) -> LedgerEntry:
        return LedgerEntry(
            chain=self._chain,
            at_ms=self._clock(),
            type=event.type,
            encode=partial(_encode, event),
            urgent=urgent,
        )


def _encode(event: Event) -> EncodedEvent:
    try:
        value = event.to_json()
        payload = encode_payload(value)
    except (QuorumError, RuntimeError, ValueError, TypeError) as error:
        raise LedgerError(f"{event.type} cannot be recorded: {error}") from error
    if len(payload) > _MOST_BYTES:
        raise LedgerError(f"{event.type} cannot be recorded: it is larger than 512 MiB")
    return EncodedEvent(payload, value)
