"""A record in memory, which fails when it is told to."""

from __future__ import annotations

import asyncio

from application.identifiers import new_id
from domain.errors import LedgerError
from domain.events.event import Event


class FakeLedger:
    """Keeps what it is given in `events`. While `trouble` is set, every append fails with it and waits."""

    def __init__(self, session_id: str | None = None) -> None:
        self.session_id = session_id or new_id()
        self.events: list[Event] = []
        self.urgent: list[Event] = []
        self.trouble: str | None = None
        self._waiting: list[Event] = []

    async def append(self, event: Event, *, urgent: bool = False) -> None:
        self._waiting.append(event)
        if urgent:
            self.urgent.append(event)
        written = asyncio.get_running_loop().create_future()
        written.add_done_callback(asyncio.Future.exception)  # also when nobody waits for it any more
        asyncio.get_running_loop().call_soon(self._write, written)
        await asyncio.shield(written)

    def _write(self, written: asyncio.Future[None]) -> None:
        if self.trouble is not None:
            written.set_exception(LedgerError(self.trouble))
            return
        self.events += self._waiting
        self._waiting.clear()
        written.set_result(None)
